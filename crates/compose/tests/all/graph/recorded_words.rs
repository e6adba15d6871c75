//! Word by word: what a recorder makes of each, also of those that are seldom said.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::rc::Rc;

use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapNGSlice};
use stackwright_compose::filter::{Counter, Passage, Tap};
use stackwright_compose::graph::modules::{Delay, Recorder};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended, MessageKind,
    MessageProperties, Octets, OctetsIndication, OctetsRequest, StreamProperties, Streams,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::words::{InLane, Outside, Speaks};
use stackwright_contract::{
    Context, Duration, Facts, Handle, IndicationOf, IndicationTo, Outlet, Participant, PathLimits,
    Protocol, RequestOf, RequestTo, Service, outermost,
};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;

/// Says the same as `S`, outside.
struct Outer<S>(PhantomData<S>);

impl<S: Service> Service for Outer<S> {
    const NAME: &'static str = "Outer";
    type Request = S::Request;
    type Indication = S::Indication;
    type Name = S::Name;

    fn requests_several(request: &S::Request) -> bool {
        S::requests_several(request)
    }

    fn indicates_several(indication: &S::Indication) -> bool {
        S::indicates_several(indication)
    }

    fn split_request(several: &mut S::Request) -> Option<S::Request> {
        S::split_request(several)
    }

    fn split_indication(several: &mut S::Indication) -> Option<S::Indication> {
        S::split_indication(several)
    }
}
outermost!(M => Outer<Octets<M>>);
outermost!(M => Outer<Streams<M>>);
outermost!(M => Outer<Datagrams<M>>);

/// Says onward what it hears, to whoever speaks `U`.
struct Relay<S, U>(PhantomData<(S, U)>);

impl<S, U> Protocol for Relay<S, U>
where
    S: Service,
    U: Service<Request = S::Request, Indication = S::Indication>,
{
    const FACTS: Facts = Facts::named("relay");
    type Provides = S;
    type Uses = U;
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

/// Counts what comes out, above and below.
#[derive(Default)]
struct Ends(usize);

impl<P: Protocol> Outlet<P> for Ends {
    fn indicate(&mut self, _: IndicationOf<P>) {
        self.0 += 1;
    }
    fn request(&mut self, _: RequestOf<P>) {
        self.0 += 1;
    }
}

enum Word<S: Service> {
    Down(S::Request),
    Up(S::Indication),
}
use Word::{Down, Up};

/// Says these words through a recorder, which comes before the one with this number; the capture, a
/// line for each packet.
fn recorded<S>(from: usize, words: Vec<Word<S>>) -> Vec<String>
where
    S: Service + Speaks<M, Outer<S>>,
    Outer<S>: Speaks<M, Outer<S>> + Service<Request = S::Request, Indication = S::Indication>,
{
    let count = words.len();
    recorded_of(from, words, count)
}

/// The same where `count` words come out.
fn recorded_of<S>(from: usize, words: Vec<Word<S>>, count: usize) -> Vec<String>
where
    S: Service + Speaks<M, Outer<S>>,
    Outer<S>: Speaks<M, Outer<S>> + Service<Request = S::Request, Indication = S::Indication>,
{
    let builder = Builder::new().protocol("above", Relay::<S, S>(PhantomData)).over("below");
    let builder = builder.protocol("below", Relay::<S, Outer<S>>(PhantomData)).top("above");
    let mut graph: Graph<M, Outer<S>, S> = builder.build().expect("it fits");
    let file = Rc::new(RefCell::new(Vec::new()));
    let (cx, mut ends) = (Context::new(1), Ends::default());
    for (index, word) in words.into_iter().enumerate() {
        if index == from {
            let sink = file.clone();
            let recorder =
                Recorder::new("here", "above", 0, move |octets| sink.borrow_mut().extend(octets));
            graph.push("above", "below", "recorder", recorder).expect("it fits there");
        }
        match word {
            Down(request) => graph.handle_request(&cx, request, &mut ends),
            Up(word) => graph.handle_indication(&cx, InLane { lane: 0, word }, &mut ends),
        }
    }
    assert_eq!(ends.0, count, "everything passed");
    drop(graph.pop_now("recorder").expect("it holds nothing"));
    packets(&file.borrow())
}

fn packets(file: &[u8]) -> Vec<String> {
    let (mut links, mut packets) = (Vec::new(), Vec::new());
    for block in PcapNGSlice::from_slice(file).expect("it begins with a section") {
        match block.expect("whole blocks") {
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                links.push(interface.linktype.0)
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let comment =
                    packet.options.iter().find(|option| option.code == OptionCode::Comment);
                let comment = comment.expect("each has one").as_str().expect("text");
                let octets = &packet.data[..packet.caplen as usize];
                packets.push(format!("{}; {comment}", line(links[packet.if_id as usize], octets)));
            }
            _ => {}
        }
    }
    packets
}

