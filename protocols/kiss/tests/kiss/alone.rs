//! The protocol alone: a test is both of its neighbours.

use std::num::NonZeroU32;

use stackwright_contract::ask::{FrameTime, Longest, NothingBelow, ask};
use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, OctetsIndication, OctetsRequest,
};
use stackwright_contract::{Context, Duration, Instant, Outlet, Protocol};
use stackwright_kiss::{ChannelAccess, Config, Kiss};
use stackwright_wire::{Message, SingleBuffer};

pub(crate) type M = SingleBuffer;

#[derive(Default)]
pub(crate) struct Said {
    up: Vec<FramesIndication<M>>,
    down: Vec<OctetsRequest<M>>,
}

impl Outlet<Kiss<M>> for Said {
    fn indicate(&mut self, indication: FramesIndication<M>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: OctetsRequest<M>) {
        self.down.push(request);
    }
}

pub(crate) struct Alone {
    pub(crate) cx: Context,
    pub(crate) kiss: Kiss<M>,
    said: Said,
    /// Octets that went down, and credit that the line was given.
    pub(crate) line: Vec<u8>,
    pub(crate) given: usize,
}

/// What went up, in words that can be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Up {
    Frame(u8, Vec<u8>),
    Left(u8, u16),
    State(u8, bool),
    Credit(u8, usize, usize),
}

pub(crate) const ROOM: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };

impl Alone {
    pub(crate) fn new(config: Config) -> Self {
        let kiss = Kiss::new(config);
        Alone { cx: Context::new(1), kiss, said: Said::default(), line: Vec::new(), given: 0 }
    }

    /// The line is up and takes all, and so does the layer above. Three ends were sent.
    pub(crate) fn up(config: Config) -> Self {
        let mut alone = Alone::new(config);
        alone.tell(OctetsIndication::State { up: true });
        alone.tell(OctetsIndication::Credit { credit: 1 << 20 });
        alone.ask(FramesRequest::Credit { credit: ROOM });
        alone.ups();
        alone.line.clear();
        alone
    }

    pub(crate) fn ask(&mut self, request: FramesRequest<M>) {
        self.kiss.handle_request(&self.cx, request, &mut self.said);
        self.settle();
    }

    pub(crate) fn send(&mut self, port: u8, frame: &[u8], mark: Option<u16>) {
        let batch = M::with_headroom(0, frame).into();
        self.ask(FramesRequest::Send { port, batch, mark });
    }

    pub(crate) fn tell(&mut self, indication: OctetsIndication<M>) {
        self.kiss.handle_indication(&self.cx, indication, &mut self.said);
        self.settle();
    }

    pub(crate) fn hear(&mut self, octets: &[u8]) {
        self.tell(OctetsIndication::Delivered { message: M::with_headroom(0, octets) });
    }

    /// Lets time pass, with every deadline in it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.cx.now() + time;
        while let Some(deadline) = self.kiss.next_deadline().filter(|deadline| *deadline <= end) {
            self.cx.set_now(deadline);
            self.kiss.handle_timeout(&self.cx, &mut self.said);
            self.settle();
        }
        self.cx.set_now(end);
    }

    pub(crate) fn settle(&mut self) {
        if self.kiss.wants_flush() {
            self.kiss.flush(&self.cx, &mut self.said);
        }
        for request in self.said.down.drain(..) {
            match request {
                OctetsRequest::Send { message } => self.line.extend_from_slice(message.octets()),
                OctetsRequest::Credit { credit } => {
                    assert!(credit > 0, "credit is never zero");
                    self.given += credit;
                }
            }
        }
    }

    /// Takes what went up.
    pub(crate) fn ups(&mut self) -> Vec<Up> {
        let up = self.said.up.drain(..).map(|word| match word {
            FramesIndication::Delivered { port, batch } => {
                Up::Frame(port, batch.into_single().octets().to_vec())
            }
            FramesIndication::Left { port, mark } => Up::Left(port, mark),
            FramesIndication::State { port, up } => Up::State(port, up),
            FramesIndication::Changed { .. } => unreachable!("it knows no limits"),
            FramesIndication::Credit { port, credit } => {
                Up::Credit(port, credit.octets, credit.messages)
            }
        });
        up.collect()
    }

    pub(crate) fn frames(&mut self) -> Vec<(u8, Vec<u8>)> {
        let frame = |up| if let Up::Frame(port, frame) = up { Some((port, frame)) } else { None };
        self.ups().into_iter().filter_map(frame).collect()
    }
}

