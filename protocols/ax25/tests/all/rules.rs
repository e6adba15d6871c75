//! The rules of the air, on a clock of the test.

use stackwright_ax25::header::{Addresses, DigipeaterPath, Role};
use stackwright_ax25::{AirRules, AirRulesConfig, Beacon};
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use std::sync::{Arc, Mutex};

use stackwright_contract::{CallSign, Context, Duration, Instant, Listener, Outlet, Protocol};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;

const MINUTE: Duration = Duration::from_secs(60);
const TNC: Credit = Credit { octets: 4096, messages: 16 };

#[derive(Default)]
struct Said {
    up: Vec<FramesIndication<M>>,
    sent: Vec<(u8, Vec<u8>, Option<u16>)>,
    /// Credit upward.
    given: Credit,
}

impl Outlet<AirRules<M>> for Said {
    fn indicate(&mut self, indication: FramesIndication<M>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: FramesRequest<M>) {
        match request {
            FramesRequest::Send { port, batch, mark } => {
                let mut octets = vec![0; batch.octets()];
                batch.as_octets().copy_to(&mut octets);
                self.sent.push((port, octets, mark));
            }
            FramesRequest::Credit { credit } => self.given += credit,
        }
    }
}

struct Rig {
    cx: Context,
    rules: AirRules<M>,
    said: Said,
}

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

fn frame(source: &str, control: &[u8]) -> Vec<u8> {
    let (destination, source) = (call("N0BBB"), call(source));
    addressed(
        &Addresses { destination, source, role: Role::Command, path: DigipeaterPath::DIRECT },
        control,
    )
}

fn addressed(addresses: &Addresses, control: &[u8]) -> Vec<u8> {
    let mut octets = [0; 70];
    let length = addresses.encode(&mut octets);
    [&octets[..length], control].concat()
}

const UI: &[u8] = b"\x03\xf0text";
const DISC: &[u8] = b"\x53";

impl Rig {
    fn new(change: impl FnOnce(&mut AirRulesConfig)) -> Self {
        let mut config = AirRulesConfig::of(call("N0AAA"));
        config.calls.push(call("N0AAA-7"));
        change(&mut config);
        let mut rig =
            Rig { cx: Context::new(1), rules: AirRules::new(config), said: Said::default() };
        rig.tnc(FramesIndication::State { port: 0, up: true });
        rig.tnc(FramesIndication::Credit { port: 0, credit: TNC });
        rig
    }

    fn tnc(&mut self, word: FramesIndication<M>) {
        self.rules.handle_indication(&self.cx, word, &mut self.said);
    }

    fn send(&mut self, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        let send = FramesRequest::Send { port: 0, batch, mark: Some(7) };
        self.rules.handle_request(&self.cx, send, &mut self.said);
    }

    /// Lets time pass, and returns what was sent meanwhile, and when.
    fn pass(&mut self, time: Duration) -> Vec<(Instant, Vec<u8>)> {
        let until = self.cx.now() + time;
        let mut sent = Vec::new();
        let mut take = |rig: &mut Self| {
            let now = rig.cx.now();
            for (port, frame, _) in std::mem::take(&mut rig.said.sent) {
                let credit = Credit { octets: frame.len(), messages: 1 };
                rig.tnc(FramesIndication::Credit { port, credit });
                sent.push((now, frame));
            }
        };
        take(self);
        while let Some(next) = self.rules.next_deadline().filter(|next| *next <= until) {
            self.cx.set_now(next);
            self.rules.handle_timeout(&self.cx, &mut self.said);
            take(self);
        }
        self.cx.set_now(until);
        sent
    }
}

fn is_identification(frame: &[u8]) -> bool {
    let (addresses, at) = Addresses::decode(frame).expect("addresses");
    addresses.destination == call("ID")
        && addresses.source == call("N0AAA")
        && &frame[at..] == b"\x03\xf0Stackwright station"
}

/// A station that transmits all the time says whose it is every ten minutes, and one that is silent
/// says nothing.
#[test]
fn a_station_identifies_every_ten_minutes_of_air_use() {
    let mut rig = Rig::new(|_| {});
    assert!(rig.pass(60 * MINUTE).is_empty(), "nothing was transmitted");
    let (begin, mut last, mut identified) = (rig.cx.now(), None, 0);
    for _ in 0..120 {
        rig.send(&frame("N0AAA", UI));
        for (at, frame) in rig.pass(MINUTE / 2) {
            if is_identification(&frame) {
                assert!(at.since(last.unwrap_or(begin)) <= 10 * MINUTE + MINUTE / 2);
                (last, identified) = (Some(at), identified + 1);
            }
        }
    }
    assert_eq!(identified, 6, "in an hour");
    assert!(rig.pass(600 * MINUTE).is_empty());
}