/// Whence, whither, and what a header of UDP or TCP says, in short.
fn line(link: i32, octets: &[u8]) -> String {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    if link == 147 {
        return format!("plain {}", text(octets));
    }
    let number = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
    let ends = format!("{}:{} to {}:{}", octets[15], number(20), octets[19], number(22));
    if octets[9] == 17 {
        return format!("{ends} {}", text(&octets[28..]));
    }
    let flags = [(1, "FIN"), (2, "SYN"), (4, "RST"), (0x20, "URG")];
    let flags: Vec<&str> =
        flags.iter().filter(|(bit, _)| octets[33] & bit != 0).map(|(_, name)| *name).collect();
    let acknowledged =
        if octets[33] & 0x10 != 0 { format!("/{}", number(30)) } else { String::new() };
    format!("{ends} {}{acknowledged} {}{}", number(26), flags.join(" "), text(&octets[40..]))
}

const NAME: Handle = Handle { index: 3, generation: 1 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };

fn at(host: u8, port: u16) -> Participant {
    std::net::SocketAddr::from(([192, 0, 2, host], port)).into()
}

fn message(text: &str) -> M {
    M::with_headroom(0, text.as_bytes())
}

fn open<S: Service<Request = StreamsRequest<M>>>() -> Word<S> {
    Down(StreamsRequest::Open {
        association: NAME,
        remote: at(2, 21),
        local: None,
        credit: Credit::of_octets(9),
    })
}

fn opened<S: Service<Indication = StreamsIndication<M>>>() -> Word<S> {
    Up(StreamsIndication::Opened {
        association: NAME,
        local: at(1, 4000),
        remote: at(2, 21),
        credit: Credit::of_octets(9),
        path: PathLimits::UNBOUNDED,
    })
}

fn send(text: &str, urgent: bool) -> Word<Streams<M>> {
    Down(StreamsRequest::Send {
        association: NAME,
        batch: message(text).into(),
        properties: StreamProperties { expedited: urgent },
    })
}

fn delivered(text: &str) -> Word<Streams<M>> {
    Up(StreamsIndication::Delivered {
        association: NAME,
        batch: message(text).into(),
        properties: Default::default(),
    })
}

fn ended(why: Ended) -> Word<Streams<M>> {
    Up(StreamsIndication::Ended { name: NAME, why })
}

#[test]
fn a_stream_that_is_opened_and_finished() {
    let words = vec![
        open(),
        opened(),
        send("ask", false),
        Up(StreamsIndication::Credit { association: NAME, credit: Credit::of_octets(3) }),
        delivered("answer"),
        send("!", true),
        Down(StreamsRequest::Finish { association: NAME }),
        delivered("x"),
        Up(StreamsIndication::Finished { association: NAME }),
        ended(Ended::Finished),
        Down(StreamsRequest::Credit { association: NAME, credit: Credit::of_octets(1) }),
        Down(StreamsRequest::Finish { association: NAME }),
    ];
    assert_eq!(
        recorded::<Streams<M>>(0, words),
        [
            "1:4000 to 2:21 0 SYN; Streams Opened, association 3.1",
            "2:21 to 1:4000 0/1 SYN; Streams Opened, association 3.1",
            "1:4000 to 2:21 1/1 ask; Streams Send, association 3.1",
            "2:21 to 1:4000 1/4 answer; Streams Delivered, association 3.1",
            "1:4000 to 2:21 4/7 URG!; Streams Send, association 3.1",
            "1:4000 to 2:21 5/7 FIN; Streams Finish, association 3.1",
            "2:21 to 1:4000 7/6 x; Streams Delivered, association 3.1",
            "2:21 to 1:4000 8/6 FIN; Streams Finished, association 3.1",
        ]
    );
}

