//! The state of an association.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_base::events::Ticket;
use stackwright_contract::services::Ended;
use stackwright_contract::{Command, CommandError, Handle, Secure, SessionGroup};
use stackwright_wire::Message;

use crate::Tls;
use crate::connection::{Connection, OVERHEAD, PAYLOAD_MOST, RECORD_MOST};

/// The most octets of an incomplete handshake message, with the headers of its records: rustls
/// takes messages of 64 KB.
pub(crate) const HANDSHAKE_MOST: usize = (64 << 10) + RECORD_MOST;

/// Octets that the layer above may always have waiting here, however little credit there is below:
/// where that is given in small portions, each would become a record of its own.
const GATHERED: usize = 1024;

pub(crate) struct Association<M> {
    pub(crate) is_open: bool,
    /// Credit of the stream below.
    pub(crate) below: usize,
    /// The same when the association was opened, and nothing was on its way.
    pub(crate) below_most: usize,
    /// Credit of the layer above. While the association is plain, the stream below has it.
    pub(crate) above: usize,
    /// Commands that are not answered yet, in order.
    pub(crate) answers: VecDeque<Answer>,
    /// Whether the stream below was told that payload is not read: it may deliver regions.
    pub(crate) is_unread: bool,
    pub(crate) stage: Stage<M>,
}

/// A command that is not answered yet.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It was passed on.
    FromBelow,
    /// It waits for the handshake.
    Handshake,
    /// It waits for the handshake, and is handled then.
    Later(Command),
    /// It is answered behind those before it.
    Ready(Result<u32, CommandError>),
}

pub(crate) enum Stage<M> {
    Plain,
    /// It is to be secured as soon as it is open.
    Asked(Secure),
    Secure(Box<Secured<M>>),
    /// It has failed: what is left is the end below, and then this end above.
    Over(Ended),
}

/// A secured association.
pub(crate) struct Secured<M> {
    pub(crate) connection: Connection,
    /// The index of the expected server, or of the own identity.
    pub(crate) identity: usize,
    pub(crate) group: SessionGroup,
    /// At a server: the lineage of its session, and that of the session which was found for it.
    pub(crate) lineage: u64,
    pub(crate) found: Option<u64>,
    /// The handshake is not over.
    pub(crate) shaking: bool,
    /// The peer has sent a record that was one.
    pub(crate) spoke: bool,
    pub(crate) deadline: Option<Ticket>,
    /// What arrived and is not handled: an incomplete record, or handshake message.
    pub(crate) arrived: Vec<u8>,
    /// How much the stream below may still deliver.
    pub(crate) granted: usize,
    /// Payload that waits for credit of the layer above.
    pub(crate) held: VecDeque<M>,
    pub(crate) held_octets: usize,
    pub(crate) peer: Peer,
    /// Payload that waits to be encrypted.
    pub(crate) waiting: VecDeque<M>,
    pub(crate) waiting_octets: usize,
    /// How much the layer above may still send.
    pub(crate) given: usize,
    /// The most that this may be: what the layer above was told first.
    pub(crate) given_most: usize,
    /// Records that wait for credit of the stream below.
    pub(crate) records: VecDeque<M>,
    pub(crate) ending: Ending,
    /// Whether payload was ever sent.
    pub(crate) has_sent: bool,
    pub(crate) is_due: bool,
    /// The stream below has ended: nothing is requested of it any more.
    pub(crate) ended_below: Option<Ended>,
}

/// The state of the peer's half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    Open,
    /// Its octets have ended without an announcement; payload may wait still.
    Cut,
    /// It has announced its end; payload may wait still.
    Closed,
    /// The layer above was told.
    Told,
}

impl Peer {
    /// Returns whether it has not announced its end.
    pub(crate) fn is_silent(self) -> bool {
        matches!(self, Peer::Open | Peer::Cut)
    }
}

/// The state of this side's half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Open,
    /// `Finish` or `Close` was requested: what waits is sent, then the end is announced.
    Asked(By),
    /// It is announced.
    Announced(By),
    /// The stream below was told.
    Done(By),
}

