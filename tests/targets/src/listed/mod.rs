//! Every protocol of the catalogue that a file describes, of associations above and below: what its
//! peers and its application do is up to the input, and both keep the contract.
//!
//! | file | what |
//! | --- | --- |
//! | `below.rs` | the network, and the peers behind it |
//! | `above.rs` | the application |

mod above;
mod below;

use std::collections::VecDeque;

use stackwright::catalogue::{CatalogueEntry, PROTOCOLS, registry};
use stackwright_compose::graph::{Description, Erased, Graph, ProtocolRegistry};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Datagrams, Streams, Transfer,
};
use stackwright_contract::words::{InLane, Speaks};
use stackwright_contract::{
    Context, Duration, IndicationOf, Outlet, Protocol as _, RequestOf, Service,
};

use crate::Input;
use crate::lower::M;
use above::Above;
use below::{Adapter, Ask, Below, Network, Tell};

/// How many associations of a side there are at a time.
const ASSOCIATIONS_MOST: usize = 6;

/// The first octet selects the protocol, each later one who acts.
pub fn listed(octets: &[u8]) {
    let mut input = Input(octets);
    let all = all();
    let described = PROTOCOLS.iter().filter(|entry| {
        let both = [entry.provides, entry.uses];
        both.iter().all(|service| [Datagrams::<M>::NAME, Streams::<M>::NAME].contains(service))
            && all.iter().any(|(name, _, parameters)| {
                name == entry.facts.name && !parameters.iter().any(|one| one.required)
            })
    });
    let described: Vec<_> = described.collect();
    let entry = described[usize::from(input.octet()) % described.len()];
    if entry.provides == Streams::<M>::NAME {
        run::<Streams<M>>(entry.facts.name, built(entry, &all), input);
    } else {
        run::<Datagrams<M>>(entry.facts.name, built(entry, &all), input);
    }
}

/// What a file may describe, and what lies below, called as its service.
fn all() -> ProtocolRegistry<M, Below> {
    registry(|| 7)
        .with(Datagrams::<M>::NAME, "", &[], |_| {
            Ok(Box::new(Erased(Adapter::<Datagrams<M>>::new())))
        })
        .with(Streams::<M>::NAME, "", &[], |_| Ok(Box::new(Erased(Adapter::<Streams<M>>::new()))))
}

fn built<T: Speaks<M, Below>>(
    entry: &CatalogueEntry,
    all: &ProtocolRegistry<M, Below>,
) -> Graph<M, Below, T> {
    let CatalogueEntry { facts, uses, .. } = entry;
    let text = format!("top = \"{0}\"\n[{0}]\nover = \"{uses}\"\n[{uses}]\n", facts.name);
    Description::read(&text)
        .and_then(|description| description.build(all))
        .unwrap_or_else(|flaw| panic!("{}: {flaw}", facts.name))
}

/// What was said and was not heard.
struct Said<T: Service> {
    down: VecDeque<Ask>,
    up: VecDeque<T::Indication>,
}

impl<T: Speaks<M, Below>> Outlet<Graph<M, Below, T>> for Said<T> {
    fn indicate(&mut self, told: IndicationOf<Graph<M, Below, T>>) {
        self.up.push_back(told);
    }

    fn request(&mut self, ask: RequestOf<Graph<M, Below, T>>) {
        self.down.push_back(ask.word);
    }
}

struct Stage<T: Transfer<Message = M> + Speaks<M, Below>> {
    cx: Context,
    graph: Graph<M, Below, T>,
    said: Said<T>,
    above: Above<T>,
    below: Network,
}

/// At the end all close, the network is gone, and each name gets its last word.
fn run<T>(name: &str, graph: Graph<M, Below, T>, mut input: Input<'_>)
where
    T: Transfer<Message = M>
        + Speaks<M, Below, Request = AssociationRequest<T>, Indication = AssociationIndication<T>>,
{
    let said = Said { down: VecDeque::new(), up: VecDeque::new() };
    let (cx, above, below) = (Context::new(1), Above::default(), Network::default());
    let mut stage = Stage { cx, graph, said, above, below };
    stage.ask(Above::listen);
    while !input.is_empty() {
        match input.octet() % 16 {
            0..7 => _ = stage.tell(|below| below.act(&mut input)),
            7..13 => _ = stage.ask(|above| above.act(&mut input)),
            _ => stage.pass(Duration::from_millis(1 << (input.octet() % 18))),
        }
    }
    while stage.ask(Above::close) {}
    for _ in 0..50 {
        stage.pass(Duration::from_secs(1000));
    }
    while stage.tell(Network::collapse) {}
    stage.pass(Duration::from_secs(1000));
    assert!(stage.above.is_empty(), "{name}: a name without a last word");
    assert!(stage.below.is_empty(), "{name}: a name below is held when all have closed");
}

impl<T> Stage<T>
where
    T: Transfer<Message = M>
        + Speaks<M, Below, Request = AssociationRequest<T>, Indication = AssociationIndication<T>>,
{
    /// The application asks for something. Whether it does.
    fn ask(&mut self, ask: impl FnOnce(&mut Above<T>) -> Option<AssociationRequest<T>>) -> bool {
        let asked = ask(&mut self.above);
        let any = asked.is_some();
        if let Some(asked) = asked {
            self.graph.handle_request(&self.cx, asked, &mut self.said);
        }
        self.settle();
        any
    }

    /// The network tells something. Whether it does.
    fn tell(&mut self, tell: impl FnOnce(&mut Network) -> Option<Tell>) -> bool {
        let told = tell(&mut self.below);
        let any = told.is_some();
        if let Some(told) = told {
            self.graph.handle_indication(&self.cx, InLane { lane: 0, word: told }, &mut self.said);
        }
        self.settle();
        any
    }

    fn pass(&mut self, time: Duration) {
        let end = self.cx.now() + time;
        for _ in 0..2000 {
            let Some(next) = self.graph.next_deadline().filter(|next| *next <= end) else { break };
            self.cx.set_now(next.max(self.cx.now()));
            self.graph.handle_timeout(&self.cx, &mut self.said);
            self.settle();
        }
        self.cx.set_now(end);
        self.settle();
    }

    /// Both sides hear what was said, and answer, until nothing is said.
    fn settle(&mut self) {
        for words in 0.. {
            assert!(words < 20_000, "a protocol that never falls silent");
            if let Some(told) = self.said.up.pop_front() {
                self.above.hear(told);
            } else if let Some(asked) = self.said.down.pop_front() {
                for told in self.below.hear(asked) {
                    self.graph.handle_indication(
                        &self.cx,
                        InLane { lane: 0, word: told },
                        &mut self.said,
                    );
                }
            } else if self.graph.wants_flush() {
                self.graph.flush(&self.cx, &mut self.said);
            } else {
                break;
            }
        }
    }
}
