//! Two stations on a line, both with KISS: frames both ways, on two ports.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_contract::{Context, Duration};
use stackwright_kiss::{ChannelAccess, Config, Kiss};
use stackwright_simulator::{
    Application, Asks, Chunks, Conditions, Fault, Habits, PipeEnd, Which, World, pipe,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Over<Kiss<M>, PipeEnd<M>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// Sends frames as far as there is credit; keeps what comes.
#[derive(Default)]
struct Station {
    waiting: Vec<(u8, Vec<u8>)>,
    credit: [Credit; 2],
    marks: u16,
    left: Vec<u16>,
    came: Vec<(u8, Vec<u8>)>,
    /// Of port 0; the other goes with it.
    states: Vec<bool>,
}

impl Station {
    fn send(&mut self, asks: &mut Asks<Stack>) {
        while let Some((port, frame)) = self.waiting.last() {
            let credit = &mut self.credit[usize::from(*port)];
            let cost = Credit { octets: frame.len(), messages: 1 };
            if !credit.covers(cost) {
                return;
            }
            *credit -= cost;
            self.marks += 1;
            let (port, batch) = (*port, M::with_headroom(0, frame).into());
            asks.push_back(FramesRequest::Send { port, batch, mark: Some(self.marks) });
            self.waiting.pop();
        }
    }
}

impl Application<Stack> for Station {
    fn hear(&mut self, cx: &Context, word: FramesIndication<M>, asks: &mut Asks<Stack>) {
        match word {
            FramesIndication::State { port: 1.., .. } | FramesIndication::Changed { .. } => {}
            FramesIndication::State { up, .. } => {
                self.states.push(up);
                let credit = Credit { octets: 60, messages: 2 };
                asks.push_back(FramesRequest::Credit { credit });
            }
            FramesIndication::Credit { port, credit } => {
                self.credit[usize::from(port)] += credit;
                self.send(asks);
            }
            FramesIndication::Delivered { port, batch } => {
                let credit = batch.cost();
                let mut frame = Vec::new();
                batch.into_single().each(|octets| frame.extend_from_slice(octets));
                self.came.push((port, frame));
                // In two parts, the second of which is what it lacks.
                let half = Credit { octets: credit.octets, messages: 0 };
                if cx.random(2) == 0 {
                    asks.push_back(FramesRequest::Credit { credit });
                } else {
                    asks.push_back(FramesRequest::Credit { credit: half });
                    let one = Credit { octets: 0, messages: 1 };
                    asks.push_back(FramesRequest::Credit { credit: one });
                }
            }
            FramesIndication::Left { mark, .. } => self.left.push(mark),
        }
    }
}

#[test]
fn frames_pass_whole_and_in_order_until_the_line_is_cut() {
    let mut cuts = 0;
    for seed in 0..200 {
        let dice = Context::new(seed);
        let mut world = World::<M>::new(seed);
        let jitter = Duration::from_millis(5);
        world.network_mut().set_conditions(Conditions {
            jitter,
            rate: Some(9600),
            ..Conditions::IDEAL
        });
        let is_cut = seed % 3 == 1;
        if is_cut {
            let after = 500 + dice.random(3000);
            world.network_mut().fail(Which::Any, Fault::Cut { after });
        }
        let chunks = [Chunks::Large, Chunks::Single, Chunks::Fixed(3), Chunks::Mixed]
            [dice.random(4) as usize];
        let credit = 1 + dice.random(300) as usize;
        let habits = Habits { credit, buffer: 200, chunks, ..Habits::default() };
        let (one, other) = pipe::<M>(HERE, THERE, habits);
        let config = Config {
            longest: 50,
            ports: 2,
            room: Credit { octets: 200, messages: 5 },
            rate: NonZeroU32::new(9600).expect("it is not 0"),
            checked: dice.random(2) == 0,
            access: ChannelAccess {
                tx_delay: Some(Duration::from_millis(dice.random(300))),
                ..ChannelAccess::default()
            },
            ..Config::default()
        };
        let frames = || {
            (0..100)
                .map(|_| {
                    let octet = |_| match dice.random(3) {
                        0 => [0xC0, 0xDB, 0xDC, 0xDD][dice.random(4) as usize],
                        _ => dice.random(256) as u8,
                    };
                    let port = dice.random(2) as u8;
                    (port, (0..1 + dice.random(50)).map(octet).collect())
                })
                .collect::<Vec<(u8, Vec<u8>)>>()
        };
        let sent = [frames(), frames()];
        let stations = [(HERE, one), (THERE, other)].map(|(at, line)| {
            world.add(at, Over::new(Kiss::new(config.clone()), line), Station::default())
        });
        // Frames are sent only when both stations are there; what greets a TNC is lost.
        for (station, sent) in stations.into_iter().zip(&sent) {
            let there = world.application_mut(station);
            there.waiting = sent.iter().rev().cloned().collect();
            let mut asks = Asks::<Stack>::new();
            there.send(&mut asks);
            asks.into_iter().for_each(|request| world.ask(station, request));
        }
        world.run_for(Duration::from_secs(10_000));
        for (side, station) in stations.into_iter().enumerate() {
            let there = world.application(station);
            let expected = &sent[1 - side];
            // The parameters of the other side came, too, and are no frames.
            assert!(there.came.iter().eq(expected.iter().take(there.came.len())), "seed {seed}");
            let marks = 1..=there.left.len() as u16;
            let mut left = there.left.clone();
            left.sort_unstable();
            match there.states[..] {
                [true] => {
                    assert_eq!(there.came.len(), expected.len(), "seed {seed}");
                    assert!(left.into_iter().eq(marks), "seed {seed}: each mark once");
                    assert_eq!(there.left.len(), 100, "seed {seed}");
                    assert_eq!(world.stack(station).upper.held(), 0);
                }
                [true, false] => {
                    assert!(is_cut, "seed {seed}: only a line that is cut goes down");
                    cuts += 1;
                }
                _ => panic!("seed {seed}: {:?}", there.states),
            }
        }
    }
    assert!(cuts > 100, "{cuts} ends were cut");
}
