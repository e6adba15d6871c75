//! Handshakes that succeed, in any portions.

use std::sync::Arc;

use stackwright_contract::services::Ended;
use stackwright_simulator::{Chunks, Habits, seeds};
use stackwright_tls::{Config, Tls};
use stackwright_wire::Pool;

use crate::simulated::alone::{Alone, carry};
use crate::simulated::setting::{CLIENT, Pair, SERVER, VERSIONS, pattern, trusting};

fn exchange(seed: u64, configs: [Config; 2], habits: Habits, octets: usize) {
    let mut pair = Pair::new(seed, configs, habits);
    pair.open_secure(1, CLIENT, SERVER);
    let [up, down] = [pattern(octets), pattern(octets / 2 + 1)];
    pair.sends(0, 1, &up, true);
    pair.sends(1, 1, &down, true);
    pair.run(600);
    for (side, arrived) in [(1, &up), (0, &down)] {
        let known = pair.known(side, 1);
        assert_eq!(known.outcomes, [Ok(0)], "seed {seed}");
        assert!(known.octets == *arrived, "seed {seed}: {} octets", known.octets.len());
        assert!(known.finished);
        assert_eq!(known.ended, Some(Ended::Finished), "seed {seed}");
    }
}

#[test]
fn octets_cross_in_both_directions() {
    for versions in VERSIONS {
        exchange(
            1,
            trusting().map(|config| Config { versions, ..config }),
            Habits::default(),
            300_000,
        );
    }
}

#[test]
fn octets_cross_in_any_portions() {
    for seed in seeds(20) {
        let versions = VERSIONS[seed as usize % 2];
        let chunks = [Chunks::Single, Chunks::Mixed, Chunks::Large][seed as usize % 3];
        let habits = Habits {
            chunks,
            credit: 1 + (seed as usize * 7919) % 40_000,
            buffer: 1 + (seed as usize * 104_729) % 70_000,
            ..Habits::default()
        };
        exchange(
            seed,
            trusting().map(|config| Config { versions, ..config }),
            habits,
            if seed == 0 { 2_000 } else { 50_000 },
        );
    }
}

#[test]
fn blocks_return_to_the_pool() {
    let pool = Arc::new(Pool::new(1 << 16, 4));
    let [client, server] = trusting();
    let mut receiver = Alone::asked_of(Tls::new(client).with_pool(Arc::clone(&pool)), 1 << 17);
    receiver.open(1 << 16);
    let mut ends = [receiver, Alone::new(server, 1 << 16, 1 << 16)];
    ends[0].secure(CLIENT);
    ends[1].secure(SERVER);
    carry(&mut ends);
    let file = pattern(60_000);
    ends[1].send(&file);
    ends[1].flush();
    let left = std::mem::take(&mut ends[1].left);
    // The first record is completed by the second delivery.
    for part in [&left[..1000], &left[1000..]] {
        ends[0].arrive_in_block(part, &pool);
        let block = pool.take();
        assert!(block[..1000].iter().any(|octet| *octet != 0), "it was used before");
        pool.give(block);
    }
    assert!(ends[0].octets == file);
}
