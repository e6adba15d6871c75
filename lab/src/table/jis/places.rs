//! E18: pictures beside TCP, in several places and with ADUs of two sizes.

use std::cell::RefCell;

use stackwright_programs::picture::Picture;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Figure, Row};
use stackwright_results::verdict::Target;

use super::adus::{FULL, HEAD};
use super::fetching::{BBR, CUBIC, FAR_RATE, Gallery, OURS, far, link};
use crate::link::{self as links, Veth};
use crate::measure::{Course, Effort, Limit};
use crate::table::transports::Ends;
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct Jis;

/// The octets of an ADU, as cells say them.
const SIZES: [usize; 2] = [639 + HEAD, FULL];
/// Octets per second of the modelled link: 100 Mb/s.
const RATE: u64 = 12_500_000;
/// What TCP's segments of 1500 octets have of a stream.
const SEGMENT: f64 = 1448.0;
/// What a picture over the link shall have of what its own packets leave.
const SHARE: f64 = 0.98;

/// The document's rates in kb/s by the size of an ADU, with TCP in a process of the system: TCP,
/// STRL.
const DOCUMENT: [[f64; 2]; 2] = [[3531.0, 2428.0], [5607.0, 5507.0]];

impl Table for Jis {
    fn about(&self) -> About {
        About {
            name: "jis",
            title: "pictures beside TCP",
            measures: "A client fetches one JPEG of 2.5 MB by turns over the transport that \
                       JIS’s phase selects and over the kernel’s TCP, both with the same client \
                       and server and ADUs of at most 640 or 1451 octets, each over a new \
                       association: octets of ADUs by the time from the first units that are \
                       painted until all are. The server has split the picture before, \
                       but for the first of them. \
                       loopback, veth: bound by the processor. link: a modelled link of 100 \
                       Mb/s without link headers, where TCP packs several ADUs into a packet. \
                       20ms, 100ms: the same at 20 Mb/s with that round trip, and packets that \
                       are lost.",
            source: "De Silva et al., 1996, table 2",
            axes: Axes::default(),
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let mut keys: Vec<String> = ["loopback", "veth", "link"]
            .into_iter()
            .flat_map(|place| SIZES.map(|size| format!("{place}/{size}")))
            .collect();
        let far: &[&str] = match effort {
            Effort::Quick => &["20ms/1", "100ms/1"],
            _ => &["20ms/0", "20ms/1", "20ms/5", "100ms/0", "100ms/1", "100ms/5"],
        };
        keys.extend(far.iter().map(|key| (*key).to_owned()));
        keys
    }

    fn open(&self, _: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let rights = links::check_rights();
        if let Err(why) = &rights {
            let why = why.says();
            notes.push(format!("Nothing was measured but over loopback: {why}."));
        }
        notes.push(
            "A transport in a process of its own, and one over io_uring, have no driver here."
                .into(),
        );
        let gallery = Gallery::of(Picture { columns: 250, rows: 108, coefficients: 62 })?;
        Ok(Box::new(Places { gallery, may_link: rights.is_ok() }))
    }
}

struct Places {
    gallery: Gallery,
    may_link: bool,
}

/// Where a picture is fetched.
struct Place {
    ends: Ends,
    /// The most octets of an ADU.
    adu: usize,
    /// In octets a second, where a link is full.
    rate: Option<u64>,
}

impl Cells for Places {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (name, number) = key.split_once('/').ok_or_else(unknown)?;
        let (group, label) = match (name, far(key)) {
            ("link", _) => ("100 Mb/s".into(), format!("ADUs of {number} octets")),
            (_, None) => (name.to_owned(), format!("ADUs of {number} octets")),
            (_, Some((round_trip, lost))) => {
                (format!("20 Mb/s, {round_trip} ms to and fro"), format!("{lost} % lost"))
            }
        };
        let mut row = Row::new(key, group, label, "Mb/s");
        row.more_is_better = true;
        if name != "loopback" && !self.may_link {
            return Ok(row);
        }
        let Place { ends, adu, rate } = place(key, course.seed).ok_or_else(unknown)??;
        let is_far = far(key).is_some();
        let who: &[_] = if is_far { &[OURS, CUBIC, BBR] } else { &[OURS, CUBIC] };
        if !is_far {
            let nth = SIZES.iter().position(|size| *size == adu).ok_or_else(unknown)?;
            let figure = |who: &str, value: f64| Figure {
                who: who.to_owned(),
                value,
                unit: "kb/s".to_owned(),
            };
            row.document = vec![figure("TCP", DOCUMENT[nth][0]), figure("STRL", DOCUMENT[nth][1])];
        }
        let served = self.gallery.serve(&ends, who, &course.progress)?;
        let octets = self.gallery.adus(adu)?;
        let wholes: Vec<_> = served.iter().map(|_| RefCell::new(Vec::new())).collect();
        let contestants = served.iter().zip(&wholes).map(|(one, wholes)| {
            let ends = &ends;
            one.contestant(move || {
                let fetch = one.fetch(ends, adu)?;
                wholes.borrow_mut().push(8e-6 * octets as f64 / fetch.whole);
                Ok(8e-6 * octets as f64 / (fetch.whole - fetch.first))
            })
        });
        row.columns = course.compete(contestants.collect())?;
        for (column, wholes) in row.columns.iter_mut().zip(&wholes) {
            let ours = column.name == OURS;
            column.tell("from the opening until all", "Mb/s", &wholes.borrow(), None);
            if let Some(rate) = rate {
                let limit = 8e-6 * rate as f64 * if ours { own(adu) } else { tcp(adu) };
                column.limit = Some(limit);
                let shares: Vec<f64> =
                    column.samples.iter().map(|sample| sample.value / limit).collect();
                let target = (ours && !is_far).then_some(Target::AtLeast(SHARE));
                column.tell("share of what its packets leave", "", &shares, target);
            }
        }
        // On a full link TCP leaves more or less to ADUs than packets of one ADU do.
        let wanted = match rate {
            Some(_) if is_far => None,
            Some(_) => Some(SHARE * own(adu) / tcp(adu)),
            None => Some(1.0),
        };
        row.compare(OURS, CUBIC, wanted.map(Target::AtLeast));
        row.compare(OURS, BBR, None);
        Ok(row)
    }
}

/// What of a packet's octets are an ADU's, where each ADU has a packet of its own.
fn own(adu: usize) -> f64 {
    adu as f64 / (adu + 12 + 28) as f64
}

/// What of TCP's packets, where ADUs stand behind their lengths.
fn tcp(adu: usize) -> f64 {
    adu as f64 / (adu + 2) as f64 * SEGMENT / 1500.0
}

/// The place of a cell; nothing where there is no such cell.
fn place(key: &str, seed: u64) -> Option<Result<Place, Problem>> {
    if let Some((round_trip, lost)) = far(key) {
        let ends = link(FAR_RATE, round_trip, lost, seed);
        return Some(ends.map(|ends| Place { ends, adu: FULL, rate: Some(FAR_RATE) }));
    }
    let (name, adu) = key.split_once('/')?;
    let adu = adu.parse().ok()?;
    let (ends, rate) = match name {
        "loopback" => (Ok(Ends::Loopback), None),
        "veth" => (Veth::up(1500).map(Ends::Veth), None),
        "link" => (link(RATE, 0, 0, seed), Some(RATE)),
        _ => return None,
    };
    Some(ends.map(|ends| Place { ends, adu, rate }))
}
