//! Packets that cross the boundary below together: both sides come to what they come to where each crosses by itself.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use stackwright_artp::{Config, Layer, layer};
use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Ended, Quality, Room, Run};
use stackwright_contract::{Context, Duration, Handle, Instant, Outlet, Participant, Protocol as _};
use stackwright_wire::{BufferTree, Leaf, Message};

type M = BufferTree;

const NAME: Handle = Handle { index: 1, generation: 0 };
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const MUCH: Room = Room { octets: 1 << 30, messages: 1 << 20 };
/// What the application takes at once.
const UP: Room = Room { octets: 30_000, messages: 3 };
const LENGTH: usize = 10_000;
const MESSAGES: u8 = 40;

fn octets(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

/// What a side said, above and below.
#[derive(Default)]
struct Said {
    down: Vec<DatagramsRequest<M>>,
    below: Option<Handle>,
    room: Room,
    /// It was told that it is open, what came, and the last word.
    opened: bool,
    came: Vec<Vec<u8>>,
    ended: Option<Ended>,
}

impl Outlet<Layer<M>> for Said {
    fn indicate(&mut self, told: DatagramsIndication<M>) {
        match told {
            DatagramsIndication::Opened { room, .. } => (self.opened, self.room) = (true, room),
            DatagramsIndication::Room { room, .. } => {
                self.room.octets += room.octets;
                self.room.messages += room.messages;
            }
            DatagramsIndication::Delivered { message, .. } => {
                assert!(self.opened, "nothing comes before it is open");
                self.came.push(octets(&message));
            }
            DatagramsIndication::DeliveredRun { .. } => unreachable!("a layer delivers one by one"),
            DatagramsIndication::Ended { name: NAME, why } => self.ended = Some(why),
            DatagramsIndication::Ended { .. } | DatagramsIndication::Listening { .. } => {}
        }
    }

    fn request(&mut self, asked: DatagramsRequest<M>) {
        match asked {
            DatagramsRequest::Open { association, .. } | DatagramsRequest::Await { association, .. } => {
                self.below = self.below.or(Some(association));
            }
            asked => self.down.push(asked),
        }
    }
}

struct Side {
    layer: Layer<M>,
    said: Said,
}

impl Side {
    fn new(nth: u8) -> Self {
        let config = Config { secret: [nth; 16], ..Config::default() };
        Side { layer: layer(config, u64::from(nth)), said: Said::default() }
    }

    fn ask(&mut self, cx: &Context, request: DatagramsRequest<M>) {
        self.layer.handle_request(cx, request, &mut self.said);
    }

    fn say(&mut self, cx: &Context, octets: &[u8]) {
        self.send(cx, M::with_headroom(64, octets));
    }

    /// A message of equal octets, written where it will leave from.
    fn say_in_place(&mut self, cx: &Context, octet: u8, octets: usize) {
        let mut message = self.layer.draft(NAME, octets).expect("it knows how its packets lie");
        assert_eq!(message.len(), octets);
        message.pieces_mut().for_each(|piece| piece.fill(octet));
        self.send(cx, message);
    }

    fn send(&mut self, cx: &Context, message: M) {
        let room = &mut self.said.room;
        (room.messages, room.octets) = (room.messages - 1, room.octets - message.len());
        self.ask(cx, DatagramsRequest::Send { association: NAME, message, quality: Quality::default() });
    }

    fn tell(&mut self, cx: &Context, indication: DatagramsIndication<M>) {
        self.layer.handle_indication(cx, indication, &mut self.said);
    }
}

/// Two sides, and how runs cross between them.
struct Talk {
    cx: Context,
    sides: [Side; 2],
    /// Runs cross in one word.
    together: bool,
    /// Of each run this packet cannot be read.
    broken: Option<usize>,
    runs: usize,
    /// The packets of each side.
    packets: [Vec<Vec<u8>>; 2],
}

impl Talk {
    fn new(together: bool, broken: Option<usize>) -> Self {
        let (cx, mut sides) = (Context::new(1), [1, 2].map(Side::new));
        cx.set_now(Instant::from_nanoseconds(1_000_000_000));
        let [here, there]: [Participant; 2] =
            [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 7)).into());
        sides[1].ask(&cx, DatagramsRequest::Listen { listener: LISTENER, local: there });
        let Some(DatagramsRequest::Listen { listener, local }) = sides[1].said.down.pop() else {
            panic!("it listens below")
        };
        sides[1].tell(&cx, DatagramsIndication::Listening { listener, local });
        sides[1].ask(&cx, DatagramsRequest::Await { listener: LISTENER, association: NAME, room: UP });
        sides[0].ask(&cx, DatagramsRequest::Open { association: NAME, remote: there, room: UP });
        for (side, (local, remote)) in sides.iter_mut().zip([(here, there), (there, here)]) {
            let association = side.said.below.expect("it is asked for below");
            side.tell(&cx, DatagramsIndication::Opened { association, local, remote, room: MUCH });
        }
        Talk { cx, sides, together, broken, runs: 0, packets: [Vec::new(), Vec::new()] }
    }

    /// What one side has to say reaches the other.
    fn speak(&mut self, from: usize) {
        let Side { layer, said } = &mut self.sides[from];
        layer.handle_timeout(&self.cx, said);
        let down = std::mem::take(&mut said.down);
        let association = self.sides[1 - from].said.below.expect("it is open");
        for asked in down {
            match asked {
                DatagramsRequest::Send { message, .. } => self.cross(from, message),
                DatagramsRequest::SendRun { run, .. } => {
                    self.runs += 1;
                    let run = self.harm(run);
                    if self.together {
                        self.packets[from].extend(run.share().map(|message| octets(&message)));
                        let told = DatagramsIndication::DeliveredRun { association, run };
                        self.sides[1 - from].tell(&self.cx, told);
                    } else {
                        run.into_iter().for_each(|message| self.cross(from, message));
                    }
                }
                _ => {}
            }
        }
    }

    fn cross(&mut self, from: usize, message: M) {
        self.packets[from].push(octets(&message));
        let association = self.sides[1 - from].said.below.expect("it is open");
        let told = DatagramsIndication::Delivered { association, message, quality: Quality::default() };
        self.sides[1 - from].tell(&self.cx, told);
    }

    fn harm(&self, run: Run<M>) -> Run<M> {
        // Of packets that leave one by one, some have to arrive.
        let broken = self.broken.filter(|_| run.messages() > 1);
        let (stride, mut whole) = (run.stride(), octets(&run.into_octets()));
        if let Some(octet) = broken.and_then(|nth| whole.get_mut(nth * stride)) {
            *octet ^= 0xff;
        }
        Run::new(M::with_headroom(0, &whole), stride)
    }
}

