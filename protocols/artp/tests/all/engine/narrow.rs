//! The way takes long packets when a session opens, and while data flow it begins to drop them, and
//! says nothing.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use stackwright_artp::{Cipher, Config, Congestion, Protection, Sealing, Secret, Signing};
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::Conditions;
use stackwright_transport::words::{Ending, Phase};
use stackwright_trial::setting::pass_narrow_paths;
use stackwright_trial::{Promise, Trial};

use crate::engine::conversation::{Conversation, Ends};
use crate::engine::setting::{any_config, config, end, seeds, worse};

const ALL: [Congestion; 4] =
    [Congestion::Document, Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];

/// No packet that a narrow way takes is longer.
const BASE: usize = 1200;

fn long() -> Config {
    Config { packet: 9000, timeout_least: 200_000_000, longest: 1 << 20, ..config() }
}

fn way(mtu: usize) -> Conditions {
    Conditions { delay: Duration::from_millis(10), mtu: Some(mtu), ..Conditions::IDEAL }
}

fn is_part(octets: &[u8]) -> bool {
    octets[0] >> 4 == 2 // no datagram here has so many fragments
}

/// What the `nth` datagram of so many octets says: no two parts of one are alike, nor those at one
/// place of two. Made once: to make them for each would take longer than what is tried.
fn octets(nth: u32, length: usize) -> &'static [u8] {
    static WORDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let words = (0..1 << 16).map(|at: u32| at.wrapping_mul(0x9e37_79b1));
        words.flat_map(u32::to_be_bytes).collect()
    });
    &WORDS[4 * nth as usize..][..length]
}

/// Datagrams of one length, and what was seen of them.
struct Flow {
    ends: Ends,
    length: usize,
    sent: u32,
    came: BTreeSet<u32>,
    /// The packets that the first end sent: how many, how many parts, and how long each of the last
    /// hundred was.
    packets: usize,
    parts: usize,
    last: Vec<usize>,
}

impl Flow {
    fn new(configs: [Config; 2], conditions: &Conditions, seed: u64, length: usize) -> Self {
        let mut ends = Trial::new(|side| end(&configs[side], side), conditions, seed);
        ends.ends[0].open(ends.now());
        while !matches!(ends.ends[0].phase(ends.now()), Phase::Open) {
            ends.speak(|_, _, _| {});
            assert!(ends.step());
        }
        let (packets, parts, last) = (0, 0, Vec::new());
        Flow { ends, length, sent: 0, came: BTreeSet::new(), packets, parts, last }
    }

    /// So many more datagrams go from the first end to the other. Whether all came, before the
    /// first end gave up.
    fn go(&mut self, more: u32) -> bool {
        let all = self.sent + more;
        loop {
            let now = self.ends.now();
            while self.sent < all && self.ends.ends[0].association.sending().waiting() < 16 {
                let properties =
                    MessageProperties { number: Some(self.sent), ..MessageProperties::default() };
                self.ends.ends[0].send(now, octets(self.sent, self.length), properties);
                self.sent += 1;
            }
            let Flow { ends, packets, parts, last, .. } = self;
            ends.speak(|_, side, octets| {
                if side == 0 {
                    *packets += 1;
                    *parts += usize::from(is_part(octets));
                    last.push(octets.len());
                }
            });
            last.drain(..last.len().saturating_sub(100));
            while let Some((came, properties)) = self.ends.ends[1].take(now) {
                let number = properties.number.expect("a datagram's number");
                assert!(self.came.insert(number), "{number} comes once");
                assert!(came == octets(number, self.length), "{number} comes as it was sent");
            }
            if self.came.len() == all as usize {
                return true;
            }
            if matches!(self.ends.ends[0].phase(now), Phase::Ended(_)) || !self.ends.step() {
                return false;
            }
        }
    }
}

