//! ARTP by hand: what the engine is measured against.
//!
//! It does what [`policies`](stackwright_artp::policies) selects, with the same messages, headers
//! and pool, and speaks to the engine; but as nobody would who had to exchange a part: it is one
//! type, every decision is where it is used, and numbers stay as wide as on the wire. What happens
//! rarely is the simplest that is right. Sessions are not closed. Make it faster where you can;
//! never slower.
//!
//! | file | what |
//! | --- | --- |
//! | `send.rs` | packets leave |
//! | `receive.rs` | packets arrive |
//! | `acknowledged.rs` | an acknowledgement arrives |
//! | `timers.rs` | time has passed |
//! | `session.rs` | a session is asked for and granted |

mod acknowledged;
mod receive;
mod send;
mod session;
mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

use stackwright_artp::header::{
    Fragment, Microseconds, Packet, PacketKind, Proposal, Verdict, Version,
};
use stackwright_artp::{Config, Secrets};
use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageKind, MessageProperties};
use stackwright_wire::{BufferTree, Header};

/// Octets before a fragment.
const HEADERS: usize = Packet::LENGTH + Fragment::LENGTH;
/// Octets of the options that a fragment may have.
const OPTIONS: usize = 16;
const OPEN: u8 = 1;
const CONFIRM: u8 = 3;
/// Spans of an acknowledgement that are said again.
const REMINDED: usize = 4;
/// How much later than two round trips the end of a burst is believed to be lost, in nanoseconds.
const PROBE_SLACK: u64 = 10_000_000;

enum State {
    Idle,
    /// We ask, again at this time.
    Asking(Instant),
    /// We have to answer.
    Asked,
    /// We have answered.
    Granted,
    Open,
}

/// A message of which something has not left yet.
struct Waiting {
    rest: BufferTree,
    fragment: Fragment,
    piece: usize,
    octets: usize,
    kind: MessageKind,
    since: Instant,
    lifetime: Option<NonZeroU32>,
}

#[derive(PartialEq)]
enum Stands {
    InFlight,
    Lost,
    Done,
}

struct Sent {
    body: BufferTree,
    fragment: Fragment,
    kind: MessageKind,
    stands: Stands,
    times: u16,
    at: Instant,
    order: u32,
    since: Instant,
    lifetime: Option<NonZeroU32>,
    release: Option<usize>,
}

/// A message of which pieces are here.
struct Partial {
    octets: Vec<u8>,
    piece: usize,
    last: Option<BufferTree>,
    here: Vec<u64>,
    count: u16,
    missing: u16,
    end: usize,
}

pub(crate) struct Monolith {
    config: Config,
    session: u8,
    ours: Proposal,
    theirs: Option<Proposal>,
    ranges: bool,
    state: State,
    confirms: bool,
    dead: bool,
    /// My clock − the peer's, in microseconds.
    difference: Option<i64>,

    waiting: VecDeque<Waiting>,
    /// By number, from `first` on.
    flight: VecDeque<Sent>,
    first: u32,
    in_flight: u64,
    lost: VecDeque<u32>,
    orders: u32,
    heard_order: u32,
    /// Up to where the peer lets us send; since when that is nowhere.
    edge: u32,
    shut_since: Option<Instant>,
    quiet_since: Instant,
    stirred: Instant,
    probed: bool,
    /// Nothing in flight is overdue before this.
    check_at: Instant,
    released: Credit,
    datagram: u32,
    unacknowledged: u32,
    window: u64,
    cut_until: Instant,
    sent_at: Instant,
    smoothed: u64,
    variation: u64,
    /// As measured, and as it is after doubling.
    measured: u64,
    timeout: u64,

    upto: u32,
    highest: u32,
    /// A bit for each number of a window, at its place modulo the window.
    here: Box<[u64]>,
    pending: u32,
    said: u32,
    news: Vec<(u32, u32)>,
    numbers: u64,
    reminded: Vec<(u32, u32)>,
    acknowledge_at: Instant,
    begun: BTreeMap<u32, Partial>,
    inbox: VecDeque<(BufferTree, MessageProperties, u32)>,
}

/// Whether `number` lies before `other`, where both wrap.
fn before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

impl Monolith {
    pub(crate) fn new(session: u8, config: &Config, secrets: Secrets) -> Self {
        assert!(config.window.is_power_of_two() && config.window >= 64, "a ring of words");
        let first = config.first.unwrap_or(secrets.first);
        let ours = Proposal {
            session,
            verdict: Verdict::Asked,
            packet: config.packet,
            window: config.window,
            first,
            longest: u32::MAX,
            delay: 50,
            idle: 0,
            ranges: config.ranges,
            large: false,
            parts: false,
            expires: false,
            marks: false,
            single: false,
            reserved: (),
            nonce: secrets.nonce,
            echo: 0,
            salt: secrets.salt,
            reset: secrets.reset,
        };
        Monolith {
            config: *config,
            session,
            ours,
            theirs: None,
            ranges: false,
            state: State::Idle,
            confirms: false,
            dead: false,
            difference: None,
            waiting: VecDeque::new(),
            flight: VecDeque::new(),
            first,
            in_flight: 0,
            lost: VecDeque::new(),
            orders: 0,
            heard_order: 0,
            edge: first,
            shut_since: None,
            quiet_since: Instant::START,
            stirred: Instant::START,
            probed: false,
            check_at: Instant::END,
            released: Credit::default(),
            datagram: 0,
            unacknowledged: 0,
            window: 3 * u64::from(config.packet),
            cut_until: Instant::START,
            sent_at: Instant::START,
            smoothed: 0,
            variation: 0,
            measured: config.timeout_first,
            timeout: config.timeout_first,
            upto: 0,
            highest: 0,
            here: vec![0; config.window as usize / 64].into(),
            pending: 0,
            said: 0,
            news: Vec::new(),
            numbers: 0,
            reminded: Vec::new(),
            acknowledge_at: Instant::END,
            begun: BTreeMap::new(),
            inbox: VecDeque::new(),
        }
    }

    pub(crate) fn open(&mut self, now: Instant) {
        self.state = State::Asking(now);
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    pub(crate) fn released(&mut self) -> Credit {
        std::mem::take(&mut self.released)
    }

    /// The most octets of a body.
    fn room(&self) -> usize {
        let theirs = self.theirs.as_ref().map_or(u16::MAX, |theirs| theirs.packet);
        usize::from(self.config.packet.min(theirs)) - HEADERS - OPTIONS
    }

    fn clock(&self, now: Instant) -> u64 {
        self.config.epoch + now.nanoseconds() / 1000
    }
}

fn packet(kind: PacketKind, session: u8, sequence: u32, stamp: u64, expiry: u32) -> Packet {
    Packet {
        version: Version::One,
        kind,
        session,
        options: 0,
        sequence,
        seconds: (stamp / 1_000_000) as u32,
        microseconds: Microseconds::of(stamp),
        expiry,
    }
}
