//! The network below, and the peers behind it: datagrams and streams.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::marker::PhantomData;

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Datagrams, DatagramsIndication,
    DatagramsRequest, Ended, Streams, StreamsIndication, StreamsRequest, Transfer,
};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, IndicationTo, Outlet, Participant, PathLimits, Protocol,
    RequestTo, Service, outermost,
};
use stackwright_wire::Message as _;

use super::ASSOCIATIONS_MOST;
use crate::Input;
use crate::lower::M;

/// What is outside: the words of either service.
pub(super) struct Below;

pub(super) enum Ask {
    Datagrams(DatagramsRequest<M>),
    Streams(StreamsRequest<M>),
}

pub(super) enum Tell {
    Datagrams(DatagramsIndication<M>),
    Streams(StreamsIndication<M>),
}

impl Service for Below {
    const NAME: &'static str = "Below";
    type Request = Ask;
    type Indication = Tell;
    type Name = ();
}

outermost!(M => Below);

/// Provides `T` of what is outside.
pub(super) struct Adapter<T>(PhantomData<T>);

impl<T> Adapter<T> {
    pub(super) fn new() -> Self {
        Adapter(PhantomData)
    }
}

macro_rules! adapters {
    ($($service:ident),*) => { $(
        impl Protocol for Adapter<$service<M>> {
            const FACTS: Facts = Facts {
                gives: Guarantees::RELIABLE
                    .and(Guarantees::ONCE)
                    .and(Guarantees::ORDERED)
                    .and(Guarantees::CHECKED),
                ..Facts::named("adapter")
            };
            type Provides = $service<M>;
            type Uses = Below;

            fn handle_request(
                &mut self,
                _: &Context,
                ask: RequestTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                out.request(Ask::$service(ask));
            }

            fn handle_indication(
                &mut self,
                _: &Context,
                told: IndicationTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                if let Tell::$service(told) = told {
                    out.indicate(told);
                }
            }
        }
    )* };
}
adapters!(Datagrams, Streams);

/// A name that the protocol gave.
enum Named {
    Listener,
    Awaited { listener: Handle, up: Credit },
    Opening { up: Credit },
    Open(Flow),
}

struct Flow {
    /// What may be delivered, and what may be sent.
    up: Credit,
    down: Credit,
    /// What was sent and has not left.
    queued: Credit,
    peer_finished: bool,
}

/// How much is kept of what was sent.
const SENT_MOST: usize = 16;

/// The state of the network, for one service.
#[derive(Default)]
struct Names {
    living: BTreeMap<Handle, Named>,
    ended: BTreeSet<Handle>,
    /// What was sent last: a peer that speaks the protocol says the same.
    sent: VecDeque<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Network {
    datagrams: Names,
    streams: Names,
}

impl Network {
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.living.is_empty() && self.streams.living.is_empty()
    }

    pub(super) fn hear(&mut self, ask: Ask) -> Vec<Tell> {
        match ask {
            Ask::Datagrams(ask) => {
                self.datagrams.hear(ask).into_iter().map(Tell::Datagrams).collect()
            }
            Ask::Streams(ask) => self.streams.hear(ask).into_iter().map(Tell::Streams).collect(),
        }
    }

    pub(super) fn act(&mut self, input: &mut Input<'_>) -> Option<Tell> {
        if self.streams.living.is_empty() {
            return self.datagrams.act(input).map(Tell::Datagrams);
        }
        self.streams.act(input).map(Tell::Streams)
    }

    /// One association that is still there ends, or else a listener.
    pub(super) fn collapse(&mut self) -> Option<Tell> {
        let told = self.datagrams.collapse().map(Tell::Datagrams);
        told.or_else(|| self.streams.collapse().map(Tell::Streams))
    }
}

fn address(nth: u8) -> Participant {
    Participant::from(([10, 0, 0, nth], 7))
}

impl Names {
    fn give(&mut self, name: Handle, named: Named) {
        assert!(!self.ended.contains(&name), "{name:?} is given once");
        assert!(self.living.insert(name, named).is_none(), "{name:?} lives already");
    }

    fn end<T: Transfer>(&mut self, name: Handle, why: Ended) -> AssociationIndication<T> {
        assert!(self.living.remove(&name).is_some(), "a last word for {name:?}");
        self.ended.insert(name);
        AssociationIndication::Ended { name, why }
    }

    /// Returns an association; nothing where the words have crossed.
    fn flow(&mut self, name: Handle) -> Option<&mut Flow> {
        match self.living.get_mut(&name) {
            Some(Named::Open(flow)) => Some(flow),
            Some(_) => panic!("{name:?} is not open"),
            None => {
                assert!(self.ended.contains(&name), "{name:?} was never given");
                None
            }
        }
    }

