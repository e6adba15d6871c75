//! Neighbours that do not do as they should: what is held stays bounded.

use stackwright_contract::Duration;
use stackwright_contract::services::{Credit, FramesRequest, OctetsIndication};
use stackwright_kiss::Config;

use crate::alone::{Alone, Up, at_rate};

/// The credit that the line is given at first.
const LINE: usize = 4096;

#[test]
fn a_storm_of_ends_is_nothing_and_costs_nothing() {
    let mut alone = Alone::up(Config::default());
    for _ in 0..1000 {
        alone.hear(&[0xC0; 1000]);
        assert_eq!(alone.kiss.held(), 0);
    }
    assert_eq!((alone.ups(), alone.cx.dropped_count()), (vec![], 0));
    assert_eq!(alone.given, LINE + 1_000_000, "all of its credit returns");
    alone.hear(b"\x00still there\xC0");
    assert_eq!(alone.frames(), [(0, b"still there".to_vec())]);
}

/// A layer above that takes nothing: a frame and the credit of the line are held, no more.
#[test]
fn what_waits_for_the_layer_above_is_bounded() {
    let mut alone = Alone::new(Config { longest: 100, ..Config::default() });
    alone.tell(OctetsIndication::State { up: true });
    let line = b"\xC0\x000123456789".repeat(1000);
    let mut sent = 0;
    while sent < alone.given.min(line.len()) {
        let end = alone.given.min(sent + 999);
        alone.hear(&line[sent..end]);
        sent = end;
        assert!(alone.kiss.held() <= LINE + 100, "{}", alone.kiss.held());
    }
    assert!((LINE..LINE + 100).contains(&sent), "the line is told to stop: {sent}");
    alone.ups();
    // Each credit lets one frame up, and the line follows.
    for taken in 1..300 {
        alone.ask(FramesRequest::Credit { credit: Credit { octets: 10, messages: 1 } });
        assert_eq!(alone.frames(), [(0, b"0123456789".to_vec())], "{taken}");
        let end = alone.given.min(line.len());
        if end > sent {
            alone.hear(&line[sent..end]);
        }
        sent = end;
    }
    // Octets and frames are both needed.
    for credit in [Credit { octets: 9, messages: 5 }, Credit { octets: 0, messages: 0 }] {
        alone.ask(FramesRequest::Credit { credit });
        assert_eq!(alone.ups(), []);
    }
}

/// A TNC that stops reading holds back the layer above, and is not asked again and again.
#[test]
fn a_tnc_that_stops_reading_is_not_sent_more() {
    let room = Credit { octets: 10_000, messages: 20 };
    let mut alone = Alone::new(Config { room, asks_queue: true, ..at_rate(9600) });
    alone.tell(OctetsIndication::State { up: true });
    alone.tell(OctetsIndication::Credit { credit: 3 + 2 * 503 + 100 });
    alone.ups();
    for mark in 0..20 {
        alone.send(0, &[0xC0; 250], Some(mark));
    }
    assert_eq!(alone.line.len(), 3 + 2 * 503 + 100);
    let held = alone.kiss.held();
    alone.pass(Duration::from_secs(1000));
    let left = |mark| [Up::Credit(0, 250, 1), Up::Left(0, mark)];
    assert_eq!(alone.ups(), [left(0), left(1)].concat(), "the others are not with the TNC");
    assert_eq!(alone.kiss.held(), held);
    // It reads on, octet by octet.
    for _ in 0..18 * 503 - 100 {
        alone.tell(OctetsIndication::Credit { credit: 1 });
    }
    assert_eq!(alone.kiss.held(), 0);
    assert_eq!(alone.line.iter().filter(|octet| **octet == 0xC0).count(), 3 + 2 * 20);
    alone.pass(Duration::from_secs(1000));
    let lefts = alone.ups().into_iter().filter(|up| matches!(up, Up::Left(..))).count();
    assert_eq!(lefts, 18);
}

/// Random octets from the line: no panic, no frame beyond the bound, no credit lost.
#[test]
fn random_octets_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(3);
    for seed in 0..2000 {
        let config = Config {
            longest: random.usize(1..40),
            ports: random.u8(1..=16),
            checked: random.bool(),
            acknowledged: random.bool(),
            asks_queue: random.bool(),
            ..Config::default()
        };
        let longest = config.longest;
        let mut alone = Alone::up(config);
        let mut heard = 0;
        for mark in 0..30 {
            if random.bool() {
                alone.send(0, &[mark; 1], Some(mark.into()));
            }
            let octets: Vec<u8> = (0..random.usize(0..60))
                .map(|_| {
                    let usual = [0xC0, 0xDB, 0xDC, 0x00, 0x0C, 0x06];
                    if random.bool() { usual[random.usize(0..6)] } else { random.u8(..) }
                })
                .collect();
            heard += octets.len();
            alone.hear(&octets);
            alone.pass(Duration::from_millis(random.u64(0..1000)));
        }
        for (port, frame) in alone.frames() {
            assert!(port < 16 && (1..=longest).contains(&frame.len()), "seed {seed}");
        }
        assert_eq!((alone.given, alone.kiss.held()), (LINE + heard, 0), "seed {seed}");
    }
}
