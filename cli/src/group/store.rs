//! `group store`: a replica of a store of keys and values.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

use clap::{Args, ValueEnum};
use serde_json::json;
use stackwright::contract::services::{
    GroupNotice, GroupView, Groups, GroupsIndication, GroupsRequest, Streams, StreamsIndication,
};
use stackwright::contract::{Both, Either, IndicationOf, Outlet, RequestOf};
use stackwright::replica::{self, KeyValueStore, Replica, redis_outcome};
use stackwright_parts::Stack;

use super::clients::Clients;
use super::{Joining, LOOK, NAME, members};
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::{self, Message};

#[derive(Args)]
#[command(after_help = "\
The store is in memory: it lives as long as most of its replicas do. With three, one may end at any
time, and start again: it joins, and gets the state. If most of them end at once, the state is lost,
and what is left answers reads only, until it is ended and the group begun anew.

A write is answered when most replicas have it. While too many are silent, it is refused at once
(-NOQUORUM, with their addresses); what was not certain within 1.5 s is answered -UNKNOWN. A read is
answered from this replica's own state, which may be somewhat behind the others', and is far behind
while it is cut off; with --reads safe it is answered like a write, and never behind.

Keys of 512 octets, values of 512 KiB, 64 MiB in all. GET SET SETNX DEL EXISTS INCR DECR EXPIRE TTL
PERSIST KEYS SCAN DBSIZE INFO and a few more; INFO says which replicas there are.

Anyone who reaches the two addresses can read and write: keep them inside a network that you trust.
With --key-file, packets of replicas without the key are dropped; clients of Redis need no key.

Example, on the first of three machines, and on the others with their own addresses:
  stackwright group store --at 10.0.0.1:4370 --with 10.0.0.2:4370,10.0.0.3:4370
  redis-cli -p 6380 set active gs1")]
pub(crate) struct Store {
    #[command(flatten)]
    joining: Joining,
    /// Where clients of Redis come.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6380")]
    redis: SocketAddr,
    /// How reads are answered.
    #[arg(long, value_enum, default_value_t = Reads::Local)]
    reads: Reads,
    /// Print one JSON object for each event.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reads {
    /// From this replica's own state, at once.
    Local,
    /// In one order with all writes.
    Safe,
}

/// The group, beside its clients.
type StoreStack = Stack<Both<Groups<Message>, Streams<Message>>>;

impl Store {
    pub(super) fn run(&self) -> Result<(), Problem> {
        self.joining.check()?;
        let (mut driver, mut stack) = self.joining.stack("group-store", &replica::FACTS)?;
        let interrupted = interrupts()?;
        let mut told = Told::default();
        let origin = u64::from_ne_bytes(stacks::entropy()?);
        let mut replica = Replica::new(KeyValueStore::new(), NAME, origin);
        let mut clients = Clients::new(self.redis.into(), self.reads == Reads::Safe);
        let (mut leaves, mut listens, mut asks) = (false, false, Vec::new());
        asks.push(Either::Left(self.joining.open()));
        loop {
            while let Some(word) = told.0.pop_front() {
                match word {
                    Either::Left(GroupsIndication::Ended { why, .. }) => {
                        return self.joining.ended(why);
                    }
                    Either::Left(word) => {
                        if let GroupsIndication::Told { notice: GroupNotice::View(view), .. } =
                            &word
                        {
                            self.show(view);
                        }
                        replica.hear(driver.now(), word);
                    }
                    Either::Right(word) => clients.hear(word),
                }
            }
            if let (Some(at), false) = (clients.at, listens) {
                listens = true;
                self.listening(at.internet().unwrap_or(self.redis));
            }
            if let Some(why) = clients.refused {
                return Err(Problem::Listen { address: self.redis, why });
            }
            let now = driver.now();
            replica.timeout(now);
            // What is answered makes room for the next.
            loop {
                clients.serve(now, &mut replica);
                let mut answered = false;
                while let Some((token, outcome)) = replica.next_outcome() {
                    clients.answer(token, redis_outcome(outcome));
                    answered = true;
                }
                if !answered {
                    break;
                }
            }
            asks.extend(clients.asks.drain(..).map(Either::Right));
            replica.pump(now, |request| asks.push(Either::Left(request)));
            if !leaves && interrupted.load(Relaxed) {
                leaves = true;
                asks.push(Either::Left(GroupsRequest::Close { name: NAME }));
            }
            if !asks.is_empty() {
                driver.requests(&mut stack, std::mem::take(&mut asks), &mut told);
                continue;
            }
            let wait = replica.next_deadline().map_or(LOOK, |deadline| deadline.since(now));
            driver.turn(&mut stack, &mut told, Some(wait.min(LOOK)))?;
        }
    }

    fn listening(&self, at: SocketAddr) {
        if self.json {
            say!("{}", json!({ "event": "serving", "redis": at.to_string() }));
        } else {
            say!("Clients of Redis at {at}. Press Ctrl-C to stop. From another terminal:");
            say!("  redis-cli -h {} -p {} info", at.ip(), at.port());
            if self.joining.with.len() == 1 {
                say!("Of two replicas, only the first goes on alone: with three, any one may end.");
            }
        }
    }

    fn show(&self, view: &GroupView) {
        let members = members(view);
        let voters = view.members.iter().filter(|member| member.votes).count();
        if self.json {
            let number = view.number;
            say!("{}", json!({ "view": number, "members": members, "voters": voters }));
        } else if view.me.is_some() {
            eprintln!("-- {} here, {voters} with the state: {}", members.len(), members.join(", "));
        } else {
            eprintln!("-- the others went on without this replica; it joins again");
        }
    }
}

type Word = Either<GroupsIndication<Message>, StreamsIndication<Message>>;

/// What was told, and was not handled yet.
#[derive(Default)]
struct Told(VecDeque<Word>);

impl Outlet<StoreStack> for Told {
    fn indicate(&mut self, word: IndicationOf<StoreStack>) {
        self.0.push_back(word);
    }

    fn request(&mut self, request: RequestOf<StoreStack>) {
        match request {}
    }
}