pub(crate) fn at_rate(rate: u32) -> Config {
    Config { rate: NonZeroU32::new(rate).expect("it is not 0"), ..Config::default() }
}

#[test]
fn a_tnc_is_told_its_parameters_each_time_the_line_comes_up() {
    let ten = Duration::from_millis(10);
    let mut alone = Alone::new(Config {
        ports: 2,
        access: ChannelAccess {
            tx_delay: Some(ten * 0xC0),
            persistence: Some(63),
            slot_time: Some(ten),
            tx_tail: Some(Duration::from_millis(41)),
            full_duplex: Some(false),
        },
        ..Config::default()
    });
    assert!(!alone.kiss.wants_flush() && alone.kiss.next_deadline().is_none());
    let told = [
        b"\xC0\xC0\xC0".as_slice(),
        // TXDELAY is a FEND here.
        b"\xC0\x01\xDB\xDC\xC0\xC0\x02\x3F\xC0\xC0\x03\x01\xC0\xC0\x04\x05\xC0\xC0\x05\x00\xC0",
        b"\xC0\x11\xDB\xDC\xC0\xC0\x12\x3F\xC0\xC0\x13\x01\xC0\xC0\x14\x05\xC0\xC0\x15\x00\xC0",
    ];
    for _ in 0..3 {
        alone.tell(OctetsIndication::State { up: true });
        let room = |port| Up::Credit(port, 16 << 10, 64);
        assert_eq!(alone.ups(), [Up::State(0, true), room(0), Up::State(1, true), room(1)]);
        assert!(alone.line.is_empty(), "the line has no credit yet");
        alone.tell(OctetsIndication::Credit { credit: 1 << 20 });
        assert_eq!(std::mem::take(&mut alone.line), told.concat());
        alone.pass(Duration::from_secs(3600));
        assert!(alone.line.is_empty(), "and never otherwise");
        alone.tell(OctetsIndication::State { up: false });
        assert_eq!(alone.ups(), [Up::State(0, false), Up::State(1, false)]);
    }
}

#[test]
fn a_tnc_is_brought_into_kiss_and_out_of_it() {
    let mut alone = Alone::new(Config {
        enter: b"KISS ON\rRESTART\r".to_vec(),
        leave: b"\xC0\xFF\xC0".to_vec(),
        ..Config::default()
    });
    alone.kiss.leave();
    assert!(!alone.kiss.wants_flush(), "there is no TNC yet");
    alone.tell(OctetsIndication::State { up: true });
    // In two pieces, because of the line's credit.
    alone.tell(OctetsIndication::Credit { credit: 5 });
    alone.send(0, b"early", None);
    alone.tell(OctetsIndication::Credit { credit: 1000 });
    assert_eq!(alone.line, b"KISS ON\rRESTART\r");
    alone.pass(Duration::from_millis(1999));
    assert_eq!(alone.line.len(), 16, "it restarts, and hears nothing");
    alone.pass(Duration::from_millis(1));
    assert_eq!(alone.line[16..], *b"\xC0\xC0\xC0\xC0\x00early\xC0");
    alone.line.clear();
    alone.send(0, b"last", None);
    alone.kiss.leave();
    assert!(!alone.kiss.may_exit());
    alone.settle();
    assert!(alone.kiss.may_exit());
    assert_eq!(alone.line, b"\xC0\x00last\xC0\xC0\xFF\xC0");
}

#[test]
fn frames_go_out_on_their_port() {
    let mut alone = Alone::up(Config { ports: 16, ..Config::default() });
    alone.send(12, b"A", None);
    alone.send(5, b"\xC0\xDB", None);
    assert_eq!(alone.line, b"\xC0\xDB\xDC\x41\xC0\xC0\x50\xDB\xDC\xDB\xDD\xC0".as_slice()[..]);
    alone.hear(b"\xC0\xDB\xDC\x41\xC0\xC0\x50\xDB\xDC\xDB\xDD\xC0");
    assert_eq!(alone.frames(), [(12, b"A".to_vec()), (5, b"\xC0\xDB".to_vec())]);
}

