//! All event managers keep one contract: the same script gives the same firings on each of them and
//! on a model.

use std::collections::BTreeMap;
use std::fmt::Debug;

use stackwright_base::events::{
    Absent, Alternative, DeltaList, Events, Expires, Simple, TimingWheel,
};
use stackwright_contract::Instant;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;

/// So many operations has a script; a tenth in an unoptimised build.
const OPERATIONS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

fn at(nanoseconds: u64) -> Instant {
    Instant::from_nanoseconds(nanoseconds)
}

/// What an event manager has to do, in the most obvious way: ordered by deadline, then by when it
/// was scheduled.
#[derive(Default)]
struct Model {
    events: BTreeMap<(Instant, u64), u64>,
    scheduled: u64,
}

impl Expires<u64> for Model {
    fn next_deadline(&self) -> Option<Instant> {
        self.events.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    fn expire(&mut self, now: Instant) -> Option<u64> {
        let first = self.events.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    fn len(&self) -> usize {
        self.events.len()
    }
}

impl Events<u64> for Model {
    type Ticket = (Instant, u64);

    fn schedule(&mut self, at: Instant, what: u64) -> Self::Ticket {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), what);
        (at, self.scheduled)
    }

    fn cancel(&mut self, ticket: Self::Ticket) -> Option<u64> {
        self.events.remove(&ticket)
    }
}

/// How a script goes.
struct Script {
    seed: u64,
    operations: usize,
    /// At most so many events at once.
    most: usize,
    /// Of a hundred operations, so many schedule and so many cancel; the others let time pass.
    schedule: u32,
    cancel: u32,
    /// A step of time has so many bits at most.
    step: u32,
}

/// A number with so many bits at most, all lengths alike.
fn mixed(random: &mut fastrand::Rng, bits: u32) -> u64 {
    random.u64(..) >> (64 - random.u32(1..=bits))
}

/// Runs a script on `E` and on the model, and compares every answer.
fn play<E: Events<u64>>(script: &Script) {
    let mut random = fastrand::Rng::with_seed(script.seed);
    let (mut model, mut subject) = (Model::default(), E::default());
    let mut tickets: Vec<((Instant, u64), E::Ticket)> = Vec::new();
    let mut stale = tickets.clone();
    let mut now = 0_u64;
    for what in 0..script.operations as u64 {
        let choice = random.u32(0..100);
        if choice < script.schedule && model.len() < script.most {
            let deadline = match random.u32(0..64) {
                0 => u64::MAX,
                1 => u64::MAX - mixed(&mut random, 40),
                2..4 => now.saturating_sub(mixed(&mut random, 47)),
                4..8 => now,
                // One that is there already, perhaps.
                8..12 => tickets.last().map_or(now, |((deadline, _), _)| deadline.nanoseconds()),
                // Whole seconds meet each other.
                12..20 => now.saturating_add(random.u64(1..100) * SECOND) / SECOND * SECOND,
                _ => now.saturating_add(mixed(&mut random, 49)),
            };
            tickets
                .push((model.schedule(at(deadline), what), subject.schedule(at(deadline), what)));
        } else if choice < script.schedule + script.cancel && !tickets.is_empty() {
            // Sometimes the next one, which is the hardest to do without.
            let next = model.events.first_key_value().map(|(key, _)| *key);
            let pick = match next.filter(|_| tickets.len() < 1000 && random.u32(0..4) == 0) {
                Some(next) => {
                    tickets.iter().position(|(ticket, _)| *ticket == next).expect("it has a ticket")
                }
                None => random.usize(..tickets.len()),
            };
            let (expected, ticket) = tickets.swap_remove(pick);
            assert_eq!(subject.cancel(ticket), model.cancel(expected), "operation {what}");
            stale.push((expected, ticket));
            let (_, ticket) = stale[random.usize(..stale.len())];
            assert_eq!(subject.cancel(ticket), None, "operation {what}");
        } else {
            now = now.saturating_add(mixed(&mut random, script.step));
            // Not everything at once, so that other operations meet what is overdue.
            let mut most = if random.bool() { usize::MAX } else { random.usize(0..4) };
            while most > 0 {
                most -= 1;
                let due = model.next_deadline();
                let fired = model.expire(at(now));
                assert_eq!(subject.expire(at(now)), fired, "operation {what}, {due:?} at {now}");
                assert_eq!(subject.next_deadline(), model.next_deadline(), "operation {what}");
                if fired.is_none() {
                    break;
                }
            }
            if tickets.len() > 2 * script.most {
                tickets.retain(|(ticket, _)| model.events.contains_key(ticket));
            }
        }
        assert_eq!(subject.next_deadline(), model.next_deadline(), "operation {what}");
        assert_eq!(subject.len(), model.len(), "operation {what}");
    }
    // And what is left, to the end of time.
    while let Some(fired) = model.expire(Instant::END) {
        assert_eq!(subject.expire(Instant::END), Some(fired));
        assert_eq!(subject.next_deadline(), model.next_deadline());
    }
    assert!(subject.is_empty() && subject.expire(Instant::END).is_none());
}

