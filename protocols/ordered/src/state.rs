//! What names denote, above and below.

use alloc::boxed::Box;

use stackwright_base::events::Ticket;
use stackwright_contract::services::{Code, Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Handle, Outlet, Participant};
use stackwright_wire::{Header, Message};

use crate::incoming::{Fault, Incoming};
use crate::outgoing::Outgoing;
use crate::{DatagramKind, Ordered, OrderedHeader};

pub(crate) type Out<'a, M> = &'a mut dyn Outlet<Ordered<M>>;

/// What a name of the layer above denotes.
pub(crate) enum Above<M> {
    Listener { below: Handle },
    Awaited(Awaited),
    Association(Box<Association<M>>),
}

/// A name that waits for an arrival.
pub(crate) struct Awaited {
    pub(crate) listener: Handle,
    /// The initial credit upward.
    pub(crate) credit: usize,
    /// The name that waits below.
    pub(crate) below: Handle,
    pub(crate) arrival: Option<Arrival>,
}

/// An arrival below, which has not requested an association yet.
pub(crate) struct Arrival {
    pub(crate) local: Participant,
    pub(crate) remote: Participant,
    pub(crate) link: Link,
    /// The timeout's.
    pub(crate) ticket: Ticket,
}

pub(crate) struct Association<M> {
    pub(crate) below: Handle,
    pub(crate) link: Link,
    pub(crate) stage: Stage,
    pub(crate) outgoing: Outgoing<M>,
    pub(crate) incoming: Incoming<M>,
    /// Whether the answer to an `Open`, which any datagram is, is to be sent.
    pub(crate) owes_answer: bool,
    /// Whether the answer to a `Finish` is to be sent.
    pub(crate) owes_heard: bool,
    /// Whether the peer has sent its farewell.
    pub(crate) farewell: bool,
    /// `Close` was requested: only the end is indicated above. The ticket is that of the deadline.
    pub(crate) closes: Option<Ticket>,
}

/// The last datagram to the peer when an association is over above.
#[derive(Clone, Copy)]
pub(crate) struct LastWord {
    pub(crate) kind: DatagramKind,
    /// The code of a reset.
    pub(crate) code: Code,
    /// Whether the peer has sent its last datagram, or need not.
    pub(crate) dismissed: bool,
}

impl LastWord {
    /// Returns a reset that the peer answers with its own last datagram.
    pub(crate) const fn reset(code: Code) -> Self {
        LastWord { kind: DatagramKind::Reset, code, dismissed: false }
    }

    /// Returns a datagram that the peer need not answer.
    pub(crate) const fn unanswered(kind: DatagramKind) -> Self {
        LastWord { kind, code: 0, dismissed: true }
    }
}

/// The state of an association.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    /// It is not open below.
    Reaching,
    /// It is open below, and the peer has not answered, or was not even asked.
    Asking {
        local: Participant,
        remote: Participant,
        asked: bool,
    },
    Open,
}

/// What a name denotes that was given to the layer below.
pub(crate) enum Below {
    Listener {
        above: Handle,
    },
    /// Awaited, opened, or open: the state is that of the name above.
    Association {
        above: Handle,
    },
    Lingering(Lingering),
    /// It is not used any more; its end is awaited.
    Closing,
}

/// An association that is over above. It is closed below when the peer has sent its last datagram,
/// because closing may lose what is still in flight.
pub(crate) struct Lingering {
    pub(crate) link: Link,
    pub(crate) last: LastWord,
    pub(crate) said: bool,
    /// It is held back until the peer has answered our `Open`: nothing may overtake that.
    pub(crate) unanswered: bool,
    /// The timeout's.
    pub(crate) ticket: Ticket,
}

/// The credit below.
#[derive(Clone, Copy, Default)]
pub(crate) struct Link {
    credit: Credit,
    /// Octets of the initial credit: as many come back.
    first: usize,
}

impl Link {
    pub(crate) fn new(credit: Credit) -> Self {
        Link { credit, first: credit.octets }
    }

