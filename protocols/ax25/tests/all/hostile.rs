//! Frames that nobody should send: whatever a station hears, it answers within its bounds, and the
//! link that it has goes on or its end is told.

use stackwright_ax25::header::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered, pid,
};
use stackwright_ax25::{Ax25, Config, Digipeating, LinkState, LinkVersion};
use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Outlet, Protocol as _,
    RequestOf,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Ax25<M>;

const LARGE: Credit = Credit { octets: 1 << 16, messages: 256 };
const STREAM: Handle = Handle { index: 0, generation: 0 };

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

#[derive(Default)]
struct Said {
    delivered: usize,
    ended: bool,
    frames: Vec<Vec<u8>>,
    given: Credit,
}

impl Outlet<Stack> for Said {
    fn indicate(&mut self, word: IndicationOf<Stack>) {
        match word {
            Either::Left(StreamsIndication::Delivered { batch, .. }) => {
                self.delivered += batch.octets();
            }
            Either::Left(StreamsIndication::Ended { .. }) => self.ended = true,
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        match request {
            FramesRequest::Send { batch, .. } => {
                let mut octets = vec![0; batch.octets()];
                batch.as_octets().copy_to(&mut octets);
                self.frames.push(octets);
            }
            FramesRequest::Credit { credit } => self.given += credit,
        }
    }
}

struct Scene {
    stack: Stack,
    cx: Context,
    said: Said,
    heard: usize,
}

impl Scene {
    fn new(own: &str, digipeat: Digipeating, version: LinkVersion) -> Self {
        let config = Config { digipeat, version, ..Config::new(call(own)) };
        let (cx, said) = (Context::new(1), Said::default());
        let mut scene = Scene { stack: Stack::new(config), cx, said, heard: 0 };
        scene.indicate(FramesIndication::State { port: 0, up: true });
        scene.indicate(FramesIndication::Credit { port: 0, credit: LARGE });
        scene.said.given = Credit::NONE;
        scene
    }

    /// A station with a link to N0BBB.
    fn linked(modulus: Modulus) -> Self {
        let version = match modulus {
            Modulus::Eight => LinkVersion::V20,
            Modulus::Extended => LinkVersion::V22,
        };
        let mut scene = Self::new("N0AAA", Digipeating::Off, version);
        let remote = Address::Station { call: call("N0BBB"), pid: pid::NONE, route: 0 }.into();
        let (association, local, credit) = (STREAM, None, LARGE);
        let open = StreamsRequest::Open { association, remote, local, credit };
        scene.stack.handle_request(&scene.cx, Either::Left(open), &mut scene.said);
        scene.settle();
        scene.hear(&[&head(Role::Response)[..], &[Unnumbered::Ua as u8 | 0x10]].concat());
        assert_eq!(scene.states(), [LinkState::Connected]);
        scene.said = Said::default();
        scene.heard = 0;
        scene
    }

    fn indicate(&mut self, word: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.said);
        self.settle();
    }

    fn settle(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.said);
        }
    }

    fn hear(&mut self, frame: &[u8]) {
        self.heard += 1;
        let batch = M::with_headroom(0, frame).into();
        self.indicate(FramesIndication::Delivered { port: 0, batch });
        assert_eq!(self.said.given.messages, self.heard, "the credit of each frame comes back");
        let octets = self.said.frames.iter().map(Vec::len).sum();
        let credit = Credit { octets, messages: self.said.frames.len() };
        // The TNC has sent all of them.
        if credit.messages > 100 {
            self.said.frames.clear();
            self.indicate(FramesIndication::Credit { port: 0, credit });
        }
    }

    fn states(&self) -> Vec<LinkState> {
        self.stack.links().map(|link| link.state).collect()
    }

    /// A link is there, or its end was told.
    fn is_told(&self) -> bool {
        self.said.ended || self.states().iter().all(|state| *state != LinkState::Disconnected)
    }
}

/// The addresses of a frame of N0BBB to N0AAA.
fn head(role: Role) -> Vec<u8> {
    let (destination, source, path) = (call("N0AAA"), call("N0BBB"), DigipeaterPath::DIRECT);
    let mut octets = [0; 14];
    Addresses { destination, source, role, path }.encode(&mut octets);
    octets.to_vec()
}

