//! What an association owns, however its calls wait: its name, which is given back when it is
//! dropped.

use std::io::Write as _;
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::ask::{NothingBelow, PathStatistics, Query, Reserve, ask};
use stackwright_contract::services::{Code, MessageProperties};
use stackwright_contract::{Command, Handle};
use stackwright_wire::{Block as _, Message};

use crate::error::Error;
use crate::events;
use crate::flavor::{CurrentThread, Flavor, Lock};
use crate::link::{Link, State};
use crate::send_buffer::SendBuffer;
use crate::shared::{Shared, StackAny, TOGETHER};

/// What may be pushed before a message, in octets, so that no layer has to ask for memory.
const HEADROOM: usize = 128;

/// Messages that are no longer are a packet, or hardly more.
const SHORT: usize = 1024;

pub(crate) struct Hold<S: StackAny, F: Flavor = CurrentThread> {
    pub(crate) shared: Arc<F::Lock<Shared<S>>>,
    pub(crate) name: Handle,
}

impl<S: StackAny, F: Flavor> Hold<S, F> {
    pub(crate) fn new(shared: Arc<F::Lock<Shared<S>>>, name: Handle) -> Self {
        Hold { shared, name }
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = Shared<S>> {
        self.shared.lock()
    }

    /// Ends it in good order.
    pub(crate) fn close(&self) {
        self.report();
        self.shared.lock().mailbox.close(self.name);
    }

    /// What is known of its path is told while its transport knows it.
    fn report(&self) {
        events::closes(self.name, || self.ask(PathStatistics));
        self.shared.lock().log_path(self.name, true);
    }

    /// Ends it at once. What the stack has to tell the peer leaves now, where it can: when this is
    /// dropped, nothing may run the stack any more.
    pub(crate) fn abort(&self, code: Code) {
        let shared = &mut *self.shared.lock();
        shared.mailbox.abort(self.name, code);
        // An error of the system shows again in the next call that waits.
        let _ = shared.turn(Some(Duration::ZERO));
    }

    /// Gives the stack a command.
    pub(crate) fn control(&self, command: Command) -> Result<Commanded<'_, S, F>, Error> {
        let number = self.shared.lock().mailbox.control(self.name, command)?;
        Ok(Commanded { hold: self, number })
    }

    /// Reserves memory for messages of `len` octets, in the stack's layout: as many as are sent at
    /// once, at most `n`, at least one.
    pub(crate) fn reserve(&self, len: usize, n: usize) -> SendBuffer<S::Message> {
        let shared = &mut *self.shared.lock();
        let n = shared.mailbox.link(self.name).map_or(1, |link| link.takes_at_once(len, n));
        match ask(&shared.stack, self.name, Reserve::new(len, n), &NothingBelow) {
            Some(batch) => {
                let octets = batch.into_octets();
                SendBuffer::new(octets, len, true).owned(shared.mailbox.has_one())
            }
            None => {
                let messages = n.min((TOGETHER / len.max(1)).max(1));
                SendBuffer::new(blank(messages * len), len, false)
            }
        }
    }

    /// Asks the stack a question about it.
    pub(crate) fn ask<Q: Query>(&self, query: Q) -> Option<Q::Answer> {
        ask(&self.shared.lock().stack, self.name, query, &NothingBelow)
    }

    /// Octets as a message, as the stack would have it.
    pub(crate) fn message(&self, octets: &[u8]) -> S::Message {
        // A packet is not worth the question.
        if octets.len() <= SHORT {
            return message(octets);
        }
        let Some(reserved) = self.ask(Reserve::new(octets.len(), 1)) else {
            return message(octets);
        };
        let mut buffer = SendBuffer::new(reserved.into_octets(), octets.len(), true);
        buffer.write_all(octets).expect("it has room for as many");
        buffer.into_octets()
    }

    /// A message is given up because its time is over.
    #[cfg(feature = "tokio")]
    pub(crate) fn refuse_late(&self) {
        if let Some(link) = self.shared.lock().mailbox.link(self.name) {
            link.refuse_late();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        let mailbox = &mut self.shared.lock().mailbox;
        mailbox
            .link(self.name)
            .is_none_or(|link| matches!(link.state, State::Ended(_)) && link.inbox.is_empty())
    }
}

/// A command whose answer is waited for. When it is dropped, nothing is kept of the answer.
pub(crate) struct Commanded<'a, S: StackAny, F: Flavor> {
    hold: &'a Hold<S, F>,
    pub(crate) number: u64,
}

impl<S: StackAny, F: Flavor> Drop for Commanded<'_, S, F> {
    fn drop(&mut self) {
        if let Some(Link { commands: Some(commands), .. }) =
            self.hold.lock().mailbox.link(self.hold.name)
        {
            commands.settle(self.number);
        }
    }
}

