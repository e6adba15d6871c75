//! Two ends, and what they say to each other in the open.

use stackwright_artp::{Artp, Config, Secrets, policies};
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::Conditions;
use stackwright_transport::words::Phase;
use stackwright_trial::Trial;
use stackwright_wire::BufferTree;

use crate::attacks::packets::SESSION;

pub(crate) type Ends = Trial<Artp<BufferTree>>;

/// The end that asks for a session, and the other.
pub(crate) const ASKS: usize = 0;
pub(crate) const GRANTS: usize = 1;

/// So many seconds from now.
pub(crate) fn later(ends: &Ends, seconds: u64) -> Instant {
    ends.now() + Duration::from_secs(seconds)
}

/// The default; no number of packets is known.
pub(crate) fn config() -> Config {
    Config { gather: 10_000_000, ..Config::new([9; 16]) }
}

/// Two ends whose secrets follow from `incarnation`, on a way of 10 ms.
pub(crate) fn strangers(config: &Config, incarnation: u64) -> Ends {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    let make = |side: usize| {
        let mut random = fastrand::Rng::with_seed(incarnation * 2 + side as u64);
        let first = u32::MAX - random.u32(..100);
        let nonce = random.u64(..);
        let reset = random.u128(..).to_be_bytes();
        policies(SESSION, config, Secrets { first, nonce, salt: [side as u8; 16], reset })
    };
    Trial::new(make, &conditions, incarnation)
}

/// The same, and they have a session.
pub(crate) fn acquainted(config: &Config, incarnation: u64) -> Ends {
    let mut ends = strangers(config, incarnation);
    ends.ends[ASKS].open(ends.now());
    ends.pass(later(&ends, 1));
    for side in [ASKS, GRANTS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Open);
        assert!(!ends.ends[side].association.is_half_open());
    }
    ends
}

/// The link is down from now on, or up again.
pub(crate) fn cut(ends: &mut Ends, down: bool) {
    let loss = if down { 1.0 } else { 0.0 };
    ends.set_conditions(&Conditions {
        delay: Duration::from_millis(10),
        loss: loss.into(),
        ..Conditions::IDEAL
    });
}

/// Time goes on until `at`. `seen` sees each packet, and who sends it.
pub(crate) fn watch(ends: &mut Ends, at: Instant, mut seen: impl FnMut(usize, &[u8])) {
    loop {
        ends.speak(|_, side, octets| seen(side, octets));
        if !ends.until(at) {
            return;
        }
    }
}

/// Twenty milliseconds from now.
pub(crate) fn soon(ends: &Ends) -> Instant {
    ends.now() + Duration::from_millis(20)
}

/// `side` sends datagrams whose numbers are in `numbers`.
pub(crate) fn send(ends: &mut Ends, side: usize, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let properties = MessageProperties { number: Some(number), ..MessageProperties::default() };
        let now = ends.now();
        ends.ends[side].send(now, &number.to_be_bytes(), properties);
    }
}

/// The numbers of the datagrams that `side` has heard since this was asked last.
pub(crate) fn heard(ends: &mut Ends, side: usize) -> Vec<u32> {
    let now = ends.now();
    core::iter::from_fn(|| ends.ends[side].take(now))
        .filter_map(|(_, properties)| properties.number)
        .collect()
}

/// What leaves an end now.
pub(crate) fn said(ends: &mut Ends, by: usize) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    ends.speak(|_, side, octets| {
        if side == by {
            packets.push(octets.to_vec());
        }
    });
    packets
}