#[test]
fn a_way_that_becomes_narrow_while_data_flow_is_found_out_and_everything_comes() {
    for congestion in ALL {
        for length in [100_000, 8000, 2000] {
            let config = Config { congestion, ..long() };
            let mut flow = Flow::new([config; 2], &way(9000), 1, length);
            assert!(flow.go(100));
            assert!(flow.last.iter().any(|octets| *octets > BASE) && flow.parts == 0);
            flow.ends.set_conditions(&way(1300));
            let before = flow.ends.now();
            assert!(flow.go(100), "{congestion:?}, {length} octets");
            let took = flow.ends.now().since(before);
            // It takes seven timeouts of 220 ms, and what BBR then believes of the path is low for
            // long.
            let most = if congestion == Congestion::Bbr { 40 } else { 5 };
            assert!(took < Duration::from_secs(most), "{congestion:?}, {length} octets: {took:?}");
            assert!(flow.parts > 0);
            let parts = flow.parts;
            assert!(flow.go(100));
            assert_eq!(flow.parts, parts, "what is cut later is cut shorter");
            assert!(flow.last.iter().all(|octets| *octets <= BASE), "{:?}", flow.last);
        }
    }
}

/// On a link with a rate, parts take less time than the packets that the round trip is known of.
#[test]
fn whatever_the_congestion_control_a_path_with_a_rate_that_becomes_narrow_is_found_out() {
    for congestion in ALL {
        let config = Config { congestion, packet: 1472, longest: 1 << 20, ..config() };
        pass_narrow_paths(|side| end(&config, side), Promise::Once);
    }
}

/// A session opens by packets that pass anywhere, and its first data is what shows that the path
/// passes less than the base.
#[test]
fn a_path_below_the_base_is_found_out_and_everything_comes() {
    for congestion in ALL {
        for (mtu, passes, most) in [(600, 548, 2), (300, 256, 3), (256, 256, 3)] {
            for length in [100_000, 2000, 1000] {
                let config = Config { congestion, packet: 1200, longest: 1 << 20, ..config() };
                let mut flow = Flow::new([config; 2], &way(mtu), 1, length);
                let before = flow.ends.now();
                assert!(flow.go(20), "{congestion:?}, {mtu}, {length} octets");
                let took = flow.ends.now().since(before);
                assert!(
                    took < Duration::from_secs(most),
                    "{congestion:?}, {mtu}, {length}: {took:?}"
                );
                assert!(flow.go(100));
                let parts = flow.parts;
                assert!(flow.go(100));
                assert_eq!(flow.parts, parts, "what is cut later is cut shorter");
                let last = &flow.last;
                assert!(last.iter().all(|octets| *octets <= passes), "{last:?}");
            }
        }
    }
}

#[test]
fn a_path_that_falls_below_the_base_while_data_flow_is_found_out_and_everything_comes() {
    for congestion in ALL {
        for (mtu, passes) in [(600, 548), (300, 256)] {
            let config = Config { congestion, packet: 1200, longest: 1 << 20, ..config() };
            let mut flow = Flow::new([config; 2], &way(1500), 1, 8000);
            assert!(flow.go(100) && flow.parts == 0);
            flow.ends.set_conditions(&way(mtu));
            let before = flow.ends.now();
            assert!(flow.go(100), "{congestion:?}, {mtu}");
            let took = flow.ends.now().since(before);
            let most = if congestion == Congestion::Bbr { 90 } else { 30 };
            assert!(took < Duration::from_secs(most), "{congestion:?}, {mtu}: {took:?}");
            assert!(flow.go(100));
            assert!(flow.last.iter().all(|octets| *octets <= passes), "{:?}", flow.last);
        }
    }
}

/// 0.5 s and 8.6 s.
#[test]
fn a_path_that_becomes_narrow_is_found_out_in_the_time_that_is_documented() {
    for (round_trip, most) in [(20, 0.6), (600, 9.0)] {
        let of = |mtu| Conditions { delay: Duration::from_micros(500 * round_trip), ..way(mtu) };
        let congestion = Congestion::default();
        let config = Config { congestion, timeout_first: 1_000_000_000, ..long() };
        let mut flow = Flow::new([config; 2], &of(9000), 1, 8000);
        assert!(flow.go(20) && flow.last.iter().any(|octets| *octets > BASE));
        flow.ends.set_conditions(&of(1300));
        let before = flow.ends.now();
        assert!(flow.go(4));
        let took = flow.ends.now().since(before).as_secs_f64();
        assert!(took < most, "{round_trip} ms: {took} s");
    }
}

