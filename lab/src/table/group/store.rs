//! A replicated store of three processes beside etcd, with the same number of clients.

use std::cell::RefCell;

use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;

use super::stores::{ETCD, Load, OURS, Stores};
use crate::measure::{Contestant, Course, Effort, Limit};
use crate::table::{About, AnyTable, NO_AXES, Table};

/// The table.
pub(crate) const STORE: &dyn AnyTable = &Table::<Load, Stores> {
    about: About {
        name: "group-store",
        title: "A replicated store beside etcd",
        measures: "Three replicas of `stackwright group store` and three members of etcd, on one \
                   machine, over the loopback interface, each loaded by its project's own program: \
                   redis-benchmark, and etcd's `benchmark`. As many clients, each with a \
                   connection and one request in flight, all at the member that orders writes \
                   (etcd's leader). Values of 64 octets, one key. A write is answered when most \
                   members have it. Reads are the member's own (etcd: serializable). etcd's files \
                   are in memory, so that it never waits for a disk. Processor time is that of \
                   the three members, without the load.",
        source: "",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |_| {
        let row = |key: &str, label: &str| Row::new(key, "three members", label, "1/s");
        [
            ("set/50", "writes of 50 clients", Load { writes: true, clients: 50 }),
            ("get/50", "reads of 50 clients", Load { writes: false, clients: 50 }),
            ("set/1", "writes of one client", Load { writes: true, clients: 1 }),
            ("get/1", "reads of one client", Load { writes: false, clients: 1 }),
        ]
        .map(|(key, label, load)| (row(key, label).more_is_better(), load))
        .into()
    },
    open: |_, notes| Stores::up(notes),
    measure,
};

fn measure(
    stores: &mut Stores,
    load: &Load,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let scale = if course.effort == Effort::Quick { 1 } else { 5 };
    let kept: Vec<_> = stores.all().map(|store| (store, RefCell::default())).collect();
    row.columns = course.compete(kept.iter().map(|(store, kept)| {
        Contestant::new(store.name, store.name == OURS, move || {
            let figures = store.load(*load, scale)?;
            RefCell::<Vec<_>>::borrow_mut(kept).push(figures);
            Ok(figures.rate)
        })
    }))?;
    for (column, (_, kept)) in row.columns.iter_mut().zip(&kept) {
        // The first was for nothing.
        let kept = kept.borrow();
        let timed = kept.get(1..).unwrap_or_default();
        let of = |figure: fn(&super::stores::Figures) -> f64| {
            timed.iter().map(figure).collect::<Vec<_>>()
        };
        column.tell("processor time of a request", "s", &of(|it| it.processor), None);
        column.tell("time of a request, median", "s", &of(|it| it.median), None);
    }
    let is_judged = load.writes && load.clients > 1;
    row.compare(OURS, ETCD, is_judged.then_some(Target::AtLeast(2.0)));
    Ok(())
}
