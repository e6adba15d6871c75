//! E20: the first units of a picture, beside TCP, over links that lose packets.

use stackwright_programs::picture::Picture;
use stackwright_programs::statistics::{median, quantile};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;

use super::adus::FULL;
use super::fetching::{BBR, CUBIC, FAR_RATE, Gallery, OURS, far, link};
use crate::link::check_rights;
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct JisFirst;

/// By how much the first units shall be there before TCP's, in round trips.
const EARLIER: f64 = 0.8;
/// As many times as long as other cells: a late one in twenty needs a few hundred to be seen.
const PATIENCE: f64 = 4.0;

impl Table for JisFirst {
    fn about(&self) -> About {
        About {
            name: "jis-first",
            title: "the first units of a picture",
            measures: "A client fetches a JPEG of 140 KB by turns over the transport that JIS’s \
                       phase selects and over the kernel’s TCP, each over a new association, \
                       over a modelled link of 20 Mb/s with that round trip, and packets that \
                       are lost each way: the time from the opening until the first units are \
                       painted, at the median and at the 95th percentile.",
            source: "",
            axes: Axes { x: "% of packets lost".into(), y: "s".into(), log_x: false, log_y: false },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let losses: &[usize] = if effort == Effort::Quick { &[1] } else { &[0, 1, 2, 5, 10] };
        let cells = [20, 100].into_iter();
        cells.flat_map(|ms| losses.iter().map(move |lost| format!("{ms}ms/{lost}"))).collect()
    }

    fn open(&self, _: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let rights = check_rights();
        if let Err(why) = &rights {
            notes.push(format!("Nothing was measured: {}.", why.says()));
        }
        let gallery = Gallery::of(Picture { columns: 50, rows: 30, coefficients: 62 })?;
        Ok(Box::new(Firsts { gallery, may_link: rights.is_ok() }))
    }
}

struct Firsts {
    gallery: Gallery,
    may_link: bool,
}

impl Cells for Firsts {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (round_trip, lost) = far(key).ok_or_else(unknown)?;
        let group = format!("{round_trip} ms to and fro");
        let mut row = Row::new(key, group, format!("{lost} % lost"), "s");
        row.x = Some(lost as f64);
        if !self.may_link {
            return Ok(row);
        }
        let ends = link(FAR_RATE, round_trip, lost, course.seed)?;
        let served = self.gallery.serve(&ends, &[OURS, CUBIC, BBR], &course.progress)?;
        let contestants = served.iter().map(|one| {
            let ends = &ends;
            one.contestant(move || Ok(one.fetch(ends, FULL)?.first))
        });
        row.columns = course.compete_for(PATIENCE, contestants.collect())?;
        let values = |column: &Column| -> Vec<f64> {
            column.samples.iter().map(|sample| sample.value).collect()
        };
        let others = row.columns.iter().find(|column| column.name == CUBIC).map(values);
        for column in &mut row.columns {
            let own = values(column);
            column.tell("the 95th percentile", "s", quantile(&own, 0.95).as_slice(), None);
            let Some(others) = others.as_ref().filter(|_| column.name == OURS) else { continue };
            let earlier = |of: &dyn Fn(&[f64]) -> Option<f64>| {
                let difference = of(others)? - of(&own)?;
                Some(1e3 * difference / round_trip as f64)
            };
            for (name, earlier, least) in [
                ("round trips before TCP’s, median", earlier(&|all| median(all)), EARLIER),
                (
                    "round trips before TCP’s, 95th percentile",
                    earlier(&|all| quantile(all, 0.95)),
                    0.0,
                ),
            ] {
                column.tell(name, "", earlier.as_slice(), Some(Target::AtLeast(least)));
            }
        }
        row.compare(OURS, CUBIC, None);
        row.compare(OURS, BBR, None);
        Ok(row)
    }
}
