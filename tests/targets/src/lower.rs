//! The tiniest service of streams that keeps the contract, and holds its upper to it. What its
//! peers do is up to the input.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::Handle;
use stackwright_contract::PathLimits;
use stackwright_contract::services::{
    Credit, Ended, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_wire::{BufferTree, Message};

use crate::Input;

pub(crate) type M = BufferTree;

/// Who the upper is, and who its peers are; sometimes it is a stranger.
pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));

/// How much all rooms of one association may come to: no upper gives more.
const ROOM_MOST: usize = 2 << 20;

#[derive(Debug, Default)]
pub(crate) struct Lower {
    names: BTreeMap<Handle, Named>,
    ended: HashSet<Handle>,
    ports: u16,
}

#[derive(Debug)]
enum Named {
    Listener { local: SocketAddr },
    Awaited { listener: Handle, credit: usize },
    Opening { remote: SocketAddr, credit: usize },
    Open(Flow),
}

#[derive(Debug)]
struct Flow {
    /// How much may be delivered.
    up: usize,
    /// How much may be sent.
    down: usize,
    /// What was sent and has not left.
    queued: usize,
    we_finished: bool,
    peer_finished: bool,
    /// `Close` came: nothing is told any more but the last word.
    closed: bool,
}

impl Lower {
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn end(&mut self, name: Handle, why: Ended, answers: &mut VecDeque<Told<M>>) {
        assert!(self.names.remove(&name).is_some(), "a last word for {name:?}");
        self.ended.insert(name);
        answers.push_back(Told::Ended { name, why });
    }

    fn give(&mut self, name: Handle, named: Named) {
        assert!(!self.ended.contains(&name), "{name:?} is given once");
        assert!(
            self.names.keys().all(|living| living.index != name.index),
            "{name:?} lives already"
        );
        self.names.insert(name, named);
    }

    /// `None` where the words have crossed.
    fn flow(&mut self, name: Handle, word: &str) -> Option<&mut Flow> {
        match self.names.get_mut(&name) {
            Some(Named::Open(flow)) => {
                assert!(!flow.closed, "a {word} on {name:?}, which was closed");
                Some(flow)
            }
            None if self.ended.contains(&name) => None,
            other => panic!("a {word} on {name:?}, which is {other:?}"),
        }
    }

    /// What the upper asks, and what follows from it at once.
    pub(crate) fn hear(&mut self, ask: Ask<M>, answers: &mut VecDeque<Told<M>>) {
        match ask {
            Ask::Listen { listener, local } => {
                self.ports += 1;
                let mut local = local.internet().expect("an Internet address");
                if local.port() == 0 {
                    local.set_port(40_000 + self.ports);
                }
                self.give(listener, Named::Listener { local });
                answers.push_back(Told::Listening { listener, local: local.into() });
            }
            Ask::Await { listener, association, credit: Credit { octets: credit, .. } } => {
                if matches!(self.names.get(&listener), Some(Named::Listener { .. })) {
                    assert!(credit > 0, "room is never zero");
                    self.give(association, Named::Awaited { listener, credit });
                } else {
                    assert!(self.ended.contains(&listener));
                    self.ended.insert(association);
                    answers.push_back(Told::Ended { name: association, why: Ended::Unlistened });
                }
            }
            Ask::Close { name } => match self.names.get_mut(&name) {
                Some(Named::Listener { .. }) => self.unlisten(name, Ended::Unlistened, answers),
                Some(Named::Awaited { .. } | Named::Opening { .. }) => {
                    self.end(name, Ended::Finished, answers);
                }
                Some(Named::Open(flow)) => {
                    assert!(!flow.closed, "{name:?} is closed once");
                    (flow.closed, flow.we_finished) = (true, true);
                    self.finish(name, answers);
                }
                None => assert!(
                    self.ended.contains(&name),
                    "a Close on {name:?}, which was never given"
                ),
            },
            Ask::Open { association, remote, credit: Credit { octets: credit, .. }, .. } => {
                let remote = remote.internet().expect("an Internet address");
                assert!(credit > 0, "room is never zero");
                self.give(association, Named::Opening { remote, credit });
            }
            Ask::Send { association, batch, .. } => {
                let length = batch.octets();
                if let Some(flow) = self.flow(association, "Send") {
                    assert!(!flow.we_finished, "nothing is sent behind the end");
                    assert!(
                        length > 0 && length <= flow.down,
                        "{length} octets are sent, for {}",
                        flow.down
                    );
                    flow.down -= length;
                    flow.queued += length;
                }
            }
            Ask::Credit { association, credit: Credit { octets: credit, .. } } => {
                assert!(credit > 0, "room is never zero");
                if let Some(flow) = self.flow(association, "Receive") {
                    flow.up += credit;
                    assert!(flow.up <= ROOM_MOST, "memory is bounded");
                }
            }
            Ask::Control { association, .. } => {
                if self.flow(association, "Control").is_some() {
                    answers.push_back(Told::unknown_command(association));
                }
            }
            Ask::Finish { association } => {
                if let Some(flow) = self.flow(association, "Finish") {
                    flow.we_finished = true;
                }
                self.finish(association, answers);
            }
            Ask::Abort { association, .. } => {
                if let Some(named) = self.names.get(&association) {
                    assert!(!matches!(named, Named::Listener { .. }), "an Abort on a listener");
                    self.end(association, Ended::Aborted, answers);
                }
            }
        }
    }

