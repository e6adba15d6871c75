//! To the TNC: frames of the layer above and of the programs, one after the other.

use stackwright_contract::services::{Batch, Credit, FramesIndication, FramesRequest};
use stackwright_contract::{Context, Either, Handle};
use stackwright_wire::Message;

use super::{Hub, NAME, Out};

/// Who sent a frame, and what it is told when the frame has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The layer above, with its mark.
    Above(Option<u16>),
    /// A program, with its number in ACKMODE.
    Client(Handle, Option<u16>),
}

impl Source {
    fn wants_word(self) -> bool {
        matches!(self, Source::Above(Some(_)) | Source::Client(_, Some(_)))
    }
}

/// A frame that waits for the credit of the TNC. Of each program there is one at most.
pub(super) struct Queued<M> {
    pub(super) frame: M,
    pub(super) source: Source,
}

/// A frame of which it is told when it has left.
pub(super) struct Outstanding {
    pub(super) port: u8,
    /// The mark that the TNC was given.
    pub(super) mark: u16,
    pub(super) source: Source,
}

/// How many frames may be on their way of which that is told: more than a TNC has.
const OUTSTANDING_MOST: usize = 1024;

impl<M: Message> Hub<M> {
    /// Takes a frame of the layer above.
    ///
    /// # Panics
    /// Where it is beyond the credit that was given.
    pub(super) fn on_frame(
        &mut self,
        cx: &Context,
        port: u8,
        frame: M,
        mark: Option<u16>,
        out: Out<'_, M>,
    ) {
        let cost = Credit { octets: frame.len(), messages: 1 };
        let Some(there) = self.ports.get_mut(usize::from(port)) else {
            return cx.dropped(NAME, "a frame for a port that is not shared");
        };
        if !there.is_up {
            return; // it crossed the word that the TNC is gone
        }
        assert!(there.above.covers(cost), "a Send keeps within the credit of its port");
        there.above -= cost;
        self.queue(port, Queued { frame, source: Source::Above(mark) });
        self.pump(cx, out);
    }

    pub(super) fn queue(&mut self, port: u8, queued: Queued<M>) {
        self.ports[usize::from(port)].queue.push_back(queued);
    }

    /// Hands the TNC what it has credit for. A program whose frame went is read on.
    pub(super) fn pump(&mut self, cx: &Context, out: Out<'_, M>) {
        let mut port = 0;
        while let Some(there) = self.ports.get_mut(usize::from(port)) {
            let cost = |queued: &Queued<M>| Credit { octets: queued.frame.len(), messages: 1 };
            let credit = there.credit;
            let Some(Queued { frame, source }) =
                there.queue.pop_front_if(|queued| credit.covers(cost(queued)))
            else {
                port += 1;
                continue;
            };
            let cost = Credit { octets: frame.len(), messages: 1 };
            there.credit -= cost;
            there.handed += cost.octets;
            let shows = self.shows_programs && matches!(source, Source::Client(..));
            let echo = (self.config.echo || shows).then(|| frame.share());
            let mark = (source.wants_word() && self.outstanding.len() < OUTSTANDING_MOST)
                .then(|| self.mark(port, source));
            out.request(Either::Right(FramesRequest::Send {
                port,
                batch: Batch::from(frame),
                mark,
            }));
            if let Some(frame) = echo {
                self.share(cx, port, frame, Some(source), out);
            }
            match source {
                Source::Above(_) => {
                    self.ports[usize::from(port)].above += cost;
                    out.indicate(FramesIndication::Credit { port, credit: cost });
                }
                Source::Client(name, _) => {
                    if let Some(client) = self.clients.get_mut(name) {
                        client.waits = false;
                        self.serve(cx, name, out);
                        // Its next frame may be for any port.
                        port = 0;
                    }
                }
            }
        }
    }

    /// Returns a mark that is not in use.
    fn mark(&mut self, port: u8, source: Source) -> u16 {
        // It ends: fewer are in use than there are.
        let mark = loop {
            self.next_mark = self.next_mark.wrapping_add(1);
            let next = self.next_mark;
            if self.outstanding.iter().all(|outstanding| outstanding.mark != next) {
                break next;
            }
        };
        self.outstanding.push_back(Outstanding { port, mark, source });
        mark
    }
}
