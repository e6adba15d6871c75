//! Clients of Redis: their commands in order, and the replies in the same order.

use std::collections::{BTreeMap, VecDeque};

use stackwright::contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication, StreamsRequest,
};
use stackwright::contract::{Arrivals, Handle, Instant, Names, Participant, Party};
use stackwright::replica::{
    KeyValueStore, RedisCommand, Replica, RespParser, RespReply, redis_command, redis_info,
    redis_outcome,
};
use stackwright::wire::Message as _;

use crate::stacks::Message;

/// Clients at once; others wait.
const CLIENTS_MOST: usize = 128;
/// Names that wait for arrivals.
const AWAITED_MOST: usize = 16;
/// What a client may send before it was read, in octets.
const ROOM: Credit = Credit::of_octets(256 << 10);
/// Octets of commands that are read ahead: the longest command is there as a whole.
const AHEAD_MOST: usize = 1 << 20;
/// Commands of a client that wait for their replies; those behind wait unread.
const PIPELINE_MOST: usize = 32;
/// Reads in one order with all writes that are not answered yet, of all clients: each may be
/// answered with the longest value.
const READS_MOST: usize = 64;
/// Octets of replies that a client has not taken: then nothing more is read of it, and far beyond
/// it, where long replies come at once, the connection ends.
const REPLIES_MOST: usize = 256 << 10;
const UNREAD_MOST: usize = 8 << 20;
/// The same of all clients: then nothing more is read of those that have something to take.
const UNREAD_TOGETHER: usize = 64 << 20;

/// The replies to a client's commands; `None`: it is not there yet.
type Slot = Option<Vec<u8>>;

struct Client {
    parser: RespParser,
    /// What it sent and was given no new credit for.
    owed: usize,
    /// A command that waits for those before it.
    next: Option<RedisCommand>,
    slots: VecDeque<Slot>,
    /// How many slots have come and gone.
    gone: u64,
    replies: Vec<u8>,
    room: usize,
    /// Nothing more is read, and whether it was told to end.
    ends: bool,
    closed: bool,
}

pub(super) struct Clients {
    names: Arrivals<(), Client, Names<()>>,
    open: Vec<Handle>,
    /// Of an operation, the client and its slot, and whether it reads; and how many do.
    operations: BTreeMap<u64, (Handle, u64, bool)>,
    reads: usize,
    /// Octets of replies that clients have not taken.
    held: usize,
    tokens: u64,
    /// Reads are operations too.
    safe: bool,
    pub(super) asks: Vec<StreamsRequest<Message>>,
    /// Where it listens, and why it does not.
    pub(super) at: Option<Participant>,
    pub(super) refused: Option<Ended>,
}

impl Client {
    /// Octets of replies that it has not taken, those whose turn has not come included.
    fn holds(&self) -> usize {
        self.replies.len() + self.slots.iter().flatten().map(Vec::len).sum::<usize>()
    }
}

impl Clients {
    pub(super) fn new(local: Participant, safe: bool) -> Self {
        let mut names: Arrivals<(), Client, Names<()>> = Arrivals::default();
        let listener = names.listen(());
        Clients {
            names,
            open: Vec::new(),
            operations: BTreeMap::new(),
            reads: 0,
            held: 0,
            tokens: 0,
            safe,
            asks: vec![StreamsRequest::Listen { listener, local }],
            at: None,
            refused: None,
        }
    }

    fn await_clients(&mut self) {
        let Some((listener, ())) = self.names.listeners().next() else { return };
        let free = CLIENTS_MOST.saturating_sub(self.open.len()).min(AWAITED_MOST);
        while self.names.awaited(listener) < free
            && let Some(association) = self.names.expect(listener, ROOM)
        {
            self.asks.push(StreamsRequest::Await { listener, association, credit: ROOM });
        }
    }

    pub(super) fn hear(&mut self, word: StreamsIndication<Message>) {
        let name = word.name();
        match word {
            StreamsIndication::Listening { local, .. } => {
                self.at = Some(local);
                self.await_clients();
            }
            StreamsIndication::Opened { credit, .. } => {
                let client = || Client {
                    parser: RespParser::default(),
                    owed: 0,
                    next: None,
                    slots: VecDeque::new(),
                    gone: 0,
                    replies: Vec::new(),
                    room: credit.octets,
                    ends: false,
                    closed: false,
                };
                if self.names.arrived(name, client).is_some() {
                    self.open.push(name);
                }
                self.await_clients();
            }
            StreamsIndication::Ended { why, .. } => {
                match self.names.forget(name) {
                    Some(Party::Listener(())) => self.refused = Some(why),
                    Some(Party::Open(client)) => self.held -= client.holds(),
                    _ => {}
                }
                self.open.retain(|open| *open != name);
                self.await_clients();
            }
            StreamsIndication::Delivered { batch, .. } => {
                let Some(client) = self.names.get_mut(name) else { return };
                let mut message = batch.into_octets();
                let octets = message.len();
                client.owed += octets;
                if !client.ends {
                    client.parser.push(message.front(octets).unwrap_or_default());
                }
            }
            StreamsIndication::Credit { credit, .. } => {
                if let Some(client) = self.names.get_mut(name) {
                    client.room += credit.octets;
                }
            }
            StreamsIndication::Finished { .. } => {
                if let Some(client) = self.names.get_mut(name) {
                    client.ends = true;
                }
            }
            _ => {}
        }
    }