#[test]
fn frames_of_every_length_from_0_to_1100() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut filler = |length: usize| (0..length).map(|_| random.u8(..)).collect::<Vec<u8>>();
    let controls: [&[u8]; 6] =
        [&[0x00, 0xf0], &[0x10, 0xf0], &[0x03, 0xf0], &[0xaf], &[0xe3], &[0x87]];
    for modulus in [Modulus::Eight, Modulus::Extended] {
        for length in 0..=1100 {
            let mut scene = Scene::linked(modulus);
            scene.hear(&filler(length));
            scene.hear(&vec![0; length]);
            scene.hear(&vec![0xff; length]);
            // An address that never ends.
            scene.hear(&b"\x9c\x60\x82\x82\x82\x40\x60".repeat(158)[..length]);
            assert_eq!((scene.states(), scene.said.delivered), (vec![LinkState::Connected], 0));
            assert_eq!(scene.said.frames.len(), 0, "nobody asked anything");
            for control in controls {
                let mut frame = [&head(Role::Command)[..], control, &filler(length)].concat();
                frame.truncate(length);
                scene.hear(&frame);
                let held: usize = scene.stack.links().map(|link| link.held).sum();
                assert!(scene.is_told() && held <= 2 * 1100, "{frame:x?}");
            }
        }
    }
}

#[test]
fn bad_addresses() {
    let good = [&head(Role::Command)[..], &[0x3f]].concat(); // SABM that asks
    let with = |place: usize, octet: u8| {
        let mut frame = good.clone();
        frame[place] = octet;
        frame
    };
    let letters = (0..6).chain(7..13);
    // What is no letter and no digit, small letters, an unshifted octet; none at all.
    let characters =
        letters.flat_map(|place| [0, 0x5e, b'a' << 1, 0x83, 0xff].map(|it| (place, it)));
    let mut frames: Vec<_> = characters.map(|(place, octet)| with(place, octet)).collect();
    frames.push(with(0, b' ' << 1)); // a space before the first letter
    frames.push(with(8, b' ' << 1)); // and one within
    frames.push(with(6, good[6] | 1)); // nobody sent it
    frames.push(with(13, good[13] & !1)); // an address that is not there
    // Nine digipeaters; and ones that are malformed.
    let relay = b"\xa4\x8a\x98\x82\xb2\x40\xe0";
    let path = |relays: &[u8]| {
        let mut frame = [&good[..14], relays, &[0x3f]].concat();
        frame[13] &= !1;
        let last = frame.len() - 2;
        frame[last] |= 1;
        frame
    };
    frames.push(path(&relay.repeat(9)));
    frames.push(path(&[0; 7]));
    frames.push(path(&[&relay[..], &[0xff; 7]].concat()));
    for frame in &frames {
        let mut scene = Scene::new("N0AAA", Digipeating::Named, LinkVersion::Auto);
        scene.hear(frame);
        assert_eq!(scene.said.frames, [] as [Vec<u8>; 0], "{frame:x?}");
        let mut scene = Scene::linked(Modulus::Eight);
        scene.hear(frame);
        assert_eq!(scene.states(), [LinkState::Connected], "{frame:x?}");
        assert!(scene.said.frames.is_empty(), "{frame:x?}");
    }
    // The one that all were made of is answered: DM, as nobody listens.
    let mut scene = Scene::new("N0AAA", Digipeating::Named, LinkVersion::Auto);
    scene.hear(&good);
    assert_eq!(scene.said.frames.len(), 1);
}

/// Of the 32 U frames, nine are defined; S frames of a link modulo 128 have four reserved bits.
#[test]
fn control_fields_that_do_not_exist() {
    let defined = Unnumbered::ALL.map(|kind| kind as u8);
    for modulus in [Modulus::Eight, Modulus::Extended] {
        for first in 0..=0xff_u8 {
            let is_unnumbered = first & 3 == 3;
            let is_reserved = first & 3 == 1 && first & 0xf0 != 0 && modulus == Modulus::Extended;
            let is_unknown = is_unnumbered && !defined.contains(&(first & !0x10));
            if !is_reserved && !is_unknown {
                continue;
            }
            for role in [Role::Command, Role::Response, Role::Unsaid] {
                for rest in [&[][..], &[0x01], &[0x00, 0xf0, 1, 2, 3]] {
                    let frame = [&head(role)[..], &[first], rest].concat();
                    let mut scene = Scene::linked(modulus);
                    scene.hear(&frame);
                    assert_eq!(scene.states(), [LinkState::Connected], "{first:x}");
                    assert!(scene.said.frames.is_empty() && !scene.said.ended, "{first:x}");
                    let mut scene = Scene::new("N0AAA", Digipeating::Named, LinkVersion::Auto);
                    scene.hear(&frame);
                    // Where there is no link, an S frame that asks is one modulo 8.
                    assert!(is_reserved || scene.said.frames.is_empty(), "{first:x}");
                }
            }
        }
    }
}

