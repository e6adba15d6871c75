//! The link between two ends, and what is tried on it.

use fastrand::Rng;
use stackwright_contract::Duration;
pub use stackwright_simulator::seeds;
use stackwright_simulator::{Conditions, Deed, Event, LinkStep, Reorder};
use stackwright_transport::slots::Front;
use stackwright_transport::{Boxed, Configuration, Slots};
use stackwright_wire::BufferTree;

use crate::{End, Promise, Talk, Trial};

/// The kind of message.
pub type M = BufferTree;

/// It loses, doubles, reorders and alters.
pub fn bad(seed: u64) -> Conditions {
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
        corrupt: random.f64() * 0.1,
        ..Conditions::IDEAL
    }
}

/// Messages in one direction on even seeds, in both on odd ones.
pub fn talk(seed: u64, promise: Promise) -> Talk {
    Talk { there: 16, back: seed % 2 * 12, longest: 3000, promise, ..Talk::default() }
}

/// Everything arrives as promised, for all these seeds.
pub fn talks<C: Configuration<Message = M>>(make: impl Fn(usize) -> Slots<C>, promise: Promise) {
    for seed in seeds(300) {
        let mut trial = Trial::new(&make, &bad(seed), seed);
        let outcome = trial.talk(&talk(seed, promise), seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}, {:?}", trial.reasons());
    }
}

/// How many packets of each end are tried in turn.
const PACKETS: u64 = 64;

/// Everything arrives as promised, whatever happens to one packet: each of the first 64 of each end
/// meets with every deed.
pub fn withstands<C: Configuration<Message = M>>(
    make: impl Fn(usize) -> Slots<C>,
    promise: Promise,
) {
    let delay = Duration::from_millis(5);
    let by = Duration::from_millis(1500);
    let deeds = [
        Deed::Lose,
        Deed::Duplicate { by },
        Deed::Alter { bit: 77 },
        Deed::Alter { bit: 300 },
        Deed::Delay { by },
        Deed::HoldBack { by },
    ];
    let talk = Talk { there: 80, back: 80, longest: 1500, promise, ..Talk::default() };
    for (nth, deed) in (0..PACKETS).flat_map(|nth| deeds.map(|deed| (nth, deed))) {
        for side in 0..2 {
            let mut events = [Vec::new(), Vec::new()];
            events[side].push(Event { nth, deed });
            let conditions = Conditions { delay, ..Conditions::IDEAL };
            let mut trial = Trial::scripted(&make, &conditions, events);
            let outcome = trial.talk(&talk, nth, |_, _| {});
            assert!(outcome.is_ok(), "{deed:?} of {nth} from {side}: {outcome:?}");
            assert!(trial.packets() > PACKETS, "{} packets", trial.packets());
        }
    }
}

/// Everything arrives, and soon, over a path that drops longer packets silently than an Internet
/// path may have (RFC 8899 §4.3): from the beginning, so that the first packets do not arrive, or
/// from some time on. `make` has packets of 1472 octets.
pub fn pass_narrow_paths<C: Configuration<Message = M>>(
    make: impl Fn(usize) -> Slots<C>,
    promise: Promise,
) {
    const HEADERS: usize = 28;
    for seed in seeds(60) {
        let mut random = Rng::with_seed(seed);
        let mtu = [1280, 1400, 576, 1280][seed as usize % 4];
        let at = if seed % 2 == 0 { 0 } else { random.u64(1..400) };
        let (at, mtu) = (Duration::from_millis(at), Some(mtu - HEADERS));
        let loss = if random.bool() { 0.0 } else { random.f64() * 0.05 };
        let conditions = Conditions {
            rate: Some(1_250_000),
            delay: Duration::from_millis(random.u64(1..60)),
            steps: vec![LinkStep { at, rate: None, mtu, ecn: None, loss: None }].into(),
            loss: loss.into(),
            ..Conditions::IDEAL
        };
        let limit = Duration::from_secs(40);
        let talk = Talk { there: 60, back: 60, longest: 20_000, promise, limit, ..Talk::default() };
        let mut trial = Trial::new(&make, &conditions, seed);
        let outcome = trial.talk(&talk, seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}, {:?}", trial.reasons());
    }
}

/// Static and boxed policies put the same on the wire at the same time.
pub fn have_the_same_trace<C: Configuration<Message = M>, F: Front<M>>(
    make: impl Fn(usize) -> Slots<C>,
    boxed: impl Fn(usize) -> Slots<Boxed<M, F>>,
    promise: Promise,
) {
    for seed in seeds(50) {
        let one = Trial::new(&make, &bad(seed), seed).talk(&talk(seed, promise), seed, |_, _| {});
        let other =
            Trial::new(&boxed, &bad(seed), seed).talk(&talk(seed, promise), seed, |_, _| {});
        assert!(one.is_ok(), "seed {seed}: {one:?}");
        assert_eq!(one, other, "seed {seed}");
    }
}

/// Packets that leave together, with their checks, are those that leave one by one, octet for octet
/// and at the same time; one in `share` does, at least.
pub fn are_the_same_in_runs<C: Configuration<Message = M>>(
    make: impl Fn(usize) -> Slots<C>,
    promise: Promise,
    share: u64,
) {
    let (mut packets, mut together) = (0, 0);
    for seed in seeds(50) {
        let talk = Talk { longest: 10_000, ..talk(seed, promise) };
        let one = Trial::new(&make, &bad(seed), seed).talk(&talk, seed, |_, _| {});
        let mut trial = Trial::new(&make, &bad(seed), seed).in_runs();
        let other = trial.talk(&talk, seed, |_, _| {});
        assert!(one.is_ok(), "seed {seed}: {one:?}");
        assert_eq!(one, other, "seed {seed}");
        (packets, together) = (packets + trial.packets(), together + trial.together());
    }
    assert!(together > packets / share, "{together} of {packets} packets left together");
}

/// Judges that change every ten packets, in both ends, change nothing that is delivered.
pub fn may_be_exchanged<F: Front<M>>(
    boxed: impl Fn(usize) -> Slots<Boxed<M, F>>,
    mut exchange: impl FnMut(&mut Slots<Boxed<M, F>>, usize),
    promise: Promise,
) {
    for seed in seeds(500) {
        let mut trial = Trial::new(&boxed, &bad(seed), seed);
        let meddle = |end: &mut End<Boxed<M, F>>, packets: u64| {
            if packets.is_multiple_of(10) {
                exchange(end.association.slots_mut(), packets as usize / 10);
            }
        };
        let outcome = trial.talk(&talk(seed, promise), seed, meddle);
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}, {:?}", trial.reasons());
    }
}
