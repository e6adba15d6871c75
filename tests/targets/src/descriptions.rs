//! Descriptions of graphs.

use std::net::SocketAddr;

use stackwright_compose::graph::{
    Description, Erased, Flaw, Graph, Node, Parameter, ParameterKind, Parameters, ProtocolRegistry,
};
use stackwright_contract::described::ParameterTable;
use stackwright_contract::services::{Datagrams, Octets, OctetsIndication, OctetsRequest};
use stackwright_contract::words::Speaks;
use stackwright_contract::{
    Both, Context, Either, Facts, Guarantees, IndicationOf, IndicationTo, Nothing, Outlet,
    Protocol, RequestOf, RequestTo, Service, outermost,
};
use stackwright_wire::{Message, SingleBuffer};

use crate::Input;

type M = SingleBuffer;

/// What is outside.
struct Line;

impl Service for Line {
    const NAME: &'static str = "Line";
    type Request = usize;
    type Indication = usize;
    type Name = ();
}
outermost!(M => Line);

/// Says onward what it hears.
struct Relay;
/// Says it to the left, then to the right, and so on.
struct Pair(bool);
/// Says to the outside how long a message is, and gives it back.
struct Echo;
/// Hears, and says nothing.
struct Mute;
/// Speaks another service.
struct Packets;

impl Protocol for Relay {
    const FACTS: Facts =
        Facts { passes: Guarantees::ORDERED, header_room: 3, ..Facts::named("relay") };
    type Provides = Octets<M>;
    type Uses = Octets<M>;
    fn handle_request(
        &mut self,
        _: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.request(request);
    }
    fn handle_indication(
        &mut self,
        _: &Context,
        told: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(told);
    }
}

impl Protocol for Pair {
    const FACTS: Facts = Facts { needs: Guarantees::ORDERED, ..Facts::named("pair") };
    type Provides = Octets<M>;
    type Uses = Both<Octets<M>, Octets<M>>;
    fn handle_request(
        &mut self,
        _: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.0 = !self.0;
        out.request(if self.0 { Either::Left(request) } else { Either::Right(request) });
    }
    fn handle_indication(
        &mut self,
        _: &Context,
        told: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match told {
            Either::Left(told) | Either::Right(told) => out.indicate(told),
        }
    }
}

impl Protocol for Echo {
    const FACTS: Facts = Facts { gives: Guarantees::ORDERED, ..Facts::named("echo") };
    type Provides = Octets<M>;
    type Uses = Line;
    fn handle_request(
        &mut self,
        _: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if let OctetsRequest::Send { message } = request {
            out.request(message.len());
            out.indicate(OctetsIndication::Delivered { message });
        }
    }
    fn handle_indication(
        &mut self,
        _: &Context,
        credit: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(OctetsIndication::Credit { credit });
    }
}

macro_rules! mute {
    ($($protocol:ident $name:literal $service:ty),*) => { $(
        impl Protocol for $protocol {
            const FACTS: Facts = Facts::named($name);
            type Provides = $service;
            type Uses = Nothing;
            fn handle_request(&mut self, _: &Context, _: RequestTo<Self>, _: &mut impl Outlet<Self>) {}
            fn handle_indication(&mut self, _: &Context, _: IndicationTo<Self>, _: &mut impl Outlet<Self>) {}
        }
    )* };
}

mute!(Mute "mute" Octets<M>, Packets "packets" Datagrams<M>);

fn boxed<P>(protocol: P) -> Result<Box<dyn Node<M, Line>>, Flaw>
where
    Erased<P>: Node<M, Line>,
{
    Ok(Box::new(Erased(protocol)))
}

