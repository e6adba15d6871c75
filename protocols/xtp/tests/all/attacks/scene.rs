//! Two contexts of a Connection, the packets between them, and those that a test adds.

use stackwright_contract::{Duration, Instant, Participant};
use stackwright_simulator::Conditions;
use stackwright_transport::Slots;
use stackwright_trial::Trial;
use stackwright_xtp::header::{XtpKind, XtpPacket};
use stackwright_xtp::services::{Connection, Messages, context};
use stackwright_xtp::{Config, ContextKey};

use crate::attacks::packets::{Said, header, returned};
use crate::attacks::station::M;

pub(crate) type Ends = Trial<Messages<M>>;

/// The end that opens, and the other.
pub(crate) const OPENS: usize = 0;
pub(crate) const LISTENS: usize = 1;

/// The keys of both.
pub(crate) const KEYS: [u64; 2] = [0x0123_4567_0000, 0x0123_4567_0001];

pub(crate) fn config() -> Config {
    Config { packet: 600, window: 16 << 10, ..Config::new([9; 16]) }
}

/// One end of a Connection with `config`.
fn end(side: usize, config: Config) -> Slots<Messages<M>> {
    let own = Some(ContextKey { ours: true, number: KEYS[side] });
    let peer = (side == LISTENS).then_some(KEYS[OPENS]);
    context::<M, Connection>(&config, own, peer, Participant::from(([10, 0, 0, 9], 7)))
}

fn conditions() -> Conditions {
    Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL }
}

/// Two ends on a path of 20 ms there and back, which have heard each other.
pub(crate) fn acquainted(config: Config) -> Ends {
    let mut ends = Trial::new(|side| end(side, config), &conditions(), 1);
    ends.ends[OPENS].open(ends.now());
    send(&mut ends, OPENS, &[1]);
    ends.pass(later(&ends, 1));
    send(&mut ends, LISTENS, &[2]);
    ends.pass(later(&ends, 1));
    assert_eq!(
        (heard(&mut ends, OPENS), heard(&mut ends, LISTENS)),
        (vec![vec![2]], vec![vec![1]])
    );
    ends
}

/// Returns the time that many seconds from now.
pub(crate) fn later(ends: &Ends, seconds: u64) -> Instant {
    ends.now() + Duration::from_secs(seconds)
}

pub(crate) fn send(ends: &mut Ends, side: usize, octets: &[u8]) {
    let now = ends.now();
    ends.ends[side].send(now, octets, Default::default());
}

/// Takes what arrived for the application of an end.
pub(crate) fn heard(ends: &mut Ends, side: usize) -> Vec<Vec<u8>> {
    let now = ends.now();
    std::iter::from_fn(|| ends.ends[side].take(now)).map(|(octets, _)| octets).collect()
}

/// The link is down from now on, or up again.
pub(crate) fn cut(ends: &mut Ends, down: bool) {
    let loss = if down { 1.0 } else { 0.0 };
    ends.set_conditions(&Conditions { loss: loss.into(), ..conditions() });
}

/// Returns what leaves an end now.
pub(crate) fn leaves(ends: &mut Ends, by: usize) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    ends.speak(|_, side, octets| {
        if side == by {
            packets.push(octets.to_vec());
        }
    });
    packets
}

/// Lets that many seconds pass, and returns what each end sent meanwhile.
pub(crate) fn watched(ends: &mut Ends, seconds: u64) -> [Vec<Vec<u8>>; 2] {
    let at = later(ends, seconds);
    let mut packets = [Vec::new(), Vec::new()];
    loop {
        ends.speak(|_, side, octets| packets[side].push(octets.to_vec()));
        if !ends.until(at) {
            return packets;
        }
    }
}

/// Which numbers an end has sent, and the first of them that is not acknowledged.
pub(crate) fn flight(ends: &Ends, side: usize) -> std::ops::Range<u64> {
    let sending = ends.ends[side].association.sending();
    sending.settled_upto()..sending.sent_upto()
}

/// The header of a packet to an end.
pub(crate) fn to(side: usize, format: XtpKind) -> XtpPacket {
    returned(KEYS[side], format)
}

/// What acknowledges nothing, and answers nothing.
pub(crate) fn nothing(ends: &Ends, side: usize) -> Said {
    Said { received: flight(ends, side).start, allocated: 0, echo: 0 }
}

/// Returns whether a packet has data.
pub(crate) fn is_data(octets: &[u8]) -> bool {
    matches!(header(octets).format, XtpKind::Data | XtpKind::First)
}