/// What came of a conversation.
#[derive(PartialEq, Debug)]
struct Outcome {
    ended: [Option<Ended>; 2],
    dropped: u64,
    packets: [usize; 2],
}

/// Messages from here to there, and then the end; gives how many runs there were, too.
fn outcome(together: bool, in_place: bool, broken: Option<usize>) -> (Outcome, [Vec<Vec<u8>>; 2], usize) {
    let mut talk = Talk::new(together, broken);
    let (mut sent, mut taken) = (0, 0);
    for turn in 0.. {
        assert!(turn < 100_000, "it has come to no end");
        talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
        let room = talk.sides[0].said.room;
        if sent < MESSAGES && room.messages > 0 && room.octets >= LENGTH {
            sent += 1;
            if in_place {
                talk.sides[0].say_in_place(&talk.cx, sent, LENGTH);
            } else {
                talk.sides[0].say(&talk.cx, &[sent; LENGTH]);
            }
        }
        talk.speak(0);
        talk.speak(1);
        // The application takes one in a turn.
        let came = talk.sides[1].said.came.len();
        if taken < came {
            taken += 1;
            let room = Room { octets: LENGTH, messages: 1 };
            talk.sides[1].ask(&talk.cx, DatagramsRequest::Receive { association: NAME, room });
        }
        if came == usize::from(MESSAGES) && sent == MESSAGES {
            sent += 1;
            talk.sides[0].ask(&talk.cx, DatagramsRequest::Close { association: NAME });
        }
        if talk.sides.iter().all(|side| side.said.ended.is_some()) {
            break;
        }
    }
    let ended = [0, 1].map(|side| talk.sides[side].said.ended);
    let packets = [0, 1].map(|side| talk.packets[side].len());
    let came = &talk.sides[1].said.came;
    // ARTP has no order: who lost a packet comes later.
    let each: BTreeSet<u8> = came.iter().map(|came| came[0]).collect();
    assert!(came.iter().all(|came| *came == [came[0]; LENGTH]), "whole");
    assert!(each.iter().copied().eq(1..=MESSAGES) && came.len() == each.len(), "each once");
    (Outcome { ended, dropped: talk.cx.dropped_count(), packets }, talk.packets, talk.runs)
}

#[test]
fn a_conversation_in_runs_is_the_conversation_in_packets() {
    for broken in [None, Some(0), Some(3), Some(6)] {
        let (together, runs_packets, runs) = outcome(true, false, broken);
        let (apart, packets, _) = outcome(false, false, broken);
        assert!(runs > 10, "{runs} runs");
        assert_eq!(together.ended, [Some(Ended::Finished); 2]);
        assert_eq!(together.dropped > 0, broken.is_some(), "{broken:?}");
        assert_eq!(together, apart, "{broken:?}");
        assert!(runs_packets == packets, "octet for octet: {broken:?}");
        let (in_place, runs_in_place, _) = outcome(true, true, broken);
        assert_eq!(in_place, apart, "{broken:?}");
        assert!(runs_in_place == packets, "octet for octet, in place: {broken:?}");
    }
}

