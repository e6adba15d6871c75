//! Frames over a line: as a stack, and as a graph with the same trace.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use stackwright_compose::Over;
use stackwright_compose::filter::{Counter, Tap};
use stackwright_compose::graph::modules::Recorder;
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_contract::ask::{FrameTime, Longest};
use stackwright_contract::services::{Batch, Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{Batches, Context, Duration, Facts, Outlet, Protocol};
use stackwright_kiss::{Config, Kiss};
use stackwright_simulator::{
    Application, Asks, Chunks, Conditions, Fault, Habits, Lanes, PipeEnd, Segments, Which, World,
    pipe,
};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;
type Stack = Over<Kiss<M>, PipeEnd<M>>;
type Woven = Graph<M, Segments<M>, Frames<M>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

const PORTS: u8 = 2;

/// Frames of a TNC that is as fast as its line.
fn kiss() -> Kiss<M> {
    let room = Credit { octets: 2000, messages: 8 };
    Kiss::new(Config { longest: 256, ports: PORTS, room, ..Config::default() })
}

/// What the layer above takes.
const UP: Credit = Credit { octets: 300, messages: 3 };

type Frame = (u8, Vec<u8>);

/// Sends frames as far as there is credit, several of one length as a batch; keeps what comes.
#[derive(Default)]
struct Station {
    waiting: VecDeque<Frame>,
    credit: [Credit; PORTS as usize],
    marks: u16,
    /// By port.
    left: [Vec<u16>; PORTS as usize],
    came: Vec<Frame>,
    states: Vec<(u8, bool)>,
}

impl Station {
    /// Takes frames to be sent, and the word for the first; the others follow with the credit that
    /// it gives back.
    fn first_of(&mut self, mut frames: VecDeque<Frame>) -> FramesRequest<M> {
        let (port, frame) = frames.pop_front().expect("there is something to send");
        let credit = &mut self.credit[usize::from(port)];
        (credit.octets, credit.messages) = (credit.octets - frame.len(), credit.messages - 1);
        (self.waiting, self.marks) = (frames, 1);
        FramesRequest::Send { port, batch: M::with_headroom(0, &frame).into(), mark: Some(1) }
    }

    fn send<P: Protocol<Provides = Frames<M>>>(&mut self, asks: &mut Asks<P>) {
        while let Some((port, frame)) = self.waiting.front() {
            let (port, len) = (*port, frame.len());
            let alike =
                self.waiting.iter().take_while(|other| (other.0, other.1.len()) == (port, len));
            let credit = &mut self.credit[usize::from(port)];
            let count = alike.count().min(credit.messages).min(credit.octets / len);
            if count == 0 {
                return;
            }
            (credit.octets, credit.messages) =
                (credit.octets - count * len, credit.messages - count);
            let octets: Vec<u8> =
                self.waiting.drain(..count).flat_map(|(_, frame)| frame).collect();
            let messages = Batch::new(M::with_headroom(0, &octets), len);
            self.marks += 1;
            asks.push_back(FramesRequest::Send { port, batch: messages, mark: Some(self.marks) });
        }
    }
}

impl<P: Protocol<Provides = Frames<M>>> Application<P> for Station {
    fn hear(&mut self, _: &Context, word: FramesIndication<M>, asks: &mut Asks<P>) {
        assert!(
            !self.states.contains(&(PORTS - 1, false)),
            "nothing is told while the line is down: {word:?}"
        );
        match word {
            FramesIndication::State { port, up } => {
                self.states.push((port, up));
                // Credit upward is for all ports.
                if up && port == 0 {
                    asks.push_back(FramesRequest::Credit { credit: UP });
                }
            }
            FramesIndication::Credit { port, credit } => {
                self.credit[usize::from(port)] += credit;
                self.send::<P>(asks);
            }
            FramesIndication::Delivered { port, batch: messages } => {
                let frame = messages.into_single().octets().to_vec();
                asks.push_back(FramesRequest::Credit {
                    credit: Credit { octets: frame.len(), messages: 1 },
                });
                self.came.push((port, frame));
            }
            FramesIndication::Left { port, mark } => self.left[usize::from(port)].push(mark),
            FramesIndication::Changed { .. } => {}
        }
    }
}

/// Frames both ways; in half of the runs the line is cut in the midst of them. Gives the trace, and
/// what became of both sides.
fn run<P>(seed: u64, stack: impl Fn(PipeEnd<M>) -> P) -> (u64, [Station; 2])
where
    P: Protocol<Provides = Frames<M>, Uses: Lanes<M>> + 'static,
{
    let dice = Context::new(seed);
    let mut world = World::new(seed);
    world.keep_trace();
    let jitter = Duration::from_millis(5);
    let mtu = Some(280);
    world.network_mut().set_conditions(Conditions {
        jitter,
        rate: Some(1200),
        mtu,
        ..Conditions::IDEAL
    });
    if seed % 2 == 1 {
        world.network_mut().fail(Which::Any, Fault::Cut { after: 500 + dice.random(3000) });
    }
    let chunks =
        [Chunks::Large, Chunks::Single, Chunks::Fixed(3), Chunks::Mixed][dice.random(4) as usize];
    let credit = 1 + dice.random(300) as usize;
    let (one, other) =
        pipe(HERE, THERE, Habits { credit, buffer: 200, chunks, ..Habits::default() });
    let frames = |count: u64| {
        (0..count).flat_map(|_| {
            let (port, len) = (dice.random(u64::from(PORTS)) as u8, 1 + dice.random(100) as usize);
            // Every other octet stands for the end of a frame, or for an escape.
            let octet =
                || [0xC0, 0xDB, 0xDC, 0xDD, dice.random(256) as u8][dice.random(5) as usize];
            let alike = 1 + dice.random(3);
            let frames: Vec<Frame> =
                (0..alike).map(|_| (port, (0..len).map(|_| octet()).collect())).collect();
            frames
        })
    };
    let sent: [VecDeque<Frame>; 2] = [frames(30).collect(), frames(30).collect()];
    let stations = [(HERE, one), (THERE, other)]
        .map(|(at, line)| world.add(at, stack(line), Station::default()));
    // Both ends are there before something is sent.
    for (station, sent) in stations.into_iter().zip(&sent) {
        let first = world.application_mut(station).first_of(sent.clone());
        world.ask(station, first);
    }
    world.run_for(Duration::from_secs(100_000));
    assert_eq!(world.question(stations[0], 1, Longest), Some(256));
    assert!(world.question(stations[0], 0, FrameTime).is_some(), "it follows from the rate");
    let hash = world.trace().hash();
    let sides = stations.map(|station| std::mem::take(world.application_mut(station)));
    for (side, sent) in sides.iter().zip([&sent[1], &sent[0]]) {
        let (came, states) = (&side.came, &side.states[..]);
        assert!(came.iter().eq(sent.iter().take(came.len())), "seed {seed}: in order, whole");
        let in_order = side.left.iter().all(|left| left.is_sorted_by(|one, next| one < next));
        assert!(in_order, "seed {seed}: marks in the order of each port");
        match states {
            [(0, true), (1, true)] => {
                assert_eq!(came.len(), sent.len(), "seed {seed}");
                let left: usize = side.left.iter().map(Vec::len).sum();
                assert_eq!(left, usize::from(side.marks), "seed {seed}: all have left");
            }
            [(0, true), (1, true), (0, false), (1, false)] => {
                assert_eq!(seed % 2, 1, "only a line that is cut goes down")
            }
            _ => panic!("seed {seed}: {states:?}"),
        }
    }
    (hash, sides)
}

fn woven(line: PipeEnd<M>) -> Woven {
    let builder = Builder::new().top("kiss").protocol("kiss", kiss()).over("line");
    builder.protocol("line", line).build().expect("they fit")
}

#[test]
fn frames_pass_a_stack_and_a_graph_alike() {
    let mut cut = 0;
    for seed in 0..100 {
        let (expected, sides) = run(seed, |line| -> Stack { Over::new(kiss(), line) });
        let downs =
            sides.iter().filter(|side| side.states.last() == Some(&(PORTS - 1, false))).count();
        assert!(downs != 1, "seed {seed}: both ends are told");
        cut += downs / 2;
        assert_eq!(run(seed, woven).0, expected, "seed {seed}");
    }
    assert!(cut > 30 && cut <= 50, "{cut} lines were cut");
}

/// What passes between an application's node and a TNC is counted, told, and recorded as packets.
#[test]
fn modules_know_frames() {
    use std::cell::RefCell;
    use std::rc::Rc;

    type Above = Over<Kiss<M>, PipeEnd<M>>;
    struct Pass;
    impl Protocol for Pass {
        const FACTS: Facts = Facts::named("pass");
        const BATCHES: Batches = Batches::ALL;
        type Provides = Frames<M>;
        type Uses = Frames<M>;

        fn handle_request(
            &mut self,
            _: &Context,
            word: FramesRequest<M>,
            out: &mut impl Outlet<Self>,
        ) {
            out.request(word);
        }

        fn handle_indication(
            &mut self,
            _: &Context,
            word: FramesIndication<M>,
            out: &mut impl Outlet<Self>,
        ) {
            out.indicate(word);
        }
    }
    let (told, file) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(Vec::new())));
    let (one, other) = pipe(HERE, THERE, Habits::default());
    let builder = Builder::new().top("pass").protocol("pass", Pass).over("kiss");
    let builder = builder.protocol("kiss", kiss()).over("line").protocol("line", one);
    let mut graph: Woven = builder.build().expect("they fit");
    let hear = {
        let told = Rc::clone(&told);
        Tap::new(move |passage| told.borrow_mut().push(passage.primitive))
    };
    graph.push("pass", "kiss", "tap", Inserted(hear)).unwrap();
    let keep = {
        let file = Rc::clone(&file);
        move |octets: Vec<u8>| file.borrow_mut().extend(octets)
    };
    graph
        .push("tap", "kiss", "recorder", Recorder::new("pass over kiss", "pass", 0, keep))
        .unwrap();
    graph.push("pass", "tap", "counter", Inserted(Counter::default())).unwrap();
    let mut world = World::new(1);
    let sent: VecDeque<Frame> =
        [&b"first"[..], b"one", b"two"].map(|frame| (1, frame.to_vec())).into();
    let here = world.add(HERE, graph, Station::default());
    let there: Above = Over::new(kiss(), other);
    let there = world.add(THERE, there, Station::default());
    let first = world.application_mut(here).first_of(sent.clone());
    world.ask(here, first);
    let answer = world.application_mut(there).first_of([(0, b"answer".to_vec())].into());
    world.ask(there, answer);
    world.run_for(Duration::from_secs(10));
    let there = world.application(there);
    assert!(there.came.iter().eq(&sent), "{:?} {:?}", there.came, there.states);
    let counter = *world.stack(here).protocol::<Counter>("counter").expect("it was pushed");
    // A frame, and two in one batch.
    assert_eq!((counter.down.words, counter.down.messages, counter.down.octets), (4, 3, 11));
    assert_eq!((counter.up.messages, counter.up.octets), (1, 6));
    let told = told.borrow();
    let count = |primitive| told.iter().filter(|told| **told == primitive).count();
    let counts = ["Send", "Delivered", "Left", "State", "Credit"].map(count);
    assert_eq!(counts, [3, 1, 2, 2, 7], "a tap is handed one frame at a time: {told:?}");
    let comments = ["Frames Send", "Frames Delivered"].map(|comment| {
        file.borrow().windows(comment.len()).filter(|octets| *octets == comment.as_bytes()).count()
    });
    assert_eq!(comments, [3, 1]);
}
