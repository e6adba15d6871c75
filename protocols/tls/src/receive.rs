//! From below, upward: records become octets.

use alloc::vec::Vec;

use stackwright_base::events::Events as _;
use stackwright_contract::services::{
    Batch, Credit, Ended, StreamProperties, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Handle, SecurityError, SessionGroup};
use stackwright_wire::{Message, Pool};

use crate::config::{Client, Server};
use crate::connection::{Connection, Job, Step};
use crate::stage::Failure;
use crate::state::{By, Ending, HANDSHAKE_MOST, Peer, Secured, Stage};
use crate::{Out, Tls};

impl<M: Message> Tls<M> {
    pub(crate) fn delivered(
        &mut self,
        cx: &Context,
        name: Handle,
        batch: Batch<M>,
        properties: StreamProperties,
        out: Out<'_, M>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        match &mut association.stage {
            Stage::Plain | Stage::Asked(_) => {
                association.above = association.above.saturating_sub(batch.octets());
                out.indicate(StreamsIndication::Delivered { association: name, batch, properties });
            }
            Stage::Secure(secured) if secured.ending != Ending::Done(By::Close) => {
                self.absorb(cx, name, Some(batch.into_octets()), out);
            }
            Stage::Secure(_) | Stage::Over(_) => {}
        }
    }

    /// Handles what has arrived, and everything that follows from it.
    pub(crate) fn absorb(
        &mut self,
        cx: &Context,
        name: Handle,
        message: Option<M>,
        out: Out<'_, M>,
    ) {
        self.clock.set(cx);
        let (clients, servers, pool) = (&self.clients, &self.servers, self.pool.as_deref());
        let Some(association) = self.associations.get_mut(name) else { return };
        let Stage::Secure(secured) = &mut association.stage else { return };
        let sessions = Sessions::of(secured, clients, servers);
        let read = match message {
            Some(message) => secured.read(message, &sessions, pool),
            None => secured.read_on(&sessions, pool),
        };
        let shaken = secured.shaking && !secured.connection.is_handshaking();
        match read {
            Err(error) => {
                // What was read before it is delivered.
                if shaken {
                    self.shaken(cx, name, out);
                }
                self.deliver(cx, name, out);
                return self.fail(cx, name, Failure::Library(error), out);
            }
            Ok(()) if shaken => self.shaken(cx, name, out),
            Ok(()) => {}
        }
        self.mark(name);
        self.deliver(cx, name, out);
    }

    /// Delivers payload within the credit above, then the peer's end; grants more below.
    pub(crate) fn deliver(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some((secured, _, above)) = self.secured(name) else { return };
        if secured.closes() {
            secured.held.clear();
            secured.held_octets = 0;
        }
        // Nothing is delivered before the handshake is known to be over above.
        while *above > 0
            && let Some(front) = secured.held.front_mut()
        {
            let octets = front.len().min(*above);
            let message = if octets == front.len() { front.take() } else { front.split_to(octets) };
            if front.is_empty() {
                secured.held.pop_front();
            }
            *above -= octets;
            secured.held_octets -= octets;
            out.indicate(StreamsIndication::Delivered {
                association: name,
                batch: message.into(),
                properties: StreamProperties::default(),
            });
        }
        if secured.peer == Peer::Closed && secured.held.is_empty() {
            secured.peer = Peer::Told;
            if !secured.closes() {
                out.indicate(StreamsIndication::Finished { association: name });
            }
        }
        let is_cut = secured.peer == Peer::Cut
            && secured.held.is_empty()
            && (secured.shaking || !secured.closes());
        match secured.ended_below {
            Some(why) if secured.held.is_empty() => self.ended(name, why, out),
            Some(_) => {}
            None if secured.ending == Ending::Done(By::Close) => {}
            None if is_cut => self.fail(cx, name, Failure::Truncated, out),
            None => {
                let more = secured.grant(*above);
                if more > 0 {
                    out.request(StreamsRequest::Credit {
                        association: name,
                        credit: Credit::of_octets(more),
                    });
                }
            }
        }
    }

    /// The layer above gives credit.
    pub(crate) fn give(&mut self, cx: &Context, name: Handle, credit: Credit, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        association.above += credit.octets;
        match association.stage {
            Stage::Plain | Stage::Asked(_) => {
                out.request(StreamsRequest::Credit { association: name, credit });
            }
            Stage::Secure(_) => self.deliver(cx, name, out),
            Stage::Over(_) => {}
        }
    }

    /// The stream below has no more octets.
    pub(crate) fn finished(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        match &mut association.stage {
            Stage::Plain | Stage::Asked(_) => {
                out.indicate(StreamsIndication::Finished { association: name });
            }
            // What arrives after `Close` does not count.
            Stage::Secure(secured) if secured.closes() && !secured.shaking => {}
            // What was read before it is delivered first.
            Stage::Secure(secured) if secured.peer == Peer::Open => {
                secured.peer = Peer::Cut;
                self.deliver(cx, name, out);
            }
            Stage::Secure(_) | Stage::Over(_) => {}
        }
    }

    /// The stream below has ended.
    pub(crate) fn ended(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        let why = match self.associations.get_mut(name).map(|association| &mut association.stage) {
            Some(Stage::Over(end)) => *end,
            Some(Stage::Secure(secured)) => {
                let why = secured.end(why);
                // The peer's last octets wait for credit still.
                let said_all = matches!(why, Ended::Finished | Ended::Truncated);
                if said_all && !secured.held.is_empty() && !secured.closes() {
                    secured.ended_below = Some(why);
                    return;
                }
                why
            }
            _ => why,
        };
        self.last_word(name, why, out);
    }

    /// Ends a name above: first its commands are answered.
    pub(crate) fn last_word(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        self.refuse(name, SecurityError::Cut, None, out);
        if let Some(association) = self.associations.remove(name)
            && let Stage::Secure(secured) = association.stage
        {
            self.forget(&secured);
        }
        out.indicate(StreamsIndication::Ended { name, why });
    }

    /// Forgets what else is known of an association.
    pub(crate) fn forget(&mut self, secured: &Secured<M>) {
        if let Some(ticket) = secured.deadline {
            self.timers.cancel(ticket);
        }
        if let (Connection::Server(_), false) = (&secured.connection, secured.connection.resumes())
            && let Some(server) = self.servers.get(secured.identity)
        {
            server.sessions.end(secured.lineage);
        }
        let group = secured.group.number();
        if self.groups.get(&group) == Some(&secured.lineage)
            && matches!(secured.group, SessionGroup::Begins(_))
        {
            self.groups.remove(&group);
        }
    }
}