    /// What the protocol asks, and what follows from it at once.
    fn hear<T: Transfer<Message = M, Order = Infallible>>(
        &mut self,
        ask: AssociationRequest<T>,
    ) -> Vec<AssociationIndication<T>> {
        use AssociationRequest as Ask;
        let mut answers = Vec::new();
        match ask {
            Ask::Tell { order, .. } => match order {},
            Ask::Listen { listener, local } => {
                self.give(listener, Named::Listener);
                answers.push(AssociationIndication::Listening { listener, local });
            }
            Ask::Await { listener, association, credit } => {
                let is_there = matches!(self.living.get(&listener), Some(Named::Listener));
                self.give(association, Named::Awaited { listener, up: credit });
                if !is_there {
                    answers.push(self.end(association, Ended::Unlistened));
                }
            }
            Ask::Open { association, credit, .. } => {
                self.give(association, Named::Opening { up: credit });
            }
            Ask::Send { association, batch, .. } => {
                let cost = T::cost(&batch);
                if let Some(flow) = self.flow(association) {
                    // A message that is longer than all credit may leave alone.
                    let alone = flow.queued == Credit::NONE && flow.down.messages >= cost.messages;
                    assert!(flow.down.covers(cost) || alone, "{cost:?} of {:?}", flow.down);
                    let octets = cost.octets.min(flow.down.octets);
                    let cost = Credit { octets, ..cost };
                    flow.down -= cost;
                    flow.queued += cost;
                    for piece in batch.pieces() {
                        self.sent.push_front(piece.flatten().copied().collect());
                    }
                    self.sent.truncate(SENT_MOST);
                }
            }
            Ask::Credit { association, credit } => {
                assert!(credit != Credit::NONE, "credit is never zero");
                if let Some(flow) = self.flow(association) {
                    flow.up += credit;
                }
            }
            Ask::Control { association, .. } => {
                if self.flow(association).is_some() {
                    answers.push(AssociationIndication::unknown_command(association));
                }
            }
            Ask::Finish { association } => {
                self.flow(association);
            }
            Ask::Abort { association: name, .. } if self.living.contains_key(&name) => {
                answers.push(self.end(name, Ended::Aborted));
            }
            Ask::Close { name } if self.living.contains_key(&name) => {
                let of_it = |(awaited, named): (&Handle, &Named)| match named {
                    Named::Awaited { listener, .. } if *listener == name => Some(*awaited),
                    _ => None,
                };
                let awaited: Vec<_> = self.living.iter().filter_map(of_it).collect();
                answers.extend(awaited.into_iter().map(|name| self.end(name, Ended::Unlistened)));
                let is_listener = matches!(self.living.get(&name), Some(Named::Listener));
                let why = if is_listener { Ended::Unlistened } else { Ended::Finished };
                answers.push(self.end(name, why));
            }
            Ask::Abort { association: name, .. } | Ask::Close { name } => {
                assert!(self.ended.contains(&name), "{name:?} was never given");
            }
        }
        answers
    }

    /// Something that a peer, or the network, does.
    fn act<T: Transfer<Message = M>>(
        &mut self,
        input: &mut Input<'_>,
    ) -> Option<AssociationIndication<T>> {
        let (what, nth) = (input.octet(), usize::from(input.octet()));
        let open = self.living.values().filter(|named| matches!(named, Named::Open(_))).count();
        let name = *self.living.keys().nth(nth % self.living.len().max(1))?;
        match self.living.get_mut(&name)? {
            Named::Listener => None,
            Named::Awaited { .. } if open >= ASSOCIATIONS_MOST => None,
            Named::Opening { .. } if what % 4 == 3 => Some(self.end(name, Ended::Unreachable)),
            Named::Awaited { up, .. } | Named::Opening { up } => {
                let credit = match T::MESSAGES {
                    true => Credit { octets: 1 + usize::from(input.number()), messages: 4 },
                    false => Credit::of_octets(1 + usize::from(input.number())),
                };
                let (up, queued) = (*up, Credit::NONE);
                let flow = Flow { up, down: credit, queued, peer_finished: false };
                self.living.insert(name, Named::Open(flow));
                Some(AssociationIndication::Opened {
                    association: name,
                    local: address(1),
                    remote: address(2 + what % 8),
                    credit,
                    path: PathLimits::UNBOUNDED,
                })
            }
            Named::Open(flow) => match what % 8 {
                0..5 if !flow.peer_finished => {
                    let which = input.octet();
                    let octets = match self.sent.get(usize::from(which % 16)) {
                        Some(sent) if what % 8 < 3 => {
                            let mut octets = sent.clone();
                            if let Some(octet) = octets.get_mut(usize::from(which / 16)) {
                                *octet ^= if what < 32 { input.octet() } else { 0 };
                            }
                            octets
                        }
                        _ => input.take(which.into()).to_vec(),
                    };
                    let octets = octets.get(..flow.up.octets).unwrap_or(&octets);
                    let batch = M::with_headroom(0, octets).into();
                    let cost = T::cost(&batch);
                    if !flow.up.covers(cost) || !T::MESSAGES && cost.octets == 0 {
                        return None;
                    }
                    flow.up -= cost;
                    Some(AssociationIndication::Delivered {
                        association: name,
                        batch,
                        properties: T::Properties::default(),
                    })
                }
                5 if flow.queued != Credit::NONE => {
                    let credit = std::mem::take(&mut flow.queued);
                    flow.down += credit;
                    Some(AssociationIndication::Credit { association: name, credit })
                }
                6 if !T::MESSAGES && !flow.peer_finished => {
                    flow.peer_finished = true;
                    Some(AssociationIndication::Finished { association: name })
                }
                7 if what >= 128 => Some(self.end(name, Ended::Reset(0))),
                _ => None,
            },
        }
    }

    /// The network is gone.
    fn collapse<T: Transfer>(&mut self) -> Option<AssociationIndication<T>> {
        let named = |(name, named): (&Handle, &Named)| match named {
            Named::Open(_) => Some((*name, Ended::Reset(0))),
            Named::Opening { .. } => Some((*name, Ended::Unreachable)),
            Named::Listener | Named::Awaited { .. } => None,
        };
        // A listener that hears strangers is left, and ends behind the names that wait there.
        let waits = |(name, named): (&Handle, &Named)| {
            matches!(named, Named::Awaited { .. }).then_some((*name, Ended::Unlistened))
        };
        let open =
            self.living.iter().find_map(named).or_else(|| self.living.iter().find_map(waits));
        let any = || self.living.keys().next().map(|name| (*name, Ended::Unreachable));
        let (name, why) = open.or_else(any)?;
        Some(self.end(name, why))
    }
}