#[test]
fn a_stream_that_is_reset() {
    let aborted = vec![
        open(),
        opened(),
        Down(StreamsRequest::Abort { association: NAME, code: 0 }),
        ended(Ended::Aborted),
    ];
    let lines = recorded::<Streams<M>>(0, aborted);
    assert_eq!(lines[2..], ["1:4000 to 2:21 1/1 RST; Streams Abort, association 3.1"]);
    let reset = recorded::<Streams<M>>(0, vec![open(), opened(), ended(Ended::Reset(0))]);
    assert_eq!(reset[2..], ["2:21 to 1:4000 1/1 RST; Streams Ended, association 3.1"]);
    let short = recorded::<Streams<M>>(0, vec![open(), opened(), ended(Ended::SourceShort)]);
    assert_eq!(short[2..], ["1:4000 to 2:21 1/1 RST; Streams Ended, association 3.1"]);
    assert!(recorded::<Streams<M>>(0, vec![open(), ended(Ended::Unreachable)]).is_empty());
    let aborted = vec![
        open(),
        Down(StreamsRequest::Abort { association: NAME, code: 0 }),
        ended(Ended::Aborted),
    ];
    assert!(recorded::<Streams<M>>(0, aborted).is_empty(), "nobody has heard of it");
}

#[test]
fn a_stream_that_comes_to_us() {
    let words = vec![
        Down(StreamsRequest::Listen { listener: LISTENER, local: at(1, 4000) }),
        Up(StreamsIndication::Listening { listener: LISTENER, local: at(1, 4000) }),
        Down(StreamsRequest::Await {
            listener: LISTENER,
            association: NAME,
            credit: Credit::of_octets(1),
        }),
        opened(),
        Down(StreamsRequest::Close { name: LISTENER }),
        Up(StreamsIndication::Ended { name: LISTENER, why: Ended::Unlistened }),
    ];
    assert_eq!(
        recorded::<Streams<M>>(0, words),
        [
            "2:21 to 1:4000 0 SYN; Streams Opened, association 3.1",
            "1:4000 to 2:21 0/1 SYN; Streams Opened, association 3.1",
        ]
    );
}

#[test]
fn a_recorder_that_comes_late() {
    let words = vec![
        open(),
        opened(),
        send("lost", false),
        send("ask", false),
        delivered("yes"),
        ended(Ended::Reset(0)),
    ];
    assert_eq!(
        recorded::<Streams<M>>(3, words),
        [
            "0:49155 to 0:0 1/1 ask; Streams Send, association 3.1",
            "0:0 to 0:49155 1/4 yes; Streams Delivered, association 3.1",
            "0:0 to 0:49155 4/4 RST; Streams Ended, association 3.1",
        ]
    );
}

#[test]
fn datagrams() {
    let (credit, properties) = (Credit { octets: 99, messages: 9 }, MessageProperties::default());
    let (association, long) = (NAME, "x".repeat(65_536));
    let words = |local, remote| {
        vec![
            Down(DatagramsRequest::Open { association, remote, credit, local: None }),
            Up(DatagramsIndication::Opened {
                association,
                local,
                remote,
                credit,
                path: PathLimits::UNBOUNDED,
            }),
            Down(DatagramsRequest::Send { association, batch: message("ask").into(), properties }),
            Up(DatagramsIndication::Delivered {
                association,
                batch: message("answer").into(),
                properties,
            }),
            Down(DatagramsRequest::Send { association, batch: message(&long).into(), properties }),
            Down(DatagramsRequest::Close { name: association }),
            Up(DatagramsIndication::Ended { name: NAME, why: Ended::Finished }),
        ]
    };
    let long = format!("plain {long}; Datagrams Send, association 3.1");
    assert_eq!(
        recorded::<Datagrams<M>>(0, words(at(1, 4000), at(2, 7).through(1))),
        [
            "1:4000 to 2:7 ask; Datagrams Send, association 3.1",
            "2:7 to 1:4000 answer; Datagrams Delivered, association 3.1",
            &long,
        ]
    );
    assert_eq!(
        recorded::<Datagrams<M>>(0, words(Participant::OTHER_END, Participant::OTHER_END)),
        [
            "plain ask; Datagrams Send, association 3.1",
            "plain answer; Datagrams Delivered, association 3.1",
            &long,
        ]
    );
}