/// What associations and streams do alike, blocking or awaited: methods of types that have a
/// `hold`.
macro_rules! by_hold {
    () => {
        /// Reserves memory for up to `n` messages of `len` octets (for `n * len` octets of a
        /// stream), at least one, to be written and committed: as many as are sent at once, some 64
        /// KiB. Where the stack knows the layout in which it transmits them (ARTP without a cipher
        /// does, from one packet to 64 KiB), they are not copied on the way down.
        pub fn reserve(&self, len: usize, n: usize) -> $crate::SendBuffer<S::Message> {
            self.hold.reserve(len, n)
        }

        /// Asks the stack a [question](stackwright_contract::ask) about it, which is answered at
        /// once: [`Longest`](stackwright_contract::ask::Longest),
        /// [`RoundTrip`](stackwright_contract::ask::RoundTrip),
        /// [`PathStatistics`](stackwright_contract::ask::PathStatistics) (round trip, congestion
        /// window, pace, losses, timeouts),
        /// [`Counters`](stackwright_contract::ask::Counters) and others, or any that a crate adds.
        /// `None`: no layer knows, or it is over.
        pub fn ask<Q: stackwright_contract::ask::Query>(&self, query: Q) -> Option<Q::Answer> {
            self.hold.ask(query)
        }

        /// Writes a qlog of it to `into` from now on, as JSON text sequences (qlog 0.3): when it
        /// was opened and ended, and at most each 10 ms what its transport knows of the path, if
        /// that changed. It ends with the association, or where it cannot be written. `into` is
        /// written to by whatever runs the stack: give it a buffer.
        pub fn qlog(&self, into: impl std::io::Write + Send + 'static) {
            let qlog = Box::new($crate::qlog::Qlog::new(Box::new(into)));
            self.hold.lock().mailbox.log(self.hold.name, qlog);
        }

        /// Returns what its stack is, and promises.
        pub fn facts(&self) -> stackwright_contract::Facts {
            self.hold.lock().stack.facts()
        }

        /// Returns what the path takes now: how long a message may be, and how long the longest
        /// frame occupies the link, as far as a layer below knows. Also after the end.
        pub fn path(&self) -> stackwright_contract::PathLimits {
            let mailbox = &mut self.hold.lock().mailbox;
            let unbounded = stackwright_contract::PathLimits::UNBOUNDED;
            mailbox.link(self.hold.name).map_or(unbounded, |link| link.path)
        }

        /// Returns the local address, once it is known.
        pub fn local(&self) -> Option<std::net::SocketAddr> {
            self.hold.lock().mailbox.link(self.hold.name)?.ends?.0.internet()
        }

        /// Returns the peer's address, once it is known.
        pub fn remote(&self) -> Option<std::net::SocketAddr> {
            self.hold.lock().mailbox.link(self.hold.name)?.ends?.1.internet()
        }

        /// Returns what it allows now. It never runs the stack.
        pub fn condition(&self) -> $crate::Condition {
            let mailbox = &mut self.hold.lock().mailbox;
            mailbox.link(self.hold.name).map_or_else(Default::default, |link| link.condition())
        }

        /// Returns what it has carried so far: on a stream octets, in how many pieces.
        #[inline]
        pub fn statistics(&self) -> $crate::Statistics {
            let mailbox = &mut self.hold.lock().mailbox;
            mailbox.link(self.hold.name).map_or_else(Default::default, |link| link.statistics())
        }
    };
}
pub(crate) use by_hold;

impl<S: StackAny, F: Flavor> Drop for Hold<S, F> {
    fn drop(&mut self) {
        self.report();
        let shared = &mut *self.shared.lock();
        shared.mailbox.abandon(self.name);
        shared.ask();
    }
}

/// A message of `len` octets, all zero, with room for headers.
fn blank<M: Message>(len: usize) -> M {
    let end = HEADROOM + len;
    M::from_block(M::Block::zeroed(end), HEADROOM, end)
}

/// Octets as a message, with room for headers.
pub(crate) fn message<M: Message>(octets: &[u8]) -> M {
    M::with_headroom(HEADROOM, octets)
}

/// A message as octets.
pub(crate) fn in_one_piece<M: Message>(
    (message, properties): (M, MessageProperties),
) -> (Vec<u8>, MessageProperties) {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    (octets, properties)
}

/// Until when a message is of use that is sent now.
#[inline]
pub(crate) fn due(properties: &MessageProperties) -> Option<Instant> {
    properties
        .lifetime
        .map(|lifetime| Instant::now() + Duration::from_micros(lifetime.get().into()))
}