#[test]
fn datagrams_that_are_sealed_or_signed_come_over_a_way_that_becomes_narrow() {
    let own = |side: usize| Secret([side as u8 + 1; 32]);
    let signed = |side: usize| {
        Signing::new(own(side), Signing::public(&own(1 - side))).expect("a public key")
    };
    let sealed = Protection::Sealed(Sealing::new(Cipher::ChaCha20Poly1305, Secret([7; 32])));
    for protections in [[sealed; 2], [0, 1].map(|side| Protection::Signed(signed(side)))] {
        let configs = protections.map(|protection| Config { protection, ..long() });
        let mut flow = Flow::new(configs, &way(9000), 1, 20_000);
        assert!(flow.go(50));
        flow.ends.set_conditions(&way(1300));
        assert!(flow.go(50));
        assert!(flow.parts > 0);
    }
}

/// Twenty megabytes.
#[test]
fn where_every_tenth_packet_is_lost_by_chance_packets_stay_long() {
    for congestion in ALL {
        for seed in seeds(3) {
            let config = Config { congestion, ..long() };
            let mut flow = Flow::new([config; 2], &way(9000), seed, 100_000);
            assert!(flow.go(1));
            flow.ends.set_conditions(&Conditions { loss: 0.1.into(), ..way(9000) });
            assert!(flow.go(200), "{congestion:?}, seed {seed}");
            // Some leave in parts, to find out whether anything does.
            flow.last.clear();
            assert!(
                flow.go(1) && flow.last.iter().any(|octets| *octets > BASE),
                "{congestion:?}, seed {seed}"
            );
        }
    }
}

/// And packets of the base stay as long as that.
#[test]
fn where_every_tenth_packet_is_lost_by_chance_none_is_shorter_than_the_base() {
    for congestion in ALL {
        for seed in seeds(3) {
            let config = Config { congestion, packet: 1200, longest: 1 << 20, ..config() };
            let mut flow = Flow::new([config; 2], &way(1500), seed, 20_000);
            flow.ends.set_conditions(&Conditions { loss: 0.1.into(), ..way(1500) });
            assert!(flow.go(300), "{congestion:?}, seed {seed}");
            flow.last.clear();
            assert!(
                flow.go(1) && flow.last.iter().any(|octets| *octets > 1100),
                "{congestion:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_peer_that_does_not_know_parts_is_sent_none_and_the_session_ends_by_silence() {
    for knows in [[true, false], [false, true]] {
        let configs = knows.map(|parts| Config { parts, ..long() });
        let mut flow = Flow::new(configs, &way(9000), 1, 20_000);
        assert!(flow.go(50));
        flow.ends.set_conditions(&way(1300));
        assert!(!flow.go(50));
        assert_eq!(flow.ends.ends[0].phase(flow.ends.now()), Phase::Ended(Ending::Silent));
        assert_eq!(flow.parts, 0);
    }
}

/// Control, priorities and datagrams that expire, both ways, and whatever else goes wrong.
#[test]
fn whatever_was_chosen_and_whenever_the_way_becomes_narrow_everything_arrives_once_and_whole() {
    let mut parts = 0;
    for seed in seeds(500) {
        let random = &mut fastrand::Rng::with_seed(seed ^ 0x7a50);
        let expires = random.bool();
        let configs = [0, 1].map(|_| Config {
            packet: random.u16(1300..9000),
            longest: 1 << 20,
            expires,
            parts: true,
            ..any_config(random)
        });
        let (when, mtu) = (random.u32(..2000), random.usize(BASE..1400));
        let ends = &mut Trial::new(|side| end(&configs[side], side), &worse(seed), seed);
        let conversation = Conversation {
            counts: [40, 20],
            longest: 60_000,
            lifetime: expires.then_some([1_000_000, 20_000_000]),
            every: Duration::from_millis(random.u64(..100)),
            ..Conversation::default()
        };
        let mut steps = 0;
        let outcome = conversation.hold(ends, seed, |ends| {
            steps += 1;
            if steps == when {
                ends.set_conditions(&Conditions { mtu: Some(mtu), ..worse(seed) });
            }
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}");
        }
        parts += u32::from(steps > when);
    }
    assert!(parts > 0, "it becomes narrow in time");
}
