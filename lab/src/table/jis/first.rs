//! E20: the first units of a picture, beside TCP, over links that lose packets.

use stackwright_programs::picture::Picture;
use stackwright_programs::statistics::{median, quantile};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;

use super::adus::FULL;
use super::fetching::{BBR, CUBIC, FAR_RATE, Gallery, OURS, wire};
use crate::measure::{Course, Effort, Limit};
use crate::table::lossy::{Lossy, cells};
use crate::table::transports::may_link;
use crate::table::{About, AnyTable, Table};

/// By how much the first units shall be there before TCP's, in round trips.
const EARLIER: f64 = 0.8;
/// As many times as long as other cells: a late one in twenty needs a few hundred to be seen.
const PATIENCE: f64 = 4.0;

/// The table. It stands on a picture, where links can be made.
pub(crate) const FIRST: &dyn AnyTable = &Table::<Lossy, Option<Gallery>> {
    about: About {
        name: "jis-first",
        title: "the first units of a picture",
        measures: "A client fetches a JPEG of 140 KB by turns over the transport that JIS’s \
                   phase selects and over the kernel’s TCP, each over a new association, \
                   over a modelled link of 20 Mb/s with that round trip, and packets that \
                   are lost each way: the time from the opening until the first units are \
                   painted, at the median and at the 95th percentile.",
        source: "",
        axes: Axes { x: "% of packets lost", y: "s", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |effort| {
        let percents: &[f64] =
            if effort == Effort::Quick { &[1.0] } else { &[0.0, 1.0, 2.0, 5.0, 10.0] };
        cells(&[20, 100], percents, "s")
    },
    open: |_, notes| {
        let gallery = || Gallery::of(Picture { columns: 50, rows: 30, coefficients: 62 });
        may_link("", notes).then(gallery).transpose()
    },
    measure,
};

fn measure(
    gallery: &mut Option<Gallery>,
    lossy: &Lossy,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let Some(gallery) = gallery else { return Ok(()) };
    let ends = wire(lossy, FAR_RATE, course.seed)?;
    let served = gallery.serve(&ends, &[OURS, CUBIC, BBR], &course.progress)?;
    let ends = &ends;
    let contestants =
        served.iter().map(|one| one.contestant(move || Ok(one.fetch(ends, FULL)?.first)));
    row.columns = course.compete_for(PATIENCE, contestants)?;
    let others = row.column(CUBIC).map(Column::values);
    for column in &mut row.columns {
        let own = column.values();
        column.tell("the 95th percentile", "s", quantile(&own, 0.95).as_slice(), None);
        let Some(others) = others.as_ref().filter(|_| column.name == OURS) else { continue };
        let earlier = |of: &dyn Fn(&[f64]) -> Option<f64>| {
            let difference = of(others)? - of(&own)?;
            Some(1e3 * difference / lossy.round_trip as f64)
        };
        for (name, earlier, least) in [
            ("round trips before TCP’s, median", earlier(&|all| median(all)), EARLIER),
            ("round trips before TCP’s, 95th percentile", earlier(&|all| quantile(all, 0.95)), 0.0),
        ] {
            column.tell(name, "", earlier.as_slice(), Some(Target::AtLeast(least)));
        }
    }
    row.compare(OURS, CUBIC, None);
    row.compare(OURS, BBR, None);
    Ok(())
}