#[test]
fn a_station_identifies_when_a_link_has_ended() {
    for it_ends in [true, false] {
        let mut rig = Rig::new(|_| {});
        rig.send(&frame("N0AAA-7", UI));
        assert_eq!(rig.pass(MINUTE).len(), 1);
        if it_ends {
            rig.send(&frame("N0AAA-7", DISC));
        } else {
            let (destination, source) = (call("N0AAA-7"), call("N0BBB"));
            let path = DigipeaterPath::DIRECT;
            let disc =
                addressed(&Addresses { destination, source, role: Role::Command, path }, DISC);
            let batch = M::with_headroom(0, &disc).into();
            rig.tnc(FramesIndication::Delivered { port: 0, batch });
            rig.send(&frame("N0AAA-7", b"\x73")); // UA
        }
        let sent = rig.pass(10 * Duration::from_secs(1));
        let [_, (_, last)] = &sent[..] else { panic!("{sent:?}") };
        assert!(is_identification(last));
        assert!(rig.pass(60 * MINUTE).is_empty(), "once");
    }
}

/// It is told to the layer above as sent, so that nothing waits for it.
#[test]
fn what_is_not_the_stations_own_does_not_leave() {
    let path = DigipeaterPath::through(&[call("N0AAA-7")]).expect("it is short");
    let others =
        Addresses { destination: call("N0BBB"), source: call("N0CCC"), role: Role::Command, path };
    let mut repeated = others;
    repeated.path.repeat();
    for (frame, leaves) in [
        (frame("N0AAA", UI), true),
        (frame("N0AAA-7", UI), true),
        (frame("N0AAA-1", UI), false),
        (frame("N0CCC", UI), false),
        (addressed(&others, UI), false),
        (addressed(&repeated, UI), true),
        (b"no addresses".to_vec(), false),
    ] {
        let mut rig = Rig::new(|_| {});
        rig.said.up.clear();
        rig.send(&frame);
        assert_eq!(rig.said.sent.len(), usize::from(leaves), "{frame:?}");
        if !leaves {
            let [
                FramesIndication::Credit { port: 0, credit },
                FramesIndication::Left { mark: 7, .. },
            ] = rig.said.up[..]
            else {
                panic!("{:?}", rig.said.up)
            };
            assert_eq!(credit, Credit { octets: frame.len(), messages: 1 });
        }
    }
}

#[test]
fn a_station_that_only_receives_sends_nothing() {
    let mut rig = Rig::new(|config| config.transmit = false);
    rig.send(&frame("N0AAA", UI));
    rig.send(&frame("N0AAA", DISC));
    assert!(rig.pass(60 * MINUTE).is_empty());
    assert_eq!(rig.rules.transmitted().frames, 0);
    let batch = M::with_headroom(0, &frame("N0CCC", UI)).into();
    rig.said.up.clear();
    rig.tnc(FramesIndication::Delivered { port: 0, batch });
    assert!(matches!(rig.said.up[..], [FramesIndication::Delivered { .. }]));
}

#[test]
fn a_station_transmits_no_more_than_its_share() {
    let mut rig = Rig::new(|config| {
        config.duty = Some(10);
        config.identification = None;
    });
    let long = frame("N0AAA", &[b"\x03\xf0", &[7; 200][..]].concat());
    let mut credit = TNC.messages;
    // As much as is taken, for an hour.
    for _ in 0..3600 {
        while credit > 0 {
            rig.send(&long);
            credit -= 1;
        }
        credit += rig.pass(Duration::from_secs(1)).len();
    }
    let air = rig.rules.transmitted().air.as_secs_f64();
    // Ten percent of the hour, and what had accrued before.
    assert!((419.0..=423.0).contains(&air), "{air} s");
}

/// Notes what is told.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Listener for Notes {
    fn dropped(&mut self, _now: Instant, _protocol: &'static str, _reason: &'static str) {}

    fn event(&mut self, _: Instant, _: &'static str, what: std::fmt::Arguments<'_>) {
        self.0.lock().expect("one thread").push(what.to_string());
    }
}

impl Notes {
    fn about(&self, text: &str) -> usize {
        let notes = self.0.lock().expect("one thread");
        notes.iter().filter(|note| note.contains(text)).count()
    }
}