/// A UI frame whose path names two digipeaters again and again, or one of them eight times: it is
/// repeated once by each, and a station repeats no frame of its own.
#[test]
fn digipeater_loops() {
    let control = ControlField::unnumbered(Unnumbered::Ui, false);
    for (path, times) in [
        (["N0DDD", "N0EEE"].repeat(4), [2, 0]),
        (vec!["N0DDD"; 8], [1, 0]),
        (vec!["N0EEE", "N0DDD"], [2, 1]),
    ] {
        for (source, times) in ["N0BBB", "N0DDD"].into_iter().zip(times) {
            let calls: Vec<_> = path.iter().map(|text| call(text)).collect();
            let path = DigipeaterPath::through(&calls).expect("eight at most");
            let (destination, source) = (call("CQ"), call(source));
            let role = Role::Command;
            let addresses = Addresses { destination, source, role, path };
            let frame = Head::new(&addresses, control, Modulus::Eight, Some(pid::NONE));
            let mut relays = ["N0DDD", "N0EEE"]
                .map(|own| Scene::new(own, Digipeating::Named, LinkVersion::Auto));
            let mut on_air = vec![frame.as_octets().to_vec()];
            let mut sent = 0;
            while let Some(frame) = on_air.pop() {
                for relay in &mut relays {
                    relay.said.frames.clear();
                    relay.hear(&frame);
                    on_air.extend(relay.said.frames.iter().cloned());
                    sent += relay.said.frames.len();
                }
                assert!(sent <= times, "{path:?} of {source}");
            }
            // Copies of it are repeated no more: that a path names one twice is a mistake.
            assert_eq!(sent, times, "{path:?} of {source}");
        }
    }
}

/// A flood of UI frames to WIDEn-N, each of them twice: as many are repeated as can be remembered,
/// and more when those are forgotten.
#[test]
fn a_flood_to_be_repeated() {
    let wide = Digipeating::Wide { most: 2 };
    let mut scene = Scene::new("N0DDD", wide, LinkVersion::Auto);
    let path = DigipeaterPath::through(&[call("WIDE2-2")]).expect("one");
    let [destination, source] = ["CQ", "N0BBB"].map(call);
    let addresses = Addresses { destination, source, role: Role::Command, path };
    let control = ControlField::unnumbered(Unnumbered::Ui, false);
    let head = Head::new(&addresses, control, Modulus::Eight, Some(pid::NONE));
    for seconds in [0, 30, 29] {
        scene.cx.set_now(scene.cx.now() + Duration::from_secs(seconds));
        let mut repeated = 0;
        for nth in 0..4000u32 {
            scene.hear(&[head.as_octets(), &(nth / 2).to_be_bytes()].concat());
            let octets = scene.said.frames.iter().map(Vec::len).sum();
            let credit = Credit { octets, messages: scene.said.frames.len() };
            for frame in scene.said.frames.drain(..) {
                let (Addresses { path, .. }, _) = Addresses::decode(&frame).expect("addresses");
                let calls: Vec<_> = path.iter().collect();
                assert_eq!(calls, [(call("N0DDD"), true), (call("WIDE2-1"), false)]);
                repeated += 1;
            }
            scene.indicate(FramesIndication::Credit { port: 0, credit });
        }
        assert_eq!(repeated, if seconds == 29 { 0 } else { 256 }, "after {seconds} s");
    }
}

/// A TNC goes in the middle of a transfer, and comes back: the link asks what has arrived.
#[test]
fn a_tnc_that_vanishes_and_returns() {
    let mut scene = Scene::linked(Modulus::Eight);
    for _ in 0..20 {
        let (association, properties) = (STREAM, Default::default());
        let batch = M::with_headroom(0, b"octets").into();
        let send = StreamsRequest::Send { association, batch, properties };
        scene.stack.handle_request(&scene.cx, Either::Left(send), &mut scene.said);
        scene.settle();
        scene.indicate(FramesIndication::State { port: 0, up: false });
        scene.said.frames.clear();
        scene.cx.set_now(scene.cx.now() + Duration::from_secs(3600));
        assert_eq!(scene.stack.next_deadline(), None, "without a TNC, nothing is late");
        scene.indicate(FramesIndication::State { port: 0, up: true });
        scene.indicate(FramesIndication::Credit { port: 0, credit: LARGE });
        let asks = [&head(Role::Command)[..0], &scene.said.frames[0][14..]].concat();
        assert_eq!((scene.said.frames.len(), asks), (1, vec![0x11]), "RR, P=1, and no data");
        assert!(!scene.said.ended);
    }
}
