//! Nothing is allocated in the steady state: whatever an event manager needs, it uses again.

#[path = "../../compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only allocations are counted")]
mod count;

use stackwright_base::events::{DeltaList, Events, Simple, TimingWheel};
use stackwright_contract::Instant;

const MILLISECOND: u64 = 1_000_000;

/// Five hundred associations, each of which has a timer. A quarter of a million times one of them
/// is restarted, or all that are due, and time moves on.
fn restarts<E: Events<usize>>(what: &str) {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut events, mut now) = (E::default(), 0);
    let mut restarted = |now: u64, events: &mut E, association| {
        let bound = if random.u8(..) < 200 { 400 * MILLISECOND } else { 7_200_000 * MILLISECOND };
        events.schedule(Instant::from_nanoseconds(now + random.u64(..bound)), association)
    };
    let mut tickets: Vec<_> =
        (0..500).map(|association| restarted(0, &mut events, association)).collect();
    let mut turn = |turns: usize| {
        for turn in 0..turns {
            now += MILLISECOND / 4;
            let association = turn * 7919 % tickets.len();
            events.cancel(tickets[association]).expect("it runs");
            tickets[association] = restarted(now, &mut events, association);
            while let Some(association) = events.expire(Instant::from_nanoseconds(now)) {
                tickets[association] = restarted(now, &mut events, association);
            }
        }
    };
    turn(125_000);
    assert_eq!(count::allocations(|| turn(125_000)), 0, "{what}");
}

#[test]
fn nothing_is_allocated() {
    restarts::<Simple<usize>>("Simple");
    restarts::<DeltaList<usize>>("DeltaList");
    restarts::<TimingWheel<usize>>("TimingWheel");
}
