//! Event managers: events are inserted while others wait, cancelled in random order, or expire one
//! after the other.

use stackwright_base::events::{DeltaList, Events, Simple, TimingWheel};
use stackwright_contract::Instant;
use stackwright_gate::subject::{Figure, Subject};

/// Events of one turn.
const COUNT: usize = 256;
/// Nanoseconds within which all are due.
const SPAN: u64 = 60_000_000_000;

/// What is counted.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Insert,
    Cancel,
    Expire,
}

pub(crate) fn add(figures: &mut Vec<Figure>) {
    for (phase, name) in
        [(Phase::Insert, "insert"), (Phase::Cancel, "cancel"), (Phase::Expire, "expire")]
    {
        let mut push = |events: &str, figure: fn(String, Phase) -> Figure| {
            figures.push(figure(format!("events/{events}/{name}"), phase));
        };
        push("Simple", figure::<Simple<u64>>);
        push("DeltaList", figure::<DeltaList<u64>>);
        push("TimingWheel", figure::<TimingWheel<u64>>);
    }
}

fn figure<E: Events<u64> + 'static>(name: String, phase: Phase) -> Figure {
    Figure::new(name, COUNT as u64, move || Timers::<E>::new(phase))
}

struct Timers<E: Events<u64>> {
    phase: Phase,
    events: E,
    tickets: Vec<E::Ticket>,
    /// After how many nanoseconds each is due.
    delays: Vec<u64>,
    /// In which order they are cancelled.
    order: Vec<usize>,
    now: u64,
}

impl<E: Events<u64>> Timers<E> {
    fn new(phase: Phase) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let delays = (0..COUNT).map(|_| random.u64(1..=SPAN)).collect();
        let mut order: Vec<usize> = (0..COUNT).collect();
        random.shuffle(&mut order);
        Timers {
            phase,
            events: E::default(),
            tickets: Vec::with_capacity(COUNT),
            delays,
            order,
            now: 0,
        }
    }

    fn insert(&mut self) -> u64 {
        for (what, delay) in self.delays.iter().enumerate() {
            let at = Instant::from_nanoseconds(self.now + delay);
            self.tickets.push(self.events.schedule(at, what as u64));
        }
        self.events.len() as u64
    }

    fn cancel(&mut self) -> u64 {
        let Timers { events, tickets, order, .. } = self;
        order.iter().filter_map(|place| events.cancel(tickets[*place])).sum()
    }

    /// As a driver does: to the next deadline, and everything that is due then.
    fn expire(&mut self) -> u64 {
        let mut sum = 0;
        while let Some(at) = self.events.next_deadline() {
            while let Some(what) = self.events.expire(at) {
                sum += what;
            }
        }
        sum
    }
}

impl<E: Events<u64>> Subject for Timers<E> {
    fn ready(&mut self) {
        self.expire();
        self.now += SPAN;
        self.tickets.clear();
        if self.phase != Phase::Insert {
            self.insert();
        }
    }

    fn work(&mut self) -> u64 {
        let all = (COUNT * (COUNT - 1) / 2) as u64;
        let (done, expected) = match self.phase {
            Phase::Insert => (self.insert(), COUNT as u64),
            Phase::Cancel => (self.cancel(), all),
            Phase::Expire => (self.expire(), all),
        };
        assert_eq!(done, expected, "each of them, once");
        done
    }
}
