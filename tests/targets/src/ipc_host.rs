//! An application at the host of a stack, above associations that take little, and beside another
//! application.

use std::collections::BTreeMap;
use std::num::NonZero;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{
    Address, Either, Guarantees, Handle, Participant, PathLimits, RequestOf,
};
use stackwright_drivers::ipc::{AdmissionPolicy, Allowance, Quota, StackHost, Users};
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _};

use crate::Input;

type M = BufferTree;
type Host = StackHost<Datagrams<M>>;

/// What an association takes before it gives credit back.
const DOWN: Credit = Credit { octets: 300, messages: 3 };
const LONGEST: usize = 1000;
const QUOTA: Quota = Quota {
    applications: 4,
    applications_of_user: 2,
    names: 8,
    names_together: 16,
    waiting: 20_000,
    held_together: 40_000,
    longest: 2000,
};
/// The users of the two applications, and what the second may have.
const OWN: u32 = 1;
const STRANGER: u32 = 2;
const ASSOCIATIONS: usize = 3;
const BUFFERS: usize = 3000;
const HERE: Participant = Participant::OTHER_END;

/// What a name of the stack below stands for.
enum Named {
    Listener,
    Awaited(Credit),
    Open { up: Credit, down: Credit },
}

/// The host, with a stack below it and sockets beside it.
struct World {
    host: LoneStack<Host>,
    names: BTreeMap<Handle, Named>,
    /// Lines that wait for an application, and those that have one, with what it was sent.
    awaited: Vec<Handle>,
    open: BTreeMap<Handle, Vec<u8>>,
}

/// No request breaks what a layer below may rely on. What is said to an application are words, of
/// which the last on a name comes once. When it is gone, nothing of it is held, and another goes
/// on. Where it is another user's, it has no more than that may have.
pub fn ipc_host(octets: &[u8]) {
    applications(octets, AdmissionPolicy::default());
    let all = ["0.0.0.0/0", "::/0"].map(|block| block.parse().expect("a block"));
    let allowance = Allowance {
        users: Users::One(STRANGER),
        listen: vec![0..=u16::MAX],
        connect: all.into(),
        associations: ASSOCIATIONS,
        buffers: BUFFERS,
        rate: NonZero::new(20_000),
    };
    applications(octets, AdmissionPolicy { own: Some(OWN), allowed: vec![allowance] });
}

fn applications(octets: &[u8], policy: AdmissionPolicy) {
    let is_bounded = policy.own.is_some();
    let host = StackHost::new(Guarantees::RELIABLE, QUOTA).admitting(policy);
    let host = LoneStack::new(host, 1);
    let (names, awaited, open) = Default::default();
    let mut world = World { host, names, awaited, open };
    world.settle();
    let (honest, hostile) = (world.connect(OWN), world.connect(STRANGER));
    let (mut hello, mut open) = ([0; 64], [0; 96]);
    (hello[0], hello[2], hello[32], hello[36]) = (32, 1, 2, 1);
    (open[0], open[3], open[17], open[25], open[64]) = (3, 1, 1, 1, 4);
    world.deliver(honest, &hello);
    world.deliver(honest, &open);
    assert_eq!(world.names.len(), 1);
    let mut input = Input(octets);
    while !input.is_empty() {
        match input.octet() % 8 {
            0 => world.arrive(),
            1 => world.end_one(input.octet()),
            2 => world.receive(input.octet(), input.octet()),
            3 => world.host.wait(u64::from(input.octet())),
            _ => {
                let length = usize::from(input.number()) % 3000;
                world.deliver(hostile, input.take(length));
            }
        }
        world.settle();
        if is_bounded {
            let is_open = |named: &&Named| matches!(named, Named::Open { .. });
            let open = world.names.values().filter(is_open).count();
            assert!(open <= 1 + ASSOCIATIONS, "{open} are open");
            let held = world.host.stack.held();
            assert!(held <= BUFFERS, "{held} octets are held");
        }
    }
    world.over(hostile);
    assert_eq!(world.names.len(), 1, "the other's association is there");
    world.over(honest);
    assert_eq!((world.host.stack.names(), world.host.stack.applications()), (0, 0));
}

