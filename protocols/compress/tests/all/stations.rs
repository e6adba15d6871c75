use std::mem;

use stackwright_compress::{Compress, PID, RuleSet};
use stackwright_contract::ax25::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered,
};
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_contract::{Context, Duration, Outlet, Protocol};
use stackwright_wire::{BufferTree, Message as _};

use crate::{DATA, call, packet};

type M = BufferTree;

const NAMES: [&str; 2] = ["N0AAA", "N0BBB"];
const TNC: Credit = Credit { octets: 1 << 14, messages: 64 };

#[derive(Default)]
struct Said {
    /// Frames to the TNC, and to the layer above.
    down: Vec<Vec<u8>>,
    up: Vec<Vec<u8>>,
    /// Credit for both.
    given_up: Credit,
    given_down: Credit,
}

impl Outlet<Compress<M>> for Said {
    fn indicate(&mut self, indication: FramesIndication<M>) {
        match indication {
            FramesIndication::Delivered { batch, .. } => self.up.push(octets(batch.as_octets())),
            FramesIndication::Credit { credit, .. } => self.given_up += credit,
            _ => {}
        }
    }

    fn request(&mut self, request: FramesRequest<M>) {
        match request {
            FramesRequest::Send { batch, .. } => self.down.push(octets(batch.as_octets())),
            FramesRequest::Credit { credit } => self.given_down += credit,
        }
    }
}

fn octets(message: &M) -> Vec<u8> {
    let mut octets = Vec::new();
    message.append_to(&mut octets);
    octets
}

/// Two stations that hear each other.
struct Rig {
    cx: Context,
    stations: [(Compress<M>, Said); 2],
}

impl Rig {
    fn new() -> Self {
        let cx = Context::new(1);
        let stations = [0, 1].map(|nth| station(&cx, nth, RuleSet::built_in()));
        Rig { cx, stations }
    }

    /// Has a station send a packet. Returns its frames.
    fn sends(&mut self, nth: usize) -> Vec<Vec<u8>> {
        let frames = self.sends_frame(nth, &data(nth));
        let (station, said) = &mut self.stations[nth];
        // The TNC has sent them, and gives their credit back.
        for frame in &frames {
            let credit = Credit { octets: frame.len(), messages: 1 };
            let word = FramesIndication::Credit { port: 0, credit };
            station.handle_indication(&self.cx, word, said);
        }
        frames
    }

    fn sends_frame(&mut self, nth: usize, frame: &[u8]) -> Vec<Vec<u8>> {
        let (station, said) = &mut self.stations[nth];
        let batch = M::with_headroom(0, frame).into();
        station.handle_request(&self.cx, FramesRequest::Send { port: 0, batch, mark: None }, said);
        mem::take(&mut said.down)
    }

    /// Has a station hear frames. Returns what it delivers.
    fn hears(&mut self, nth: usize, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (station, said) = &mut self.stations[nth];
        for frame in frames {
            let batch = M::with_headroom(0, frame).into();
            let word = FramesIndication::Delivered { port: 0, batch };
            station.handle_indication(&self.cx, word, said);
        }
        mem::take(&mut said.up)
    }

    /// Has a station send a packet, which arrives as it was. Returns whether it was short.
    fn crosses(&mut self, from: usize) -> bool {
        let frames = self.sends(from);
        assert_eq!(self.hears(1 - from, &frames), [data(from)]);
        pid(&frames[0]) == PID
    }
}

fn station(cx: &Context, nth: usize, rules: RuleSet) -> (Compress<M>, Said) {
    let (mut station, mut said) = (Compress::new(call(NAMES[nth]), rules), Said::default());
    station.handle_indication(cx, FramesIndication::State { port: 0, up: true }, &mut said);
    let credit = FramesIndication::Credit { port: 0, credit: TNC };
    station.handle_indication(cx, credit, &mut said);
    station.handle_request(cx, FramesRequest::Credit { credit: TNC }, &mut said);
    (station, said)
}

fn frame([source, destination]: [&str; 2], pid: u8, information: &[u8]) -> Vec<u8> {
    let (source, destination) = (call(source), call(destination));
    let path = DigipeaterPath::DIRECT;
    let addresses = Addresses { source, destination, role: Role::Command, path };
    let control = ControlField::unnumbered(Unnumbered::Ui, false);
    let head = Head::new(&addresses, control, Modulus::Eight, Some(pid));
    [head.as_octets(), information].concat()
}

/// Returns a frame with a packet of XSTP to the other station.
fn data(from: usize) -> Vec<u8> {
    let [source, destination] = [NAMES[from], NAMES[1 - from]];
    let payload = [&DATA[..], b"some data"].concat();
    let packet = packet(253, call(source).host(), call(destination).host(), &payload);
    frame([source, destination], 0xcc, &packet)
}

fn pid(frame: &[u8]) -> u8 {
    frame[15]
}

#[test]
fn both_are_short_after_one_beacon() {
    let mut rig = Rig::new();
    let first = rig.sends(0);
    assert_eq!([pid(&first[0]), pid(&first[1])], [0xcc, PID], "a packet, and a beacon behind it");
    assert_eq!(first[1].len(), 16 + 5);
    assert_eq!(rig.hears(1, &first), [data(0)], "the beacon is not delivered");
    assert!(rig.crosses(1), "it knows by the beacon");
    assert!(rig.crosses(0), "it knows by what has arrived");
    let short = rig.sends(0);
    assert_eq!((short.len(), data(0).len() - short[0].len()), (1, 24));
}

