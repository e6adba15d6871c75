//! E18: pictures beside TCP, in several places and with ADUs of two sizes.

use std::cell::RefCell;

use stackwright_programs::picture::Picture;
use stackwright_results::Problem;
use stackwright_results::outcome::{Row, figures};
use stackwright_results::verdict::Target;

use super::adus::{FULL, HEAD};
use super::fetching::{BBR, CHANGING, CUBIC, FAR_RATE, Gallery, OURS, wire};
use crate::link::Veth;
use crate::measure::{Course, Effort, Limit};
use crate::table::lossy::{self, Lossy};
use crate::table::transports::{Ends, may_link};
use crate::table::{About, AnyTable, Cell, NO_AXES, Table};

/// The octets of an ADU, as cells say them, and the document's rates in kb/s with TCP in a process
/// of the system.
const SIZES: [(usize, [(&str, f64); 3]); 2] = [
    (639 + HEAD, [("TCP", 3531.0), ("STRL", 2428.0), ("UTS", 3389.0)]),
    (FULL, [("TCP", 5607.0), ("STRL", 5507.0), ("UTS", 5188.0)]),
];
/// Octets per second of the modelled link: 100 Mb/s.
const RATE: u64 = 12_500_000;
/// What TCP's segments of 1500 octets have of a stream.
const SEGMENT: f64 = 1448.0;
/// What a picture over the link shall have of what its own packets leave.
const SHARE: f64 = 0.98;

/// Where a picture is fetched.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Loopback,
    Veth,
    Near,
    Far(Lossy),
}

impl Place {
    /// Octets a second, where a link is full.
    fn rate(self) -> Option<u64> {
        match self {
            Place::Loopback | Place::Veth => None,
            Place::Near => Some(RATE),
            Place::Far(_) => Some(FAR_RATE),
        }
    }

    fn ends(self, seed: u64) -> Result<Ends, Problem> {
        match self {
            Place::Loopback => Ok(Ends::Loopback),
            Place::Veth => Veth::up(1500).map(Ends::Veth),
            Place::Near => wire(&Lossy { round_trip: 0, percent: 0.0 }, RATE, seed),
            Place::Far(lossy) => wire(&lossy, FAR_RATE, seed),
        }
    }
}

/// The table. Its tasks are places, and the most octets of an ADU.
pub(crate) const PICTURES: &dyn AnyTable = &Table::<(Place, usize), Ground> {
    about: About {
        name: "jis",
        title: "pictures beside TCP",
        measures: "A client fetches one JPEG of 2.5 MB by turns over the transport that \
                   JIS’s phase selects, over one that changes while data flow, and over the \
                   kernel’s TCP, all with the same client \
                   and server and ADUs of at most 640 or 1451 octets, each over a new \
                   association: octets of ADUs by the time from the first units that are \
                   painted until all are. The server has split the picture before, \
                   but for the first of them. \
                   loopback, veth: bound by the processor. link: a modelled link of 100 \
                   Mb/s without link headers, where TCP packs several ADUs into a packet. \
                   20ms, 100ms: the same at 20 Mb/s with that round trip, and packets that \
                   are lost.",
        source: "De Silva et al., 1996, table 2",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells,
    open: |_, notes| {
        let may_link = may_link(" but over loopback", notes);
        notes.push(
            "A transport in a process of its own, and one over io_uring, have no driver here."
                .into(),
        );
        let gallery = Gallery::of(Picture { columns: 250, rows: 108, coefficients: 62 })?;
        Ok(Ground { gallery, may_link })
    },
    measure,
};

fn cells(effort: Effort) -> Vec<Cell<(Place, usize)>> {
    let mut cells = Vec::new();
    let places = [
        ("loopback", "loopback", Place::Loopback),
        ("veth", "veth", Place::Veth),
        ("link", "100 Mb/s", Place::Near),
    ];
    for (name, group, place) in places {
        for (adu, rates) in SIZES {
            let row =
                Row::new(format!("{name}/{adu}"), group, format!("ADUs of {adu} octets"), "Mb/s");
            let row = row.more_is_better().beside(figures(rates, "kb/s"));
            cells.push((row, (place, adu)));
        }
    }
    let percents: &[f64] = if effort == Effort::Quick { &[1.0] } else { &[0.0, 1.0, 5.0] };
    cells.extend(lossy::cells(&[20, 100], percents, "Mb/s").into_iter().map(|(row, lossy)| {
        let group = format!("20 Mb/s, {}", row.group);
        let row = Row { group, x: None, ..row }.more_is_better();
        (row, (Place::Far(lossy), FULL))
    }));
    cells
}

struct Ground {
    gallery: Gallery,
    may_link: bool,
}

fn measure(
    Ground { gallery, may_link }: &mut Ground,
    &(place, adu): &(Place, usize),
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    if place != Place::Loopback && !*may_link {
        return Ok(());
    }
    let (ends, rate, is_far) =
        (place.ends(course.seed)?, place.rate(), matches!(place, Place::Far(_)));
    let who: &[_] = if is_far { &[OURS, CHANGING, CUBIC, BBR] } else { &[OURS, CHANGING, CUBIC] };
    let served = gallery.serve(&ends, who, &course.progress)?;
    let octets = gallery.adus(adu)?;
    let wholes: Vec<_> = served.iter().map(|_| RefCell::new(Vec::new())).collect();
    let contestants = served.iter().zip(&wholes).map(|(one, wholes)| {
        let ends = &ends;
        one.contestant(move || {
            let fetch = one.fetch(ends, adu)?;
            wholes.borrow_mut().push(8e-6 * octets as f64 / fetch.whole);
            Ok(8e-6 * octets as f64 / (fetch.whole - fetch.first))
        })
    });
    row.columns = course.compete(contestants)?;
    for (column, wholes) in row.columns.iter_mut().zip(&wholes) {
        let ours = [OURS, CHANGING].contains(&&*column.name);
        column.tell("from the opening until all", "Mb/s", &wholes.borrow(), None);
        if let Some(rate) = rate {
            let limit = 8e-6 * rate as f64 * if ours { own(adu) } else { tcp(adu) };
            column.limit = Some(limit);
            let shares: Vec<f64> = column.values().iter().map(|value| value / limit).collect();
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
    Ok(())
}

/// What of a packet's octets are an ADU's, where each ADU has a packet of its own.
fn own(adu: usize) -> f64 {
    adu as f64 / (adu + 12 + 28) as f64
}

/// What of TCP's packets, where ADUs stand behind their lengths.
fn tcp(adu: usize) -> f64 {
    adu as f64 / (adu + 2) as f64 * SEGMENT / 1500.0
}