/// The request that ends this side's half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Finish,
    Close,
}

impl<M> Association<M> {
    pub(crate) const fn new(above: usize, stage: Stage<M>) -> Self {
        Association {
            is_open: false,
            below: 0,
            below_most: 0,
            above,
            answers: VecDeque::new(),
            is_unread: false,
            stage,
        }
    }
}

impl<M: Message> Secured<M> {
    pub(crate) fn new(
        connection: Connection,
        secure: Secure,
        lineage: u64,
        granted: usize,
        (given, given_most): (usize, usize),
    ) -> Self {
        Secured {
            connection,
            identity: secure.identity as usize,
            group: secure.sessions,
            lineage,
            found: None,
            shaking: true,
            spoke: false,
            deadline: None,
            arrived: Vec::new(),
            granted,
            held: VecDeque::new(),
            held_octets: 0,
            peer: Peer::Open,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            given,
            given_most,
            records: VecDeque::new(),
            ending: Ending::Open,
            has_sent: false,
            is_due: false,
            ended_below: None,
        }
    }

    /// Returns whether nothing of a client has arrived.
    pub(crate) fn awaits_client(&self) -> bool {
        let serves = matches!(self.connection, Connection::Server(_));
        serves && self.shaking && !self.spoke && self.arrived.is_empty()
    }

    /// Returns whether `Close` was requested: what arrives is discarded.
    pub(crate) fn closes(&self) -> bool {
        use Ending::{Announced, Asked, Done};
        matches!(self.ending, Asked(By::Close) | Announced(By::Close) | Done(By::Close))
    }

    /// Returns whether everything that was sent has left, and the end, if there is one.
    pub(crate) fn has_left(&self) -> bool {
        let is_ending = matches!(self.ending, Ending::Asked(_) | Ending::Announced(_));
        self.ended_below.is_some()
            || (self.waiting_octets == 0 && self.records.is_empty() && !is_ending)
    }

    /// Returns how much more the stream below may deliver: with what is here, the credit above and
    /// one record. Where a handshake message is longer than that, it may be completed.
    pub(crate) fn grant(&mut self, above: usize) -> usize {
        let here = self.granted + self.arrived.len() + self.held_octets;
        let mut more = (above + RECORD_MOST).saturating_sub(here);
        if more == 0 && self.granted == 0 && self.held_octets == 0 {
            more = HANDSHAKE_MOST.saturating_sub(here).min(RECORD_MOST);
        }
        self.granted += more;
        more
    }

    /// Returns how much more the layer above may send: with what it may already, and what waits
    /// here, as much as fits below in records, and a little in any case. Where all has left below,
    /// it is what the layer above was told first, also behind the end: from that it knows.
    pub(crate) fn give(&mut self, below: usize) -> usize {
        if !self.records.is_empty() || self.shaking {
            return 0;
        }
        let fits = below - OVERHEAD * below.div_ceil(PAYLOAD_MOST + OVERHEAD).min(below / OVERHEAD);
        let room = match self.ending {
            Ending::Open | Ending::Done(By::Finish) if below >= self.given_most => self.given_most,
            Ending::Open => fits.max(GATHERED),
            _ => return 0,
        };
        let more = room.saturating_sub(self.given + self.waiting_octets);
        self.given += more;
        more
    }
}

impl<M: Message> Tls<M> {
    pub(crate) fn secured(
        &mut self,
        name: Handle,
    ) -> Option<(&mut Secured<M>, &mut usize, &mut usize)> {
        match self.associations.get_mut(name)? {
            Association { stage: Stage::Secure(secured), below, above, .. } => {
                Some((secured, below, above))
            }
            _ => None,
        }
    }

    /// Has the association send at the end of the batch.
    pub(crate) fn mark(&mut self, name: Handle) {
        if let Some((secured, ..)) = self.secured(name)
            && !core::mem::replace(&mut secured.is_due, true)
        {
            self.due.push_back(name);
        }
    }
}
