//! E11: how fast checks are, by the length of what they cover.

use std::hint::black_box;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_wire::check::{Crc32c, Cxor, Fletcher, Internet};

use super::super::{About, AnyTable, Cell, Table};
use super::pieces::{Cache, Pieces};
use super::variants::{Words, op1, op2, op3, op4, std};
use crate::measure::{Contestant, Course, Limit};

/// Lengths in octets: multiples of 4, as the report's packets are.
const LENGTHS: [usize; 6] = [64, 256, 1024, 4096, 16_384, 65_536];
/// The length at which ratios are bound: shorter ones measure how a check begins and ends.
const LONGEST: usize = 65_536;

/// What a sample of somebody fast goes through, in octets, and of somebody slow.
const FAST: usize = 32 << 20;
const SLOW: usize = 2 << 20;

const OURS: &str = "CXOR";
const COPY: &str = "memcpy";
const INTERNET: &str = "Internet (TCP)";
const FLETCHER: &str = "Fletcher (TP4)";

/// Table 3.1, on the DEC 5000/200, in Mb/s.
const DOCUMENT: [(&str, f64); 7] = [
    (INTERNET, 30.52),
    (FLETCHER, 10.69),
    ("std", 13.67),
    ("op1", 10.93),
    ("op2", 36.96),
    ("op3", 66.06),
    ("op4", 173.53),
];

/// The table. Its tasks are where the octets are, and the length of a piece.
pub(crate) const CHECKSUM: &dyn AnyTable = &Table::<(Cache, usize), ()> {
    about: About {
        name: "checksum",
        title: "throughput of checks",
        measures: "One check of pieces of equal length, the same piece again and again (hot) \
                   or one after the other of 64 MiB (cold). CXOR, Internet, Fletcher and \
                   CRC-32C are the library's; std and op1 to op4 are the report's variants of \
                   CXOR, without vectors.",
        source: "INRIA RR-2102 of 1993, table 3.1, DEC 5000/200",
        axes: Axes { x: "octets", y: "Gb/s", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, notes| {
        notes.push(
            "Report, on the Sun 3/60, the Sparc IPX and the DEC 5000/200: op4 is 16.6, 24.5 and \
             12.7 times as fast as std, and 8.7, 12.9 and 5.7 times as fast as TCP's check."
                .into(),
        );
        Ok(())
    },
    measure,
};

fn cells() -> Vec<Cell<(Cache, usize)>> {
    let cells = Cache::ALL.into_iter().flat_map(|cache| LENGTHS.map(|length| (cache, length)));
    let cell = |(cache, length)| {
        let (name, label) = (Cache::name(cache), format!("{length} octets"));
        let row = Row::new(format!("{name}/{length}"), format!("{name} octets"), label, "Gb/s");
        let row = row.at(length as f64).more_is_better();
        let is_bound = is_bound(cache, length);
        let document = if is_bound { figures(DOCUMENT, "Mb/s") } else { Vec::new() };
        (row.beside(document), (cache, length))
    };
    cells.map(cell).collect()
}

fn is_bound(cache: Cache, length: usize) -> bool {
    cache == Cache::Hot && length == LONGEST
}

fn measure(
    (): &mut (),
    &(cache, length): &(Cache, usize),
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let pieces = Pieces::new(cache, length);
    let octets = pieces.octets(course.seed);
    let words = Words::of(&octets);
    let mut target = octets.clone();
    row.columns = course.compete([
        Contestant::ours(OURS, || Ok(pieces.rate(FAST, |at| Cxor::of(&octets[at])))),
        Contestant::ours(INTERNET, || Ok(pieces.rate(FAST, |at| Internet::of(&octets[at])))),
        Contestant::ours(FLETCHER, || Ok(pieces.rate(FAST, |at| Fletcher::of(&octets[at])))),
        Contestant::ours("CRC-32C", || Ok(pieces.rate(FAST, |at| Crc32c::of(&octets[at])))),
        Contestant::peer("std", || Ok(pieces.rate(SLOW, |at| std(words.shorts(at))))),
        Contestant::peer("op1", || Ok(pieces.rate(SLOW, |at| op1(words.shorts(at))))),
        Contestant::peer("op2", || Ok(pieces.rate(SLOW, |at| op2(words.shorts(at))))),
        Contestant::peer("op3", || Ok(pieces.rate(SLOW, |at| op3(words.shorts(at))))),
        Contestant::peer("op4", || Ok(pieces.rate(FAST, |at| op4(words.longs(at))))),
        Contestant::peer(COPY, || {
            Ok(pieces.rate(FAST, |at| {
                target[at.clone()].copy_from_slice(&octets[at.clone()]);
                black_box(&mut target[at]);
            }))
        }),
    ])?;
    let target = |least| is_bound(cache, length).then_some(Target::AtLeast(least));
    row.compare(OURS, "std", target(25.0));
    row.compare(OURS, COPY, target(0.8));
    row.compare("op4", "std", None);
    row.compare("op4", INTERNET, None);
    Ok(())
}