fn registry() -> ProtocolRegistry<M, Line> {
    const RELAY: &[Parameter] = &[
        Parameter::new("local", ParameterKind::Text, "an address"),
        Parameter::new("window", ParameterKind::Number, "how many octets"),
    ];
    const MUTE: &[Parameter] =
        &[Parameter::required("quite", ParameterKind::Truth, "whether it is quite mute")];
    let relay = |parameters: &Parameters<'_>| {
        parameters.parsed::<SocketAddr>("local", "an address and a port")?;
        match parameters.number("window") {
            Some(..0) => Err(parameters.flaw("window", "a window is not negative".into())),
            _ => boxed(Relay),
        }
    };
    ProtocolRegistry::new()
        .with("relay", "says onward what it hears", RELAY, relay)
        .with("pair", "says it left and right", &[], |_| boxed(Pair(false)))
        .with("echo", "gives it back", &[], |_| boxed(Echo))
        .with("mute", "says nothing", MUTE, |_| boxed(Mute))
        .with("packets", "datagrams", &[], |_| boxed(Packets))
}

/// The outer ends, which count.
#[derive(Default)]
struct Ends {
    above: usize,
    below: usize,
}

impl<P: Protocol> Outlet<P> for Ends {
    fn indicate(&mut self, _: IndicationOf<P>) {
        self.above += 1;
    }
    fn request(&mut self, _: RequestOf<P>) {
        self.below += 1;
    }
}

/// Any text as a description: a graph, or a flaw at a place in the text. A graph can be drawn,
/// explained and used. Then a text of which the octets only say who stands on whom, so that more
/// than its syntax is tried.
pub fn descriptions(octets: &[u8]) {
    check(&String::from_utf8_lossy(octets));
    check(&written(Input(octets)));
}

/// A description of a few nodes, each of which mostly stands on later ones.
fn written(mut input: Input<'_>) -> String {
    let count = 1 + input.octet() % 8;
    let mut text = String::from("top = \"0\"\n");
    for node in 0..count {
        let choice = input.octet();
        let below = |octet: u8| if octet < 8 { octet } else { node + 1 + octet % 2 };
        let (left, right) = (below(input.octet()), below(input.octet()));
        let body = match choice % 8 {
            0..3 => format!("protocol = \"relay\"\nover = \"{left}\""),
            3 | 4 => format!("protocol = \"pair\"\nover = [\"{left}\", \"{right}\"]"),
            5 => String::from("protocol = \"mute\"\nquite = true"),
            6 => String::from("protocol = \"packets\""),
            _ => String::from("protocol = \"echo\""),
        };
        text += &format!("[{node}]\n{body}\n");
    }
    // Whoever stands on the next one but the last finds it.
    text + &format!("[{count}]\nprotocol = \"echo\"\n[{}]\nprotocol = \"echo\"\n", count + 1)
}

fn check(text: &str) {
    let registry = registry();
    let built = Description::read(text).and_then(|description| {
        // What does not fit below one service may fit below none.
        let _any: Result<Graph<M, Line, Nothing>, Flaw> = description.build(&registry);
        description.build::<_, _, Octets<M>>(&registry)
    });
    match built {
        Ok(graph) => used(graph),
        Err(flaw) => placed(&flaw, text),
    }
}

fn placed(flaw: &Flaw, text: &str) {
    assert!(!flaw.says().is_empty());
    let Some(at) = flaw.at() else {
        // Only what is not there has no place.
        return assert_eq!(flaw.says(), "the graph does not say which node is its top");
    };
    // A text that ends with its last line's end has its end on the line behind.
    let line = text.split('\n').nth(at.line - 1);
    let length = line.expect("the line is in the text").chars().count();
    assert!((1..=length + 1).contains(&at.column), "the column is in the line: {flaw}");
}

fn used<T>(mut graph: Graph<M, Line, T>)
where
    T: Speaks<M, Line, Request = OctetsRequest<M>>,
{
    for shown in [graph.draw(), graph.dot(), graph.explain(), format!("{graph:?}")] {
        assert!(!shown.is_empty());
    }
    let cx = Context::new(1);
    let mut ends = Ends::default();
    for _ in 0..3 {
        let message = M::with_headroom(graph.facts().header_room, b"hello");
        graph.handle_request(&cx, OctetsRequest::Send { message }, &mut ends);
        graph.handle_timeout(&cx, &mut ends);
        graph.flush(&cx, &mut ends);
    }
    assert!(ends.below <= 3 && ends.above == ends.below, "an echo answers once, and nobody else");
}