/// The store of sessions that a connection uses.
pub(crate) enum Sessions<'a> {
    Client(&'a Client),
    Server(&'a Server),
    None,
}

impl<'a> Sessions<'a> {
    fn of<M>(secured: &Secured<M>, clients: &'a [Client], servers: &'a [Server]) -> Self {
        let found = match secured.connection {
            Connection::Client(_) => clients.get(secured.identity).map(Sessions::Client),
            Connection::Server(_) => servers.get(secured.identity).map(Sessions::Server),
        };
        found.unwrap_or(Sessions::None)
    }
}

impl<M: Message> Secured<M> {
    /// Reads what has arrived: in its own block, as far as nothing has to be completed.
    fn read(
        &mut self,
        mut message: M,
        sessions: &Sessions<'_>,
        pool: Option<&Pool<M>>,
    ) -> Result<(), rustls::Error> {
        self.granted = self.granted.saturating_sub(message.len());
        let length = message.len();
        let mut copy = Vec::new();
        if message.unshared().is_none() {
            copy.resize(length, 0);
            let copied = message.copy_to(&mut copy);
            // A region of a file, which nobody here can read.
            if copied != length {
                return Err(rustls::Error::DecryptError);
            }
        }
        let mut octets = message.unshared().unwrap_or(&mut copy);
        while !self.arrived.is_empty() && !octets.is_empty() {
            let part;
            (part, octets) = octets.split_at_mut(self.missing().min(octets.len()));
            self.arrived.extend_from_slice(part);
            self.read_on(sessions, pool)?;
        }
        // What is incomplete is passed to rustls again: it remembers how far it has read.
        if self.arrived.is_empty() {
            let read = self.turn(octets, sessions, pool)?;
            self.arrived.extend_from_slice(&octets[read..]);
        }
        if let Some(pool) = pool {
            message.reclaim(pool);
        }
        self.check_bound()
    }

    /// Returns how many octets complete what has arrived: a header, or a record. At least one.
    fn missing(&self) -> usize {
        let whole = match self.arrived[..] {
            [_, _, _, high, low, ..] => 5 + usize::from(u16::from_be_bytes([high, low])),
            _ => 5,
        };
        match whole.checked_sub(self.arrived.len()) {
            Some(missing) if missing > 0 => missing,
            // A handshake message in several records.
            _ => usize::MAX,
        }
    }

    /// Reads on in what has arrived.
    pub(crate) fn read_on(
        &mut self,
        sessions: &Sessions<'_>,
        pool: Option<&Pool<M>>,
    ) -> Result<(), rustls::Error> {
        let mut arrived = core::mem::take(&mut self.arrived);
        let read = self.turn(&mut arrived, sessions, pool)?;
        arrived.drain(..read);
        if !arrived.is_empty() {
            self.arrived = arrived;
        }
        self.check_bound()
    }

    fn check_bound(&self) -> Result<(), rustls::Error> {
        if self.arrived.len() < HANDSHAKE_MOST {
            return Ok(());
        }
        Err(rustls::InvalidMessage::HandshakePayloadTooLarge.into())
    }

    /// Handles records until none is complete. Returns how many octets were read.
    fn turn(
        &mut self,
        octets: &mut [u8],
        sessions: &Sessions<'_>,
        pool: Option<&Pool<M>>,
    ) -> Result<usize, rustls::Error> {
        let (mut read, mut records) = (0, Vec::new());
        let result = loop {
            match sessions {
                Sessions::Client(client) => client.sessions.enter(self.group.number()),
                Sessions::Server(server) => server.sessions.enter(self.lineage),
                Sessions::None => {}
            }
            let (more, step) =
                self.connection.step(&mut octets[read..], &mut records, &Job::Nothing, pool);
            read += more;
            self.spoke |= more > 0;
            if let Sessions::Server(server) = sessions {
                self.found = server.sessions.found().or(self.found);
                if let Some(found) = self.found
                    && self.shaking
                    && self.connection.resumes()
                {
                    self.lineage = found;
                }
            }
            match step {
                Ok(Step::Payload(payload)) => self.hold(payload),
                Ok(Step::PeerClosed) => self.peer_closes(),
                Ok(Step::More | Step::Written) => {}
                Ok(Step::Waits) => break Ok(read),
                Err(error) => break Err(error),
            }
        };
        self.queue(records);
        result
    }

    /// Keeps payload until it can be delivered.
    pub(crate) fn hold(&mut self, payload: M) {
        self.held_octets += payload.len();
        self.held.push_back(payload);
    }

    /// Notes that the peer has announced its end.
    pub(crate) fn peer_closes(&mut self) {
        if self.peer == Peer::Open {
            self.peer = Peer::Closed;
        }
    }

    /// Returns how an association ends whose stream below has ended like this.
    fn end(&self, why: Ended) -> Ended {
        match why {
            Ended::Finished if self.peer.is_silent() && !self.closes() => Ended::Truncated,
            // A peer that closes behind its announcement answers ours with a reset. If nothing was
            // sent, nothing is lost.
            Ended::Reset(_)
                if !self.peer.is_silent()
                    && !self.has_sent
                    && matches!(self.ending, Ending::Announced(_) | Ending::Done(_)) =>
            {
                Ended::Finished
            }
            why => why,
        }
    }
}
