//! Ends: at once, or in good order within a time.
//!
//! A closed association sends what waits, finishes, and discards what arrives until the peer
//! finishes too. A peer that never does must not hold its socket for ever, so it is reset in the
//! end.

use std::collections::BTreeSet;
use std::time::Duration;

use stackwright_contract::services::Ended;
use stackwright_contract::{Context, Handle, Instant, Outlet};
use stackwright_wire::{Message, Pool};

use super::send::Sent;
use super::{NAME, Streaming, Tcp, Turn};

/// How long a closed association waits without progress of its own half, until the peer is reset
/// and it ends as [`Ended::Expired`]: Linux waits as long for the peer's finish
/// (`tcp_fin_timeout`).
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The closed associations, and when the peer of each is reset.
pub(super) struct Closing {
    pub(super) timeout: Duration,
    deadlines: BTreeSet<(Instant, Handle)>,
}

impl Default for Closing {
    fn default() -> Self {
        Closing { timeout: CLOSE_TIMEOUT, deadlines: BTreeSet::new() }
    }
}

impl Closing {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(super) fn remove(&mut self, deadline: Instant, name: Handle) {
        self.deadlines.remove(&(deadline, name));
    }

    fn begin(&mut self, cx: &Context, name: Handle) -> Instant {
        let deadline = cx.now() + self.timeout;
        self.deadlines.insert((deadline, name));
        deadline
    }
}

impl<M: Message> Tcp<M> {
    /// Ends a name in good order; what is not open ends at once.
    pub(super) fn close(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if !self.sockets.lives(name) {
            return cx.dropped(NAME, "no such association");
        }
        match self.sockets.get_mut(name) {
            Some(streaming) if streaming.closes.is_some() => {
                cx.dropped(NAME, "close: it was asked before");
            }
            Some(streaming) if streaming.opened => {
                streaming.sending.finish();
                streaming.closes = Some(self.closing.begin(cx, name));
                self.mark(name);
            }
            _ => self.end(name, Ended::Finished, out),
        }
    }

    /// Ends an association, or a name that waits to be one, at once.
    pub(super) fn abort(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        if self.sockets.listener(name).is_some() {
            cx.dropped(NAME, "abort: that name is a listener's");
        } else if self.sockets.lives(name) {
            self.end(name, Ended::Aborted, out);
        } else {
            cx.dropped(NAME, "no such association");
        }
    }

    /// Resets the peers of closed associations whose time is over.
    pub(super) fn expire(&mut self, cx: &Context, out: &mut dyn Outlet<Self>) {
        while let Some((deadline, name)) = self.closing.deadlines.first().copied()
            && deadline <= cx.now()
        {
            self.end(name, Ended::Expired, out);
        }
    }
}

impl<M: Message> Streaming<M> {
    /// One fair share of work on a closed association. Progress of our half gives it more time.
    pub(super) fn turn_closing(
        &mut self,
        cx: &Context,
        name: Handle,
        pool: &Pool<M>,
        closing: &mut Closing,
    ) -> Turn {
        let sent = match self.sending.turn(&mut self.stream, pool) {
            Ok(sent) => sent,
            Err(why) => return Turn::Over(why),
        };
        if let (Sent { octets: 1.., .. }, Some(deadline)) = (&sent, &mut self.closes) {
            closing.remove(*deadline, name);
            *deadline = closing.begin(cx, name);
        }
        let more_to_read = match self.receiving.discard(&mut self.stream) {
            Ok(more) => more,
            Err(why) => return Turn::Over(why),
        };
        if self.receiving.finished && self.sending.finished() {
            return Turn::Over(Ended::Finished);
        }
        if self.sending.broken().is_some() {
            return Turn::Over(Ended::Reset(0));
        }
        if sent.more || more_to_read { Turn::More } else { Turn::Idle }
    }
}