    fn unlisten(&mut self, listener: Handle, why: Ended, answers: &mut VecDeque<Told<M>>) {
        let awaited = |(name, named): (&Handle, &Named)| {
            matches!(named, Named::Awaited { listener: of, .. } if *of == listener).then_some(*name)
        };
        let awaited: Vec<Handle> = self.names.iter().filter_map(awaited).collect();
        for name in awaited {
            self.end(name, Ended::Unlistened, answers);
        }
        self.end(listener, why, answers);
    }

    /// Both have finished, and all has left: it is over.
    fn finish(&mut self, name: Handle, answers: &mut VecDeque<Told<M>>) {
        if let Some(Named::Open(flow)) = self.names.get(&name)
            && flow.we_finished
            && flow.peer_finished
            && flow.queued == 0
        {
            self.end(name, Ended::Finished, answers);
        }
    }

    /// Something that a peer, or the network, does.
    pub(crate) fn act(&mut self, input: &mut Input<'_>, answers: &mut VecDeque<Told<M>>) {
        if self.names.is_empty() {
            return;
        }
        let what = input.octet();
        let nth = usize::from(input.octet()) % self.names.len();
        let Some(name) = self.names.keys().nth(nth).copied() else { return };
        let Some(named) = self.names.get_mut(&name) else { return };
        match named {
            Named::Listener { .. } if what == 255 => {
                self.unlisten(name, Ended::Unavailable, answers)
            }
            Named::Listener { .. } => {}
            Named::Awaited { listener, credit } => {
                let (listener, up) = (*listener, *credit);
                let Some(Named::Listener { local }) = self.names.get(&listener) else { return };
                let local = *local;
                if what == 254 {
                    return self.end(name, Ended::Reset(0), answers);
                }
                let ip = if what % 16 == 15 { STRANGER } else { THERE };
                self.open(
                    name,
                    local,
                    SocketAddr::new(ip, 50_000 + u16::from(what)),
                    up,
                    input,
                    answers,
                );
            }
            Named::Opening { .. } if what % 4 == 3 => self.end(name, Ended::Unreachable, answers),
            Named::Opening { remote, credit } => {
                let (remote, up) = (*remote, *credit);
                self.open(
                    name,
                    SocketAddr::new(HERE, 45_000 + u16::from(what)),
                    remote,
                    up,
                    input,
                    answers,
                );
            }
            Named::Open(flow) => match what % 8 {
                0..4 if !flow.peer_finished => {
                    let length = usize::from(input.octet()).min(flow.up);
                    let octets = input.take(length);
                    if !octets.is_empty() && !flow.closed {
                        flow.up -= octets.len();
                        let message = M::with_headroom(0, octets);
                        answers.push_back(Told::Delivered {
                            association: name,
                            batch: message.into(),
                            properties: Default::default(),
                        });
                    }
                }
                4..6 => {
                    let credit = flow.queued.min(1 << (what / 8));
                    if credit > 0 {
                        flow.queued -= credit;
                        flow.down += credit;
                        if !flow.closed {
                            let credit = Credit::of_octets(credit);
                            answers.push_back(Told::Credit { association: name, credit });
                        }
                        self.finish(name, answers);
                    }
                }
                6 if !flow.peer_finished => {
                    flow.peer_finished = true;
                    if !flow.closed {
                        answers.push_back(Told::Finished { association: name });
                    }
                    self.finish(name, answers);
                }
                7 if what >= 128 => {
                    let why = if flow.closed { Ended::Expired } else { Ended::Reset(0) };
                    self.end(name, why, answers);
                }
                _ => {}
            },
        }
    }

    fn open(
        &mut self,
        name: Handle,
        local: SocketAddr,
        remote: SocketAddr,
        up: usize,
        input: &mut Input<'_>,
        answers: &mut VecDeque<Told<M>>,
    ) {
        let down = 1 + usize::from(input.number());
        let flow =
            Flow { up, down, queued: 0, we_finished: false, peer_finished: false, closed: false };
        self.names.insert(name, Named::Open(flow));
        let (local, remote) = (local.into(), remote.into());
        answers.push_back(Told::Opened {
            association: name,
            local,
            remote,
            credit: Credit::of_octets(down),
            path: PathLimits::UNBOUNDED,
        });
    }

    /// The network is gone.
    pub(crate) fn collapse(&mut self, answers: &mut VecDeque<Told<M>>) {
        let living: Vec<Handle> = self.names.keys().copied().collect();
        for name in living {
            match self.names.get(&name) {
                Some(Named::Open(_)) => self.end(name, Ended::Reset(0), answers),
                Some(Named::Opening { .. }) => self.end(name, Ended::Unreachable, answers),
                Some(Named::Listener { .. } | Named::Awaited { .. }) | None => {}
            }
        }
    }
}