/// They left before their station heard that it is believed.
#[test]
fn plain_packets_of_a_burst_contradict_nothing() {
    let mut rig = Rig::new();
    let burst: Vec<_> = (0..20).flat_map(|_| rig.sends(0)).collect();
    assert_eq!(rig.hears(1, &burst).len(), 20);
    let answers: Vec<_> = (0..20).flat_map(|_| rig.sends(1)).collect();
    assert!(answers.iter().all(|frame| pid(frame) == PID));
    assert_eq!(rig.hears(0, &answers), vec![data(1); 20]);
    assert!(rig.crosses(0) && rig.crosses(1));
}

#[test]
fn a_plain_station_gets_what_is_plain_and_few_beacons() {
    let mut rig = Rig::new();
    let mut beacons = 0;
    for _ in 0..100 {
        let frames = rig.sends(0);
        assert_eq!(frames[0], data(0));
        beacons += frames.len() - 1;
        assert_eq!(rig.hears(0, &[data(1)]), [data(1)]);
    }
    assert!((1..=7).contains(&beacons), "{beacons} beacons");
}

#[test]
fn a_lost_frame_harms_no_other() {
    let mut rig = Rig::new();
    let _lost = rig.sends(0);
    assert!(!rig.crosses(1), "it has not heard the beacon");
    assert!(rig.crosses(0));
    let _lost = rig.sends(1);
    assert!(rig.crosses(1) && rig.crosses(0));
}

#[test]
fn a_restart_is_overcome() {
    let mut rig = Rig::new();
    rig.crosses(0);
    assert!(rig.crosses(1) && rig.crosses(0));
    // With the same rules: what arrives is understood at once.
    rig.stations[1] = station(&rig.cx, 1, RuleSet::built_in());
    assert!(rig.crosses(0) && rig.crosses(1));
    // With others: what was short is lost until it speaks.
    let other = "rule 0 other 8=45 8=sent 16=length 32=sent 32=sent 32=source 32=destination";
    rig.stations[1] = station(&rig.cx, 1, other.parse().expect("rules"));
    assert!(!rig.crosses(1), "a plain packet, and another beacon");
    assert!(!rig.crosses(0) && !rig.crosses(1));
}

#[test]
fn what_is_plain_contradicts() {
    let mut rig = Rig::new();
    rig.crosses(0);
    assert!(rig.crosses(1) && rig.crosses(0));
    // It was started without compression.
    assert_eq!(rig.hears(0, &[data(1)]), [data(1)]);
    assert_eq!(rig.sends(0)[0], data(0));
}

#[test]
fn a_station_that_was_silent_is_not_believed() {
    let mut rig = Rig::new();
    rig.crosses(0);
    assert!(rig.crosses(1) && rig.crosses(0));
    rig.cx.set_now(rig.cx.now() + Duration::from_secs(15 * 60));
    assert!(!rig.crosses(0));
    assert!(rig.crosses(1) && rig.crosses(0));
}

#[test]
fn frames_of_others_pass_untouched() {
    let mut rig = Rig::new();
    rig.crosses(0);
    assert!(rig.crosses(1));
    let information = &data(0)[16..];
    for other in [
        frame(["N0CCC", "N0BBB"], 0xcc, information),
        frame(["N0AAA", "N0BBB"], 0xf0, b"text"),
        frame(["N0AAA", "QST"], 0xcd, information),
    ] {
        assert_eq!(rig.sends_frame(0, &other), [other]);
    }
    let short = rig.sends(0);
    rig.stations[1] = station(&rig.cx, 0, RuleSet::built_in());
    assert_eq!(rig.hears(1, &short), short, "it is for another station");
}

#[test]
fn credit_is_what_was_used() {
    let mut rig = Rig::new();
    rig.crosses(0);
    assert!(rig.crosses(1));
    let given = rig.stations[0].1.given_up;
    let short = rig.sends_frame(0, &data(0));
    let saved = data(0).len() - short[0].len();
    assert_eq!(rig.stations[0].1.given_up.octets - given.octets, saved);
    // The layer above gives back what it was delivered, and the TNC gets what it has used.
    rig.hears(1, &short);
    let (station, said) = &mut rig.stations[1];
    said.given_down = Credit::NONE;
    let credit = Credit { octets: data(0).len(), messages: 1 };
    station.handle_request(&rig.cx, FramesRequest::Credit { credit }, said);
    assert_eq!(said.given_down, Credit { octets: short[0].len(), messages: 1 });
}

#[test]
fn random_frames_do_no_harm() {
    let (mut rig, mut random) = (Rig::new(), fastrand::Rng::with_seed(3));
    for _ in 0..10_000 {
        let information: Vec<u8> = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
        rig.hears(1, &[frame(NAMES, PID, &information)]);
        rig.hears(1, &[information]);
        // The layer above takes all that arrives.
        let (station, said) = &mut rig.stations[1];
        station.handle_request(&rig.cx, FramesRequest::Credit { credit: TNC }, said);
    }
    assert!(!rig.crosses(0), "it is still there");
}