#[test]
fn a_check_octet_goes_with_each_frame_where_it_is_configured() {
    let mut alone = Alone::up(Config { checked: true, ..Config::default() });
    alone.send(0, b"Hi", None);
    assert_eq!(alone.line, b"\xC0\x00Hi\x21\xC0");
    alone.hear(b"\xC0\x00Hi\x21\xC0\xC0\x00Hi\x22\xC0\xC0\x00Hi\xC0\xC0\x00Ho\x27\xC0");
    assert_eq!(alone.frames(), [(0, b"Hi".to_vec()), (0, b"Ho".to_vec())]);
    assert_eq!(alone.cx.dropped_count(), 2);
}

#[test]
fn what_is_no_frame_for_here_is_dropped() {
    let mut alone = Alone::up(Config { longest: 8, ..Config::default() });
    for (line, why) in [
        (&b"\xC0\x00\xC0"[..], "empty"),
        (b"\xC0\x00123456789\xC0", "too long, though it fits behind a type without a check"),
        (b"\xC0\x10port\xC0", "another port"),
        (b"\xC0\x01\x1E\xC0", "a parameter"),
        (b"\xC0\xFF\xC0", "a return"),
        (b"\xC0\x0C\x00\x01data\xC0", "what a host sends"),
        (b"\xC0\x0C\x00\x01\xC0", "an acknowledgement of nothing"),
        (b"\xC0\x06hardware\xC0", "a setting"),
        (b"\xC0\x06TXBUF:x\xC0", "no number"),
    ] {
        let dropped = alone.cx.dropped_count();
        alone.hear(line);
        assert_eq!((alone.ups(), alone.cx.dropped_count()), (vec![], dropped + 1), "{why}");
    }
    for frame in [&b""[..], b"123456789"] {
        let room = Up::Credit(0, frame.len(), 1);
        alone.send(0, frame, Some(7));
        assert_eq!(alone.ups(), [Up::Left(0, 7), room], "as if it were lost on the air");
    }
    alone.send(1, b"none", Some(7));
    assert_eq!((alone.ups(), alone.line.len()), (vec![], 0));
    alone.hear(b"\xC0\x0012345678\xC0");
    assert_eq!(alone.frames(), [(0, b"12345678".to_vec())]);
}

#[test]
#[should_panic(expected = "within the credit")]
fn more_than_the_credit_is_a_bug_above() {
    let room = Credit { octets: 2000, messages: 2 };
    let mut alone = Alone::up(Config { room, ..Config::default() });
    (0..3).for_each(|_| alone.send(0, b"x", None));
}

#[test]
fn it_knows_its_longest_frame_and_how_long_that_takes() {
    let alone = Alone::new(Config { longest: 256, ..Config::default() });
    assert_eq!(ask(&alone.kiss, 0, Longest, &NothingBelow), Some(256));
    let time = ask(&alone.kiss, 0, FrameTime, &NothingBelow).expect("it follows from the rate");
    assert_eq!(time.as_millis(), 1761);
}

/// A line that was down has lost what was on it; nothing of before comes up or goes down later.
#[test]
fn a_tnc_vanishes_and_returns() {
    let mut alone = Alone::up(at_rate(1200));
    alone.send(0, b"on the air", Some(1));
    alone.hear(b"\xC0\x00half a fra");
    alone.tell(OctetsIndication::State { up: false });
    assert_eq!(alone.ups(), [Up::State(0, false)]);
    alone.line.clear();
    // These crossed the word.
    alone.send(0, b"crossed", Some(2));
    alone.ask(FramesRequest::Credit { credit: ROOM });
    alone.pass(Duration::from_secs(100));
    assert_eq!((alone.ups(), alone.line.len(), alone.kiss.held()), (vec![], 0, 0));
    alone.tell(OctetsIndication::State { up: true });
    alone.tell(OctetsIndication::Credit { credit: 100 });
    assert_eq!(alone.ups(), [Up::State(0, true), Up::Credit(0, 16 << 10, 64)]);
    alone.hear(b"me\xC0\x00new\xC0");
    assert_eq!(alone.ups(), [], "the credit of before is void");
    alone.ask(FramesRequest::Credit { credit: ROOM });
    assert_eq!(alone.ups(), [Up::Frame(0, b"new".to_vec())]);
    alone.send(0, b"after", Some(3));
    assert_eq!(alone.line, b"\xC0\xC0\xC0\xC0\x00after\xC0");
    alone.pass(Duration::from_secs(100));
    assert_eq!(alone.ups(), [Up::Credit(0, 5, 1), Up::Left(0, 3)]);
    assert!(alone.cx.now() > Instant::START);
}