/// Steps up to days: everything fires, and soon.
const IMPATIENT: Script =
    Script { seed: 1, operations: OPERATIONS, most: 200, schedule: 50, cancel: 25, step: 48 };
/// Steps up to seconds: most events are cancelled, or wait long.
const PATIENT: Script = Script { seed: 2, step: 32, most: 150, ..IMPATIENT };
/// Steps of microseconds: many events in one tick of the wheel.
const CROWDED: Script = Script { seed: 3, step: 14, ..IMPATIENT };

/// The contract, for one alternative.
macro_rules! contract {
    ($($module:ident: $kind:ty),*) => {$(
        mod $module {
            use super::*;

            type Subject<T> = <$kind as Alternative>::Store<T>;

            #[test]
            fn scripts_give_what_the_model_gives() {
                for script in [IMPATIENT, PATIENT, CROWDED] {
                    play::<Subject<u64>>(&script);
                }
            }

            #[test]
            fn an_hour_passes_at_once() {
                super::an_hour_passes_at_once(Subject::default());
            }

            #[test]
            fn stale_tickets_are_recognised() {
                super::stale_tickets_are_recognised(Subject::default());
            }

            #[test]
            fn the_end_of_time_and_the_past() {
                super::the_end_of_time_and_the_past(Subject::default());
            }

            #[test]
            fn equal_deadlines_keep_their_order() {
                super::equal_deadlines_keep_their_order(Subject::default());
            }

            #[test]
            fn nothing_fires_early() {
                super::nothing_fires_early(Subject::default());
            }
        }
    )*};
}

contract!(simple: Simple, delta_list: DeltaList, timing_wheel: TimingWheel);

fn drain<T>(events: &mut impl Events<T>, now: u64) -> Vec<T> {
    std::iter::from_fn(|| events.expire(at(now))).collect()
}

fn an_hour_passes_at_once(mut events: impl Events<u64>) {
    let mut random = fastrand::Rng::with_seed(4);
    let mut deadlines: Vec<u64> = (0..2000).map(|_| random.u64(..=HOUR)).collect();
    for deadline in &deadlines {
        events.schedule(at(*deadline), *deadline);
    }
    deadlines.sort_unstable();
    assert_eq!(events.next_deadline(), Some(at(deadlines[0])));
    assert_eq!(drain(&mut events, HOUR), deadlines);
    assert!(events.is_empty() && events.next_deadline().is_none());
    // And again, from where time is now.
    events.schedule(at(HOUR + 1), 1);
    events.schedule(at(DAY), 2);
    assert_eq!(drain(&mut events, 2 * HOUR), [1]);
    assert_eq!(events.next_deadline(), Some(at(DAY)));
}