/// The octets of messages that lie as they leave are not copied: each leaves from the block in which it was written.
#[test]
fn what_is_written_in_place_leaves_from_there() {
    let mut talk = Talk::new(true, None);
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Receive { association: NAME, room: MUCH });
    // Until the window is wide.
    for _ in 0..50 {
        talk.sides[0].say(&talk.cx, &[0; LENGTH]);
        for side in [0, 1, 0, 1] {
            talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
            talk.speak(side);
        }
    }
    let blocks: Vec<*const u8> = (1..=3)
        .map(|octet| {
            let Side { layer, said } = &mut talk.sides[0];
            let mut message = layer.draft(NAME, LENGTH).expect("it knows how its packets lie");
            let mut first: *const u8 = std::ptr::null();
            for piece in message.pieces_mut() {
                piece.fill(octet);
                if first.is_null() {
                    first = piece.as_ptr();
                }
            }
            let send = DatagramsRequest::Send { association: NAME, message, quality: Quality::default() };
            layer.handle_request(&talk.cx, send, said);
            first
        })
        .collect();
    let Side { layer, said } = &mut talk.sides[0];
    layer.handle_timeout(&talk.cx, said);
    let mut left = Vec::new();
    for asked in said.down.drain(..) {
        if let DatagramsRequest::SendRun { run, .. } = asked {
            for leaf in run.into_octets().leaves() {
                let Leaf::Octets(octets) = leaf else { panic!("they are in memory") };
                left.push(octets.as_ptr_range());
            }
        }
    }
    assert_eq!(left.len(), blocks.len(), "one piece for each message");
    for (block, left) in blocks.iter().zip(&left) {
        assert!(left.contains(block), "{block:?} lies in {left:?}");
    }
}

/// What does not lie as it should by the time it leaves is copied.
#[test]
fn a_draft_that_was_cut_off_leaves_all_the_same() {
    let mut talk = Talk::new(true, None);
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    let said: Vec<Vec<u8>> =
        [LENGTH - 1, LENGTH / 2, 3000, 1, 0].map(|octets| vec![octets as u8; octets]).into();
    for octets in &said {
        let mut message = talk.sides[0].layer.draft(NAME, LENGTH).expect("it knows how its packets lie");
        message.pieces_mut().for_each(|piece| piece.fill(octets.len() as u8));
        message.truncate(octets.len());
        talk.sides[0].send(&talk.cx, message);
    }
    assert!(talk.sides[0].layer.draft(NAME, 1000).is_none(), "one packet");
    assert!(talk.sides[0].layer.draft(NAME, 60_000).is_some());
    assert!(talk.sides[0].layer.draft(NAME, 70_000).is_none(), "several runs");
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Receive { association: NAME, room: MUCH });
    for _ in 0..100 {
        talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
        talk.speak(0);
        talk.speak(1);
    }
    let came = &talk.sides[1].said.came;
    assert!(*came == said, "{:?}", came.iter().map(Vec::len).collect::<Vec<_>>());
}

/// How many packets of a message leave at once after a second in which nothing did, where all of it did before.
fn packets_after_a_rest(in_place: bool) -> usize {
    let mut talk = Talk::new(true, None);
    let say = |talk: &mut Talk| {
        if in_place {
            talk.sides[0].say_in_place(&talk.cx, 7, LENGTH);
        } else {
            talk.sides[0].say(&talk.cx, &[7; LENGTH]);
        }
        let before = talk.packets[0].len();
        talk.speak(0);
        talk.packets[0].len() - before
    };
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Receive { association: NAME, room: MUCH });
    let mut left = 0;
    for _ in 0..100 {
        left = say(&mut talk);
        for _ in 0..10 {
            talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
            talk.speak(1);
            talk.speak(0);
        }
    }
    assert!(left > 3, "the window takes a message");
    talk.cx.set_now(talk.cx.now() + Duration::from_secs(1));
    say(&mut talk)
}

#[test]
fn what_leaves_in_place_after_a_rest_is_no_more_than_what_is_copied() {
    assert_eq!([false, true].map(packets_after_a_rest), [3, 3]);
}

#[test]
fn what_comes_with_the_answer_is_heard_after_it() {
    let mut talk = Talk::new(true, None);
    talk.speak(0);
    talk.sides[1].say(&talk.cx, b"at once");
    let Side { layer, said } = &mut talk.sides[1];
    layer.handle_timeout(&talk.cx, said);
    let sends = said.down.drain(..).filter_map(|asked| match asked {
        DatagramsRequest::Send { message, .. } => Some(octets(&message)),
        _ => None,
    });
    let packets: Vec<_> = sends.collect();
    assert!(packets.len() == 2 && packets[1].len() <= packets[0].len(), "the answer, and what is said");
    let association = talk.sides[0].said.below.expect("it is open");
    let run = Run::new(M::with_headroom(0, &packets.concat()), packets[0].len());
    talk.sides[0].tell(&talk.cx, DatagramsIndication::DeliveredRun { association, run });
    assert_eq!(talk.sides[0].said.came, [b"at once"]);
}