    /// Reads commands as far as they may be answered now, and sends replies.
    pub(super) fn serve(&mut self, now: Instant, replica: &mut Replica<KeyValueStore>) {
        // Each is the first of its turns once.
        if !self.open.is_empty() {
            self.open.rotate_left(1);
        }
        for place in 0..self.open.len() {
            let name = self.open[place];
            while self.next(now, name, replica) {}
            self.send(name);
        }
    }

    /// Answers the next command of a client, or asks for it; returns whether there may be more.
    fn next(&mut self, now: Instant, name: Handle, replica: &mut Replica<KeyValueStore>) -> bool {
        let Some(client) = self.names.get_mut(name) else { return false };
        let holds = client.holds();
        let is_slow = holds >= REPLIES_MOST || (holds > 0 && self.held >= UNREAD_TOGETHER);
        if client.closed || is_slow || client.slots.len() >= PIPELINE_MOST {
            return false;
        }
        let command = match client.next.take() {
            Some(command) => command,
            None => match client.parser.next_command() {
                Ok(Some(words)) => redis_command(&words),
                Ok(None) => return false,
                Err(what) => {
                    client.ends = true;
                    client.parser = RespParser::default();
                    RedisCommand::Reply(RespReply::Error(format!("ERR {what}")))
                }
            },
        };
        let reply = match command {
            RedisCommand::Reply(reply) => reply.octets(),
            RedisCommand::Info => redis_info(replica).octets(),
            RedisCommand::Quit => {
                client.ends = true;
                client.parser = RespParser::default();
                RespReply::Simple("OK").octets()
            }
            RedisCommand::Reads(operation) if !self.safe => {
                // It sees what this client wrote before.
                if client.slots.iter().any(Option::is_none) {
                    client.next = Some(RedisCommand::Reads(operation));
                    return false;
                }
                match (replica.state(), replica.hindrance()) {
                    (Some((store, time)), _) => store.read(time, &operation),
                    (None, hindrance) => redis_outcome(hindrance.map_or(
                        stackwright::replica::Outcome::Late,
                        stackwright::replica::Outcome::Refused,
                    )),
                }
            }
            command @ (RedisCommand::Reads(_) | RedisCommand::Writes(_)) if !replica.has_room() => {
                client.next = Some(command);
                return false;
            }
            command @ RedisCommand::Reads(_) if self.reads >= READS_MOST => {
                client.next = Some(command);
                return false;
            }
            RedisCommand::Reads(operation) => {
                return self.submit(now, name, operation, true, replica);
            }
            RedisCommand::Writes(operation) => {
                return self.submit(now, name, operation, false, replica);
            }
        };
        self.held += reply.len();
        client.slots.push_back(Some(reply));
        true
    }

    fn submit(
        &mut self,
        now: Instant,
        name: Handle,
        operation: Vec<u8>,
        reads: bool,
        replica: &mut Replica<KeyValueStore>,
    ) -> bool {
        let Some(client) = self.names.get_mut(name) else { return false };
        self.tokens += 1;
        let slot = client.gone + client.slots.len() as u64;
        client.slots.push_back(None);
        self.operations.insert(self.tokens, (name, slot, reads));
        self.reads += usize::from(reads);
        replica.submit(now, self.tokens, operation, reads);
        true
    }

    /// Takes the reply to an operation.
    pub(super) fn answer(&mut self, token: u64, reply: Vec<u8>) {
        let Some((name, slot, reads)) = self.operations.remove(&token) else { return };
        self.reads -= usize::from(reads);
        let Some(client) = self.names.get_mut(name) else { return };
        let place = slot.checked_sub(client.gone).and_then(|place| usize::try_from(place).ok());
        if let Some(slot) = place.and_then(|place| client.slots.get_mut(place)) {
            self.held += reply.len();
            *slot = Some(reply);
        }
    }

    /// Sends what is there; gives credit for what was read.
    fn send(&mut self, association: Handle) {
        let Some(client) = self.names.get_mut(association) else { return };
        if client.closed {
            return;
        }
        while let Some(reply) = client.slots.pop_front_if(|slot| slot.is_some()).flatten() {
            client.gone += 1;
            client.replies.extend(reply);
        }
        let octets = client.room.min(client.replies.len());
        if octets > 0 {
            let rest = client.replies.split_off(octets);
            let sent = std::mem::replace(&mut client.replies, rest);
            client.room -= octets;
            self.held -= octets;
            let batch = Message::with_headroom(0, &sent).into();
            let properties = StreamProperties::default();
            self.asks.push(StreamsRequest::Send { association, batch, properties });
        }
        if client.replies.len() > UNREAD_MOST {
            client.closed = true;
            return self.asks.push(StreamsRequest::Abort { association, code: 0 });
        }
        if client.owed > 0 && client.parser.waiting() < AHEAD_MOST {
            let credit = Credit::of_octets(std::mem::take(&mut client.owed));
            self.asks.push(StreamsRequest::Credit { association, credit });
        }
        let is_done = client.slots.is_empty() && client.replies.is_empty() && client.next.is_none();
        // What is left of a command has no end.
        if client.ends && is_done {
            client.closed = true;
            self.asks.push(StreamsRequest::Close { name: association });
        }
    }
}