/// At no moment more than the share of the time until then, and of the ten minutes that had accrued
/// at the start: whatever the frames, the rate and the identification.
#[test]
fn no_frame_overdraws_the_share_of_the_time() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (duty, rate) = (random.u8(1..50), [1200, 9600][random.usize(..2)]);
        let identifies = random.bool();
        let mut rig = Rig::new(|config| {
            (config.duty, config.rate) = (Some(duty), rate);
            if !identifies {
                config.identification = None;
            }
        });
        let begin = rig.cx.now();
        let mut credit = 1; // with a duty, one at a time
        for _ in 0..1800 {
            for _ in 0..credit {
                let octets = vec![7; random.usize(..200)];
                rig.send(&frame("N0AAA", &[b"\x03\xf0", &octets[..]].concat()));
            }
            let sent = rig.pass(Duration::from_secs(random.u64(1..4)));
            credit = sent.iter().filter(|(_, frame)| !is_identification(frame)).count();
            let passed = rig.cx.now().since(begin).as_secs_f64() + 600.0;
            let air = rig.rules.transmitted().air.as_secs_f64();
            assert!(air <= passed * f64::from(duty) / 100.0 + 1e-6, "seed {seed}: {air} s");
        }
        assert!(rig.rules.transmitted().frames > 20, "seed {seed}");
    }
}

/// One line, not one for each frame; a frame that never fits is refused, and told to have left.
#[test]
fn it_is_told_that_frames_wait_and_which_never_leave() {
    let notes = Notes::default();
    let mut rig = Rig::new(|config| (config.duty, config.identification) = (Some(1), None));
    rig.cx.listen(Box::new(notes.clone()));
    let long = frame("N0AAA", &[b"\x03\xf0", &[7; 200][..]].concat());
    let mut sent = 0;
    for _ in 0..30 {
        rig.send(&long);
        sent += rig.pass(10 * MINUTE).len();
    }
    assert_eq!((sent, notes.about("frames wait")), (30, 0), "six seconds in ten minutes");
    for nth in 0..6 {
        rig.send(&long);
        let at_once = rig.pass(Duration::from_secs(1)).len();
        assert_eq!(at_once, usize::from(nth < 4), "1.5 s each");
        if nth >= 4 {
            assert_eq!(rig.pass(3 * MINUTE).len(), 1);
        }
    }
    assert_eq!(notes.about("frames wait: 1 % of the time are used"), 1);
    let endless = frame("N0AAA", &[b"\x03\xf0", &[7; 1000][..]].concat());
    rig.said.up.clear();
    rig.send(&endless);
    let [FramesIndication::Credit { .. }, FramesIndication::Left { mark: 7, .. }] = rig.said.up[..]
    else {
        panic!("{:?}", rig.said.up)
    };
    assert!(rig.pass(60 * MINUTE).is_empty());
    assert_eq!(notes.about("more than 1 % of ten minutes"), 1);
}

/// Whose frame it is, and why it does not leave; and for those who want it, each that does.
#[test]
fn it_is_told_what_leaves_and_what_does_not() {
    let notes = Notes::default();
    let mut rig = Rig::new(|_| {});
    rig.cx.listen(Box::new(notes.clone()));
    rig.send(&frame("N0CCC", UI));
    assert_eq!(notes.about("not transmitted: "), 1);
    assert_eq!(notes.about("no call sign of this station: N0CCC to N0BBB"), 1);
    rig.send(&frame("N0AAA-7", UI));
    rig.send(&frame("N0AAA", DISC));
    assert_eq!(notes.about("N0AAA-7 to N0BBB: UI, 20 octets"), 1);
    assert_eq!(notes.about("N0AAA to N0BBB: DISC, 15 octets"), 1);
    rig.pass(MINUTE);
    assert_eq!(notes.about("N0AAA to ID: UI"), 1);
}

/// An identification is shown above as what it is, a frame of the station, within the credit; that
/// credit does not go further down when it comes back.
#[test]
fn an_identification_is_shown_above() {
    for given in [0, 1, 3] {
        let mut rig = Rig::new(|_| {});
        let credit = Credit { octets: 1000 * given, messages: given };
        if given > 0 {
            rig.rules.handle_request(&rig.cx, FramesRequest::Credit { credit }, &mut rig.said);
        }
        let mut below = std::mem::take(&mut rig.said.given);
        assert_eq!(below, credit);
        rig.said.up.clear();
        rig.send(&frame("N0AAA", DISC));
        rig.pass(MINUTE);
        let shown: Vec<_> = rig
            .said
            .up
            .iter()
            .filter_map(|word| match word {
                FramesIndication::Delivered { batch, .. } => Some(batch.cost()),
                _ => None,
            })
            .collect();
        assert_eq!(shown.len(), given.min(1));
        for credit in shown {
            rig.rules.handle_request(&rig.cx, FramesRequest::Credit { credit }, &mut rig.said);
            below += std::mem::take(&mut rig.said.given);
        }
        assert_eq!(below, credit, "the TNC may deliver no more than before");
    }
}