/// Whole words of a server; one that is the last on a name comes once.
fn check(mut sent: &[u8]) {
    let mut over = BTreeMap::new();
    while !sent.is_empty() {
        assert!(sent.len() >= 64 && sent[3] <= 2, "whole words");
        let carried = u32::from_le_bytes(*sent[4..].first_chunk().expect("four"));
        let length = 64 + 32 * usize::from(sent[3]) + carried as usize;
        if sent.len() < length {
            return; // its line was ended in the middle of it
        }
        let (word, rest) = sent.split_at(length);
        assert!(matches!(word[0], 17..=26 | 32 | 33), "{word:?}");
        sent = rest;
        if word[0] == 33 {
            continue; // a sentence is of no name
        }
        let was_over = over.insert(word[8..16].to_vec(), word[0] == 26).unwrap_or(false);
        // A name that is given again is answered first.
        assert!(!was_over || matches!(word[0], 17 | 18 | 22 | 26 | 21), "{word:?}");
    }
}

impl World {
    fn connect(&mut self, user: u32) -> Handle {
        let association = self.awaited.remove(0);
        let (credit, path) = (Credit::of_octets(1000), PathLimits::UNBOUNDED);
        self.open.insert(association, Vec::new());
        let (local, remote) = (HERE, Address::Program { user, group: user }.into());
        let opened = StreamsIndication::Opened { association, local, remote, credit, path };
        self.host.tell(Either::Right(opened));
        self.settle();
        association
    }

    fn deliver(&mut self, association: Handle, octets: &[u8]) {
        if self.open.contains_key(&association) && !octets.is_empty() {
            let (batch, properties) = (M::with_headroom(0, octets).into(), Default::default());
            let word = StreamsIndication::Delivered { association, batch, properties };
            self.host.tell(Either::Right(word));
            self.settle();
        }
    }

    /// The line of an application ends.
    fn over(&mut self, line: Handle) {
        if let Some(sent) = self.open.remove(&line) {
            check(&sent);
            let word = StreamsIndication::Ended { name: line, why: Ended::Reset(0) };
            self.host.tell(Either::Right(word));
            self.settle();
        }
    }

    fn opened(&mut self, association: Handle, up: Credit) {
        self.names.insert(association, Named::Open { up, down: DOWN });
        let (local, remote, credit) = (HERE, HERE, DOWN);
        let path = PathLimits::of_longest(LONGEST);
        let opened = DatagramsIndication::Opened { association, local, remote, credit, path };
        self.host.tell(Either::Left(opened));
    }

    fn end(&mut self, name: Handle, why: Ended) {
        if self.names.remove(&name).is_some() {
            self.host.tell(Either::Left(DatagramsIndication::Ended { name, why }));
        }
    }

    /// A peer arrives where one is awaited.
    fn arrive(&mut self) {
        let awaited = self.names.iter().find_map(|(name, named)| match named {
            Named::Awaited(credit) => Some((*name, *credit)),
            _ => None,
        });
        awaited.into_iter().for_each(|(name, credit)| self.opened(name, credit));
    }

    /// A name ends, but the first, which is the honest one's.
    fn end_one(&mut self, which: u8) {
        let name = self.names.keys().skip(1).nth(usize::from(which) % 8).copied();
        name.into_iter().for_each(|name| self.end(name, Ended::Reset(which.into())));
    }

    /// A peer sends so much, or what there is credit for.
    fn receive(&mut self, which: u8, octets: u8) {
        let mut open = self.names.iter_mut().filter_map(|(name, named)| match named {
            Named::Open { up, .. } if up.messages > 0 => Some((*name, up)),
            _ => None,
        });
        let Some((association, up)) = open.nth(usize::from(which) % 8) else { return };
        let octets = vec![octets; usize::from(octets).min(up.octets)];
        *up -= Credit { octets: octets.len(), messages: 1 };
        let (batch, properties) = (M::with_headroom(0, &octets).into(), Default::default());
        let word = DatagramsIndication::Delivered { association, batch, properties };
        self.host.tell(Either::Left(word));
    }

