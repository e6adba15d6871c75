//! A protocol that waits, on a base that does not know time.

use stackwright_base::events::{Absent, Events, Alternative, Simple};
use stackwright_contract::Instant;

fn remind<K: Alternative>(events: &mut K::Store<&'static str>)
where
    K::Store<&'static str>: Events<&'static str>,
{
    events.schedule(Instant::END, "the end");
}

fn main() {
    remind::<Simple>(&mut Simple::default());
    remind::<Absent>(&mut Absent::default());
}