/// The layer above has credit for a frame when the one before it has left.
#[test]
fn with_a_duty_one_frame_waits_at_a_time() {
    let mut rig = Rig::new(|config| (config.duty, config.identification) = (Some(1), None));
    let messages = |rig: &mut Rig| -> usize {
        let given = |word: &FramesIndication<M>| match word {
            FramesIndication::Credit { credit, .. } => credit.messages,
            _ => 0,
        };
        std::mem::take(&mut rig.said.up).iter().map(given).sum()
    };
    assert_eq!(messages(&mut rig), 1);
    let long = frame("N0AAA", &[b"\x03\xf0", &[7; 200][..]].concat());
    for nth in 0..6 {
        rig.send(&long);
        assert_eq!(messages(&mut rig), usize::from(nth < 4), "the fifth leaves later");
        if nth >= 4 {
            rig.pass(3 * MINUTE);
            assert_eq!(messages(&mut rig), 1);
        }
    }
    // A frame that is refused gives its credit back.
    rig.send(&frame("N0CCC", UI));
    assert_eq!(messages(&mut rig), 1);
}

/// The TNC has taken all it can: the identification has room all the same.
#[test]
fn an_identification_has_room_of_its_own() {
    let mut rig = Rig::new(|_| {});
    let given: usize = rig
        .said
        .up
        .iter()
        .map(|word| match word {
            FramesIndication::Credit { credit, .. } => credit.octets,
            _ => 0,
        })
        .sum();
    assert_eq!(given, TNC.octets - (16 + b"Stackwright station".len()));
    rig.send(&frame("N0AAA", &[b"\x03\xf0", &vec![7; given - 16][..]].concat()));
    rig.said.sent.clear(); // and it gives nothing back
    rig.cx.set_now(Instant::START + 10 * MINUTE);
    rig.rules.handle_timeout(&rig.cx, &mut rig.said);
    assert!(is_identification(&rig.said.sent[0].1));
    assert_eq!(rig.rules.next_deadline(), None);
}

/// A TNC that comes back begins with its own credit.
#[test]
fn a_tnc_that_returns_gives_its_credit_anew() {
    let mut rig = Rig::new(|config| config.duty = Some(1));
    for _ in 0..12 {
        rig.send(&frame("N0AAA", &[b"\x03\xf0", &[7; 200][..]].concat()));
    }
    rig.tnc(FramesIndication::State { port: 0, up: false });
    assert_eq!(rig.rules.next_deadline(), None);
    rig.said.sent.clear();
    rig.tnc(FramesIndication::State { port: 0, up: true });
    rig.tnc(FramesIndication::Credit { port: 0, credit: TNC });
    rig.cx.set_now(Instant::START + 60 * MINUTE);
    rig.rules.handle_timeout(&rig.cx, &mut rig.said);
    assert_eq!(rig.said.sent.len(), 1, "what waited is void, the identification is not");
    assert!(is_identification(&rig.said.sent[0].1));
}

/// A beacon leaves at its times while the TNC is there, and what was late is left out; the station
/// identifies all the same.
#[test]
fn a_beacon_leaves_regularly() {
    let via = DigipeaterPath::through(&[call("WIDE2-1")]).expect("one");
    let (every, text) = (20 * MINUTE, vec![b'x'; 256]);
    let beacon = Beacon { port: 0, every, to: call("BEACON"), via, text };
    let other = Beacon { port: 1, ..beacon.clone() };
    for (transmit, duty) in [(true, None), (true, Some(1)), (false, None)] {
        let beacons = vec![beacon.clone(), other.clone()];
        let mut rig = Rig::new(|config| {
            *config = AirRulesConfig { beacons, transmit, duty, ..config.clone() };
        });
        let is_beacon = |frame: &[u8]| {
            let (addresses, at) = Addresses::decode(frame).expect("addresses");
            let ends = (addresses.source, addresses.destination, addresses.path);
            ends == (call("N0AAA"), call("BEACON"), via) && frame[at..].ends_with(&beacon.text)
        };
        let sent = rig.pass(60 * MINUTE);
        let (beacons, others): (Vec<_>, Vec<_>) =
            sent.iter().partition(|(_, frame)| is_beacon(frame));
        if !transmit {
            assert!(sent.is_empty());
            continue;
        }
        let [(first, _), (second, _), (third, _)] = beacons[..] else { panic!("{beacons:?}") };
        assert!(first.since(Instant::START) <= MINUTE, "within a minute");
        assert_eq!([second.since(*first), third.since(*second)], [every; 2]);
        assert!(others.len() == 3 && others.iter().all(|(_, frame)| is_identification(frame)));
        // Without a TNC there is none, and one when it is back.
        rig.tnc(FramesIndication::State { port: 0, up: false });
        assert!(rig.pass(60 * MINUTE).is_empty());
        rig.tnc(FramesIndication::State { port: 0, up: true });
        rig.tnc(FramesIndication::Credit { port: 0, credit: TNC });
        let sent = rig.pass(MINUTE);
        assert_eq!(sent.iter().filter(|(_, frame)| is_beacon(frame)).count(), 1, "{duty:?}");
    }
}