/// Nobody who is pushed in has to know what a run is: he hears each message of it, and passes it
/// on.
#[test]
fn a_run_of_datagrams_is_recorded_as_each_of_them() {
    let (credit, association) = (Credit { octets: 99, messages: 9 }, NAME);
    let several = || Batch::new(message("abcde"), 2);
    let properties = MessageProperties::default();
    let (local, remote) = (at(1, 4000), at(2, 7));
    let words = vec![
        Down(DatagramsRequest::Open { association, remote, credit, local: None }),
        Up(DatagramsIndication::Opened {
            association,
            local,
            remote,
            credit,
            path: PathLimits::UNBOUNDED,
        }),
        Down(DatagramsRequest::Send { association, batch: several(), properties }),
        Up(DatagramsIndication::Delivered { association, batch: several(), properties }),
    ];
    let down = ["ab", "cd", "e"]
        .map(|text| format!("1:4000 to 2:7 {text}; Datagrams Send, association 3.1"));
    let up = ["ab", "cd", "e"]
        .map(|text| format!("2:7 to 1:4000 {text}; Datagrams Delivered, association 3.1"));
    assert_eq!(recorded_of::<Datagrams<M>>(0, words, 2 + 2 * 3), [down, up].concat());
}

/// What is wished of each message that comes out.
#[derive(Default)]
struct Wishes(Vec<MessageProperties>);

impl<P> Outlet<P> for Wishes
where
    P: Protocol<Provides = Datagrams<M>, Uses = Outside<Outer<Datagrams<M>>>>,
{
    fn indicate(&mut self, word: DatagramsIndication<M>) {
        if let DatagramsIndication::Delivered { properties, .. } = word {
            self.0.push(properties);
        }
    }
    fn request(&mut self, InLane { word, .. }: InLane<DatagramsRequest<M>>) {
        if let DatagramsRequest::Send { properties, .. } = word {
            self.0.push(properties);
        }
    }
}

#[test]
fn a_wish_comes_through_whatever_was_pushed() {
    type Below = Outer<Datagrams<M>>;
    const TIME: Duration = Duration::from_millis(1);
    let builder = Builder::new()
        .protocol("above", Relay::<Datagrams<M>, Datagrams<M>>(PhantomData))
        .over("below");
    let builder = builder.protocol("below", Relay::<Datagrams<M>, Below>(PhantomData)).top("above");
    let mut graph: Graph<M, Below, Datagrams<M>> = builder.build().expect("it fits");
    graph
        .push("above", "below", "recorder", Recorder::new("here", "above", 0, |_| {}))
        .expect("it fits there");
    graph.push("above", "below", "counter", Inserted(Counter::default())).expect("it fits there");
    graph
        .push("above", "below", "tap", Inserted(Tap::new(|_: &Passage<'_, M>| {})))
        .expect("it fits there");
    graph.push("above", "below", "delay", Delay::new(TIME)).expect("it fits there");
    let (cx, mut wishes) = (Context::new(1), Wishes::default());
    let wish = |priority| MessageProperties {
        lifetime: NonZeroU32::new(40_000),
        number: Some(7),
        priority,
        kind: MessageKind::Control,
        ecn: Ecn::Ce,
        returned: false,
    };
    let (association, word) = (NAME, message("ask"));
    graph.handle_request(
        &cx,
        DatagramsRequest::Send { association, batch: word.into(), properties: wish(1) },
        &mut wishes,
    );
    let word = DatagramsIndication::Delivered {
        association,
        batch: message("answer").into(),
        properties: wish(2),
    };
    graph.handle_indication(&cx, InLane { lane: 0, word }, &mut wishes);
    cx.set_now(cx.now() + TIME);
    graph.handle_timeout(&cx, &mut wishes);
    assert_eq!(wishes.0, [wish(2), wish(1)], "a delay lets what rises go first");
}

#[test]
fn a_line() {
    let words = vec![
        Down(OctetsRequest::Send { message: message("ask") }),
        Up(OctetsIndication::State { up: true }),
        Up(OctetsIndication::Credit { credit: 3 }),
        Up(OctetsIndication::Delivered { message: message("answer") }),
    ];
    assert_eq!(
        recorded::<Octets<M>>(0, words),
        ["plain ask; Octets Send", "plain answer; Octets Delivered"]
    );
}