    pub(crate) fn more(&mut self, credit: Credit) {
        self.credit += credit;
    }

    /// Whether a datagram without octets fits.
    pub(crate) fn fits(&self) -> bool {
        self.credit.messages > 0 && self.credit.octets >= OrderedHeader::LENGTH
    }

    pub(crate) fn send<M: Message>(
        &mut self,
        below: Handle,
        label: &OrderedHeader,
        mut message: M,
        out: Out<'_, M>,
    ) {
        message.push(label);
        self.credit.octets -= message.len();
        self.credit.messages -= 1;
        let (messages, properties) = (message.into(), MessageProperties::default());
        out.request(DatagramsRequest::Send { association: below, batch: messages, properties });
    }
}

impl<M: Message> Association<M> {
    pub(crate) fn new(below: Handle, outgoing: Outgoing<M>, incoming: Incoming<M>) -> Self {
        Association {
            below,
            link: Link::default(),
            stage: Stage::Reaching,
            outgoing,
            incoming,
            owes_answer: false,
            owes_heard: false,
            farewell: false,
            closes: None,
        }
    }

    /// Sends what is due, as far as credit of the layer below and of the peer permits. Returns how
    /// many octets of the layer above left.
    pub(crate) fn speak(&mut self, piece: usize, out: Out<'_, M>) -> usize {
        match &mut self.stage {
            Stage::Open => {}
            Stage::Asking { asked, .. } if !*asked && self.link.fits() => {
                *asked = true;
                self.say(DatagramKind::Open, out);
                return 0;
            }
            Stage::Asking { .. } | Stage::Reaching => return 0,
        }
        if self.owes_heard && self.link.fits() {
            self.owes_heard = false;
            self.say(DatagramKind::Heard, out);
        }
        let mut left = 0;
        while self.link.fits() {
            let [fits, whole] = [self.link.credit.octets, self.link.first]
                .map(|credit| credit.saturating_sub(OrderedHeader::LENGTH));
            let offset = self.outgoing.sent;
            let Some(message) = self.outgoing.next(piece, fits, whole) else { break };
            left += message.len();
            self.send(DatagramKind::Octets, offset, message, out);
        }
        if self.outgoing.owes_finish() && self.link.fits() {
            self.outgoing.finish_left();
            self.say(DatagramKind::Finish, out);
        }
        // Every datagram announces the credit, so mostly none is needed for it alone.
        if (self.owes_answer || self.incoming.grants_more()) && self.link.fits() {
            self.say(DatagramKind::Credit, out);
        }
        left
    }

    fn say(&mut self, kind: DatagramKind, out: Out<'_, M>) {
        self.send(kind, self.outgoing.sent, M::with_headroom(OrderedHeader::LENGTH, &[]), out);
    }

    fn send(&mut self, kind: DatagramKind, offset: u64, message: M, out: Out<'_, M>) {
        self.owes_answer = false;
        let label = OrderedHeader { kind, offset, credit: self.incoming.grant() };
        self.link.send(self.below, &label, message, out);
    }

    /// Records that the peer has all of this side's stream.
    pub(crate) fn hear_heard(&mut self) -> Result<(), Fault> {
        if self.outgoing.heard() {
            Ok(())
        } else {
            Err(Fault::Impossible("it heard a finish that was not sent"))
        }
    }

    /// Records that the peer has both streams to their ends, and knows that this side has.
    pub(crate) fn hear_farewell(&mut self) -> Result<(), Fault> {
        if !self.incoming.is_finished() {
            return Err(Fault::Impossible("a farewell before the end"));
        }
        self.farewell = true;
        // A farewell implies `Heard`, which may have been overtaken.
        self.hear_heard()
    }

    /// Whether each side has all of the other's stream. The peer learns it by our farewell, which
    /// implies `Heard`.
    pub(crate) fn is_finished(&self) -> bool {
        self.outgoing.is_heard() && self.incoming.is_finished()
    }
}