    /// Does what the host has asked for, as a layer that asserts what it relies on.
    fn settle(&mut self) {
        while !self.host.said.down.is_empty() {
            for word in std::mem::take(&mut self.host.said.down) {
                self.handle(word);
            }
        }
    }

    fn handle(&mut self, word: RequestOf<Host>) {
        match word {
            Either::Right(StreamsRequest::Listen { listener, .. }) => {
                let listening = StreamsIndication::Listening { listener, local: HERE };
                self.host.tell(Either::Right(listening));
            }
            Either::Right(StreamsRequest::Await { association, .. }) => {
                self.awaited.push(association);
            }
            Either::Right(StreamsRequest::Send { association, batch, .. }) => {
                let credit = Credit::of_octets(batch.octets());
                let Some(sent) = self.open.get_mut(&association) else { return };
                batch.into_octets().append_to(sent);
                self.host.tell(Either::Right(StreamsIndication::Credit { association, credit }));
            }
            Either::Right(StreamsRequest::Abort { association: line, .. })
            | Either::Right(StreamsRequest::Close { name: line }) => self.over(line),
            Either::Right(_) => {}
            Either::Left(word) => self.handle_below(word),
        }
    }

    fn handle_below(&mut self, word: DatagramsRequest<M>) {
        match word {
            DatagramsRequest::Listen { listener, .. } => {
                assert!(self.names.insert(listener, Named::Listener).is_none());
                let listening = DatagramsIndication::Listening { listener, local: HERE };
                self.host.tell(Either::Left(listening));
            }
            DatagramsRequest::Await { listener, association, credit } => {
                if matches!(self.names.get(&listener), Some(Named::Listener)) {
                    assert!(self.names.insert(association, Named::Awaited(credit)).is_none());
                } else {
                    let (name, why) = (association, Ended::Unlistened);
                    self.host.tell(Either::Left(DatagramsIndication::Ended { name, why }));
                }
            }
            DatagramsRequest::Open { association, credit, .. } => {
                assert!(!self.names.contains_key(&association));
                self.opened(association, credit);
            }
            DatagramsRequest::Send { association, batch, .. } => {
                let Some(Named::Open { down, .. }) = self.names.get_mut(&association) else {
                    return; // it has ended meanwhile
                };
                let (cost, alone) = (batch.cost(), batch.segment_size().is_none() && *down == DOWN);
                assert!(down.covers(cost) || alone, "within the credit");
                assert!(batch.longest() <= LONGEST, "what the path takes");
                let credit = Credit { octets: cost.octets.min(down.octets), ..cost };
                *down -= credit;
                // Every other message stays on its way.
                if cost.octets % 2 == 0 && credit != Credit::NONE {
                    *down += credit;
                    let word = DatagramsIndication::Credit { association, credit };
                    self.host.tell(Either::Left(word));
                }
            }
            DatagramsRequest::Credit { association, credit } => {
                assert_ne!(credit, Credit::NONE);
                match self.names.get_mut(&association) {
                    Some(Named::Open { up, .. } | Named::Awaited(up)) => *up += credit,
                    Some(Named::Listener) => panic!("credit for a listener"),
                    None => {}
                }
            }
            DatagramsRequest::Control { association, .. } => {
                if self.names.contains_key(&association) {
                    let word = DatagramsIndication::unknown_command(association);
                    self.host.tell(Either::Left(word));
                }
            }
            DatagramsRequest::Abort { association: name, .. } => self.end(name, Ended::Aborted),
            DatagramsRequest::Close { name } => {
                if let Some(Named::Listener) = self.names.get(&name) {
                    let awaited = |named: &Named| matches!(named, Named::Awaited(_));
                    let names = self.names.iter().filter(|(_, named)| awaited(named));
                    let names: Vec<_> = names.map(|(name, _)| *name).collect();
                    names.into_iter().for_each(|name| self.end(name, Ended::Unlistened));
                }
                self.end(name, Ended::Finished);
            }
            DatagramsRequest::Finish { .. } => {}
            DatagramsRequest::Tell { order, .. } => match order {},
        }
    }
}