fn stale_tickets_are_recognised<E: Events<u64>>(mut events: E) {
    let cancelled = events.schedule(at(SECOND), 1);
    assert_eq!(events.cancel(cancelled), Some(1));
    assert_eq!((events.cancel(cancelled), events.next_deadline(), events.len()), (None, None, 0));
    let fired = events.schedule(at(2 * SECOND), 2);
    assert_ne!(fired, cancelled);
    assert_eq!(drain(&mut events, 2 * SECOND), [2]);
    assert_eq!(events.cancel(fired), None);
    // Their place is used again, for the same deadlines, and in the past.
    for deadline in [SECOND, 2 * SECOND, DAY, 0] {
        let used_again = events.schedule(at(deadline), 3);
        assert_eq!((events.cancel(cancelled), events.cancel(fired)), (None, None));
        assert_eq!(events.len(), 1);
        assert_eq!(events.cancel(used_again), Some(3));
        assert_eq!(events.cancel(used_again), None);
    }
}

fn the_end_of_time_and_the_past(mut events: impl Events<&'static str>) {
    let never = events.schedule(Instant::END, "never");
    assert_eq!(events.next_deadline(), Some(Instant::END));
    events.schedule(at(u64::MAX - 1), "nearly never");
    assert_eq!(drain(&mut events, DAY), [""; 0]);
    events.schedule(at(HOUR), "overdue");
    events.schedule(Instant::START, "long overdue");
    events.schedule(at(DAY), "due");
    assert_eq!(events.next_deadline(), Some(Instant::START));
    assert_eq!(drain(&mut events, DAY), ["long overdue", "overdue", "due"]);
    events.schedule(at(HOUR), "overdue again");
    assert_eq!(events.next_deadline(), Some(at(HOUR)));
    assert_eq!(drain(&mut events, DAY), ["overdue again"]);
    assert_eq!(drain(&mut events, u64::MAX - 1), ["nearly never"]);
    assert_eq!(events.next_deadline(), Some(Instant::END));
    events.schedule(Instant::END, "at the end");
    assert_eq!(events.cancel(never), Some("never"));
    assert_eq!(drain(&mut events, u64::MAX), ["at the end"]);
}

/// Events of one deadline are scheduled while it is far, near, next and past.
fn equal_deadlines_keep_their_order(mut events: impl Events<u64>) {
    let deadline = 3 * HOUR + 12345;
    let mut what = 0..;
    for now in [0, HOUR, 3 * HOUR, deadline - SECOND, deadline - 1000, deadline - 1] {
        events.schedule(at(now), u64::MAX);
        assert_eq!(drain(&mut events, now), [u64::MAX]);
        for _ in 0..20 {
            events.schedule(at(deadline + 1), 1000 + what.start);
            events.schedule(at(deadline), what.next().expect("endless"));
        }
    }
    let count = what.start;
    assert_eq!(
        (0..10).map_while(|_| events.expire(at(deadline))).collect::<Vec<_>>(),
        Vec::from_iter(0..10)
    );
    events.schedule(at(deadline), count);
    assert_eq!(drain(&mut events, deadline), Vec::from_iter(10..=count));
    assert_eq!(drain(&mut events, deadline + 1), Vec::from_iter(1000..1000 + count));
}

fn nothing_fires_early(mut events: impl Events<u64>) {
    assert_eq!(events.expire(Instant::END), None);
    for deadline in [5, SECOND, SECOND + 1, HOUR, DAY] {
        events.schedule(at(deadline), deadline);
    }
    for deadline in [5, SECOND, SECOND + 1, HOUR, DAY] {
        assert_eq!(events.next_deadline(), Some(at(deadline)));
        assert_eq!(events.expire(at(deadline - 1)), None);
        assert_eq!(events.expire(at(deadline)), Some(deadline));
        assert_eq!(events.expire(at(deadline)), None);
    }
}

#[test]
fn the_wheel_turns_with_a_hundred_thousand_events() {
    let crowd = Script {
        seed: 5,
        operations: OPERATIONS,
        most: 100_000,
        schedule: 65,
        cancel: 20,
        step: 28,
    };
    play::<TimingWheel<u64>>(&crowd);
    // All of them nearer to each other than a tick.
    play::<TimingWheel<u64>>(&Script { seed: 6, step: 8, ..crowd });
}

