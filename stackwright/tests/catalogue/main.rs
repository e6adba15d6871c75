//! Of a line of the catalogue follows everything: that a protocol is listed, described by a file,
//! and dissected; and what holds for every transport is tried with each.

mod bounds;
mod floods;
mod paths;
mod transports;

use std::convert::Infallible;
use std::marker::PhantomData;

use stackwright::catalogue::{PROTOCOLS, find, registry};
use stackwright::compose::graph::{Description, Erased, Flaw, Node, Parameters, ProtocolRegistry};
use stackwright::contract::services::{Datagrams, Files, Frames, Groups, Octets, Streams};
use stackwright::contract::words::Speaks;
use stackwright::contract::{
    Context, Facts, Guarantees, IndicationTo, Outlet, Protocol, RequestTo, Service, outermost,
};
use stackwright::wire::{BufferTree, syntax};

type M = BufferTree;

/// What is outside: it never speaks.
struct Silence;

impl Service for Silence {
    const NAME: &'static str = "Silence";
    type Request = Infallible;
    type Indication = Infallible;
    type Name = ();
}
outermost!(M => Silence);

/// An adapter that provides `S` to a graph that is only looked at.
struct Adapter<S>(PhantomData<S>);

impl<S: Service> Protocol for Adapter<S> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ONCE)
            .and(Guarantees::ORDERED)
            .and(Guarantees::CHECKED)
            .and(Guarantees::VIEWS)
            .and(Guarantees::SYNCHRONY)
            .and(Guarantees::PRIMARY)
            .and(Guarantees::TOTAL),
        ..Facts::named("adapter")
    };
    type Provides = S;
    type Uses = Silence;

    fn handle_request(&mut self, _: &Context, _: RequestTo<Self>, _: &mut impl Outlet<Self>) {}

    fn handle_indication(
        &mut self,
        _: &Context,
        told: IndicationTo<Self>,
        _: &mut impl Outlet<Self>,
    ) {
        match told {}
    }
}

fn adapter<S: Speaks<M, Silence>>(_: &Parameters<'_>) -> Result<Box<dyn Node<M, Silence>>, Flaw> {
    Ok(Box::new(Erased(Adapter::<S>(PhantomData))))
}

/// What a file may describe, and an adapter for each service, called as the service.
fn all() -> ProtocolRegistry<M, Silence> {
    registry(|| 7)
        .with("Datagrams", "", &[], adapter::<Datagrams<M>>)
        .with("Streams", "", &[], adapter::<Streams<M>>)
        .with("Files", "", &[], adapter::<Files<M>>)
        .with("Frames", "", &[], adapter::<Frames<M>>)
        .with("Octets", "", &[], adapter::<Octets<M>>)
        .with("Groups", "", &[], adapter::<Groups<M>>)
}

#[test]
fn what_a_file_describes_stands_in_a_stack() {
    let described = registry::<M, Silence>(|| 7);
    assert!(described.iter().any(|(name, ..)| name == "stop-and-wait"));
    for (name, purpose, parameters) in described.iter() {
        let entry =
            find(name).unwrap_or_else(|| panic!("{name} is described, and not in the list"));
        assert_eq!(entry.purpose, purpose);
        let [provides, uses] = entry.services();
        let lowers: Vec<_> = (0..uses.len()).map(|lower| format!("\"lower{lower}\"")).collect();
        let nodes = uses.iter().enumerate();
        let nodes =
            nodes.map(|(lower, service)| format!("[lower{lower}]\nprotocol = \"{service}\"\n"));
        let required = parameters.iter().filter(|parameter| parameter.required);
        let value = |name| match name {
            "peers" => "192.0.2.1:10093",
            "address" => "192.0.2.2/24",
            "with" => "192.0.2.1:4370",
            "key" => "000102030405060708090a0b0c0d0e0f",
            _ => "N0CALL",
        };
        let line = |name| format!("{name} = \"{}\"\n", value(name));
        let required: String = required.map(|parameter| line(parameter.name)).collect();
        let text = format!(
            "top = \"it\"\n[it]\nprotocol = \"{name}\"\n{required}over = [{}]\n{}",
            lowers.join(", "),
            nodes.collect::<String>()
        );
        let description =
            Description::read(&text).unwrap_or_else(|flaw| panic!("{name}: {flaw}\n{text}"));
        let graph =
            description.look(&all()).unwrap_or_else(|flaw| panic!("{name}: {flaw}\n{text}"));
        assert_eq!(graph.provides(), provides);
    }
}

#[test]
fn names_are_in_order_and_none_is_there_twice() {
    assert!(PROTOCOLS.is_sorted_by(|one, other| one.facts.name < other.facts.name));
}

#[test]
fn what_has_a_syntax_is_dissected() {
    for entry in PROTOCOLS.iter().filter(|entry| !entry.syntax.is_empty()) {
        let found = syntax::walk(entry.syntax, &[0; 64]).found;
        assert!(!found.is_empty(), "{} has a syntax, and nothing is read by it", entry.facts.name);
    }
}
