//! Two ends that are as far from each other as a test wants.

use stackwright_artp::{Artp, Config, Secrets, policies};
use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, Reorder};
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
        ..Config::default()
    }
}

/// One end.
pub(crate) fn end(config: &Config, side: usize) -> Slots<Artp<BufferTree>> {
    let side = side as u64 + 1;
    policies(5, config, Secrets { first: 7, nonce: 0x1234_5678 * side, salt: [side as u8; 16] })
}

/// Everything goes wrong that UDP lets go wrong, more or less.
pub(crate) fn bad(seed: u64) -> Conditions {
    let mut random = fastrand::Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..30)),
        loss: (random.f64() * 0.25).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder { probability: random.f64() * 0.1, by: Duration::from_millis(random.u64(1..80)) },
        ..Conditions::IDEAL
    }
}

/// How many seeds: `SEEDS` of them where that is set.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    0..std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}
