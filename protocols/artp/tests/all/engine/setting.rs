//! Two ends that are as far from each other as a test wants.

use fastrand::Rng;
use stackwright_artp::{Artp, Config, Congestion, Secrets, policies};
use stackwright_contract::{Duration, Instant};
pub(crate) use stackwright_simulator::seeds;
use stackwright_simulator::{Conditions, Outages, Reorder};
use stackwright_transport::Slots;
use stackwright_wire::BufferTree;

/// Numbers wrap at once.
pub(crate) fn config() -> Config {
    Config {
        packet: 600,
        timeout_first: 200_000_000,
        timeout_least: 50_000_000,
        tries: 60,
        gather: 10_000_000,
        first: Some(u32::MAX - 5),
        longest: 1 << 20,
        ..Config::new([0; 16])
    }
}

/// Whatever can be chosen, by chance. Two ends need not choose the same.
pub(crate) fn any_config(random: &mut Rng) -> Config {
    Config {
        packet: if random.bool() { random.u16(191..=600) } else { random.u16(191..=1500) },
        window: 1 << random.u32(4..10),
        gather: random.u64(0..=50) * 1_000_000,
        gather_most: random.u64(1..20),
        reordering: [None, Some(1), Some(3), Some(20)][random.usize(..4)],
        congestion: [Congestion::Document, Congestion::Cubic, Congestion::Bbr][random.usize(..3)],
        ranges: random.bool(),
        large: random.bool(),
        parts: random.bool(),
        silence: 120_000_000_000,
        first: Some(u32::MAX - random.u32(..40)),
        ..config()
    }
}

/// One end.
pub(crate) fn end(config: &Config, side: usize) -> Slots<Artp<BufferTree>> {
    let side = side as u64 + 1;
    policies(
        5,
        config,
        Secrets {
            first: 7,
            nonce: 0x1234_5678 * side,
            salt: [side as u8; 16],
            reset: [side as u8; 16],
        },
    )
}

/// Everything goes wrong that UDP lets go wrong, more or less.
pub(crate) fn bad(seed: u64) -> Conditions {
    let mut random = Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..30)),
        loss: (random.f64() * 0.25).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder {
            probability: random.f64() * 0.1,
            by: Duration::from_millis(random.u64(1..80)),
        },
        ..Conditions::IDEAL
    }
}

/// The same, and now and then nothing passes at all for some seconds.
pub(crate) fn worse(seed: u64) -> Conditions {
    let random = &mut Rng::with_seed(!seed);
    let mut at = 1_000_000_000;
    let spans = (0..random.usize(..4)).map(|_| {
        let start = at + random.u64(..3_000_000_000);
        at = start + random.u64(..6_000_000_000);
        Instant::from_nanoseconds(start)..Instant::from_nanoseconds(at)
    });
    Conditions { outages: Outages::Spans(spans.collect()), ..bad(seed) }
}