/// The next event of very many is cancelled again and again, while the wheel stands before all of
/// them; then others come in between.
#[test]
fn the_next_of_many_is_cancelled() {
    let (mut wheel, mut model) = (TimingWheel::default(), Model::default());
    let mut random = fastrand::Rng::with_seed(7);
    let mut tickets: Vec<_> = (0..20_000)
        .map(|what| {
            let deadline = at(HOUR + random.u64(..10 * SECOND));
            (deadline, wheel.schedule(deadline, what), model.schedule(deadline, what))
        })
        .collect();
    tickets.sort_by_key(|(deadline, _, key)| (*deadline, key.1));
    let mut tickets = tickets.into_iter();
    for (_, ticket, key) in tickets.by_ref().take(10_000) {
        assert_eq!(wheel.cancel(ticket), model.cancel(key));
        assert_eq!(wheel.next_deadline(), model.next_deadline());
    }
    for what in 0..10_000 {
        let deadline = at(random.u64(..2 * HOUR));
        wheel.schedule(deadline, what);
        model.schedule(deadline, what);
        assert_eq!(wheel.next_deadline(), model.next_deadline());
    }
    for second in 0..7200 {
        let now = second * SECOND;
        assert_eq!(drain(&mut wheel, now), drain(&mut model, now));
        assert_eq!(wheel.next_deadline(), model.next_deadline());
    }
}

/// What is about to fire is cancelled, nearly all of it, after some of it has fired and some more
/// has come: all in one tick.
#[test]
fn a_tick_is_cancelled_while_it_fires() {
    let (mut wheel, mut model) = (TimingWheel::default(), Model::default());
    let mut random = fastrand::Rng::with_seed(8);
    let mut tickets = Vec::new();
    let mut schedule = |count, wheel: &mut TimingWheel<u64>, model: &mut Model| {
        for what in 0..count {
            let deadline = at(HOUR + random.u64(..1000));
            tickets.push((wheel.schedule(deadline, what), model.schedule(deadline, what)));
        }
    };
    schedule(1000, &mut wheel, &mut model);
    for _ in 0..100 {
        assert_eq!(wheel.expire(at(DAY)), model.expire(at(DAY)));
    }
    schedule(1000, &mut wheel, &mut model);
    fastrand::Rng::with_seed(9).shuffle(&mut tickets);
    for (ticket, key) in tickets.drain(20..) {
        assert_eq!(wheel.cancel(ticket), model.cancel(key));
        assert_eq!(wheel.next_deadline(), model.next_deadline());
    }
    assert!(model.len() > 10);
    assert_eq!(drain(&mut wheel, DAY), drain(&mut model, DAY));
}

/// What may be selected where it is not known whether time matters.
fn asks<K: Alternative>() -> (Option<Instant>, Option<u64>, bool) {
    let mut events = K::Store::<u64>::default();
    (events.next_deadline(), events.expire(Instant::END), events.is_empty())
}

#[test]
fn the_absent_choice_has_nothing_to_say() {
    assert_eq!(asks::<Absent>(), (None, None, true));
    assert_eq!(asks::<Simple>(), asks::<Absent>());
    assert_eq!(asks::<DeltaList>(), asks::<Absent>());
    assert_eq!(asks::<TimingWheel>(), asks::<Absent>());
    assert_eq!(size_of::<Absent<[u64; 100]>>(), 0);
}

/// Tickets can be kept and looked at, whatever is scheduled.
#[test]
fn tickets_are_plain_values() {
    fn plain<T: Copy + Eq + Debug + Send + Sync + 'static>(_: T) {}
    plain(Simple::default().schedule(Instant::START, std::rc::Rc::new(())));
    plain(TimingWheel::default().schedule(Instant::START, std::rc::Rc::new(())));
}
