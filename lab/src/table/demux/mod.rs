//! E2, E3: what the demultiplexing of a packet costs, by the number of associations.
//!
//! | file | what |
//! | --- | --- |
//! | `internet.rs` | packets to associations of IP, from a host each |
//! | `ports.rs` | packets to connections of XSTP between the same two hosts |

mod internet;
mod ports;

use stackwright_base::map::{Cached, Chained, Map as _};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::map::{BUCKETS, cycle, filled, timed};
use super::{About, AnyTable, Cell, Table};
use crate::measure::{Contestant, Course, Effort, Limit};

const HIT: &str = "hit";
const MISS: &str = "miss";
const MISS_OF_FEW: &str = "miss, 10 associations";
const OLD_MAP: &str = "map of the thesis, no cache";
const MAP_HIT: &str = "map of the thesis, hit";
const MAP_MISS: &str = "map of the thesis, miss";
const OUR_MAP: &str = "our map, miss";
const OUR_MAP_OF_FEW: &str = "our map, miss, 10 bindings";

const ASSOCIATIONS: [usize; 6] = [1, 3, 10, 100, 300, 1000];
const FEW: usize = 10;
/// The frames of a message of 10 kB by radio (E3).
const FRAMES: f64 = 66.0;

/// Something that packets arrive at.
trait Packets {
    /// Gives the seconds of a packet: all to one association, or each to the next one.
    fn run(&mut self, is_hit: bool) -> Result<f64, Problem>;
}

/// A layer: its name, what makes it with a number of associations, and what measures maps with
/// keys of its length.
struct Layer {
    name: &'static str,
    label: &'static str,
    make: fn(usize) -> Result<Box<dyn Packets>, Problem>,
    maps: fn(usize, u64) -> Vec<Contestant<'static>>,
}

const LAYERS: [Layer; 2] = [
    Layer {
        name: "ipv4",
        label: "IPv4, from the line to above it",
        make: |associations| Ok(Box::new(internet::Internet::new(associations))),
        maps: maps::<9>,
    },
    Layer {
        name: "xstp",
        label: "XSTP over IPv4, from the line to above it",
        make: |associations| Ok(Box::new(ports::Connections::new(associations)?)),
        maps: maps::<4>,
    },
];

/// The table. Its tasks are a layer and a number of associations.
pub(super) const TABLE: &dyn AnyTable = &Table::<(&'static Layer, usize), ()> {
    about: About {
        name: "demux",
        title: "cost of a packet by the number of associations",
        measures: "Messages of one octet, from a frame of the line to the message above IPv4, and \
                   above XSTP over IPv4: all for one association (hit), or each for the next one \
                   (miss). Beside: one lookup in a map of 101 buckets with keys of that length, \
                   without a cache as before the thesis and with its cache of one entry, and in \
                   the map that these layers have, whose buckets grow.",
        source: "thesis of 2003, figures 5.2 and 5.3, whose curves have no numbers: flat where \
                 the cache hits; where it misses, as without one, and growing",
        axes: Axes { x: "associations", y: "time of a packet", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells,
    open: |_, _| Ok(()),
    measure,
};

fn cells(effort: Effort) -> Vec<Cell<(&'static Layer, usize)>> {
    let cells = LAYERS.iter().flat_map(|layer| ASSOCIATIONS.map(|many| (layer, many)));
    let chosen = cells.filter(|(_, many)| effort != Effort::Quick || [FEW, 1000].contains(many));
    let cell = |(layer, many): (&'static Layer, usize)| {
        let label = format!("{many} associations");
        let row = Row::new(format!("{}/{many}", layer.name), layer.label, label, "s");
        (row.at(many as f64), (layer, many))
    };
    chosen.map(cell).collect()
}

/// Lookups in maps alone, each for the key that the one before found.
fn maps<const N: usize>(bindings: usize, seed: u64) -> Vec<Contestant<'static>> {
    let next = cycle::<N>(bindings, seed);
    let own: Vec<_> = next.iter().map(|(from, _)| (*from, *from)).collect();
    let (first, also) = (next[0].0, next.clone());
    let (another, few) = (next.clone(), cycle::<N>(FEW, seed));
    let ours = |next: Vec<([u8; N], [u8; N])>| {
        move || {
            let map = filled(Cached::<_, _>::new(1), &next);
            timed(&next[0].0, |key| map.lookup(key))
        }
    };
    vec![
        Contestant::ours(OLD_MAP, move || {
            let map = filled(Chained::<_, _>::with_buckets(1, BUCKETS), &next);
            timed(&first, |key| map.lookup(key))
        }),
        Contestant::ours(MAP_HIT, move || {
            let map = filled(Cached::<_, _>::with_buckets(1, BUCKETS), &own);
            timed(&first, |key| map.lookup(key))
        }),
        Contestant::ours(MAP_MISS, move || {
            let map = filled(Cached::<_, _>::with_buckets(1, BUCKETS), &also);
            timed(&first, |key| map.lookup(key))
        }),
        Contestant::ours(OUR_MAP, ours(another)),
        Contestant::ours(OUR_MAP_OF_FEW, ours(few)),
    ]
}

fn measure(
    _: &mut (),
    &(layer, many): &(&'static Layer, usize),
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let (mut hit, mut miss) = ((layer.make)(many)?, (layer.make)(many)?);
    let mut few = (layer.make)(FEW)?;
    let mut all = vec![
        Contestant::ours(HIT, || hit.run(true)),
        Contestant::ours(MISS, || miss.run(false)),
        Contestant::ours(MISS_OF_FEW, || few.run(false)),
    ];
    all.extend((layer.maps)(many, course.seed));
    row.columns = course.compete(all)?;
    row.compare(HIT, MISS, Some(Target::AtMost(1.0)));
    let is_flat = (many > FEW).then_some(Target::AtMost(1.15));
    row.compare(MISS, MISS_OF_FEW, is_flat);
    row.compare(OUR_MAP, OUR_MAP_OF_FEW, is_flat);
    row.compare(MAP_MISS, OLD_MAP, None);
    row.compare(OUR_MAP, OLD_MAP, None);
    let median = |name: &str| row.column(name).and_then(|column| column.median());
    if let (Some(old), Some(hit), Some(miss)) = (median(OLD_MAP), median(MAP_HIT), median(MAP_MISS))
    {
        let saved = FRAMES * old - miss - (FRAMES - 1.0) * hit;
        let share = saved / (FRAMES * old);
        for column in row.columns.iter_mut().filter(|column| column.name == MAP_HIT) {
            column.tell("saved over 66 frames (E3)", "", &[share], None);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_delivered_whatever_comes_before_it() {
        for layer in &LAYERS {
            for many in [1, 3, 40] {
                let mut packets = (layer.make)(many).unwrap_or_else(|why| panic!("{}", why.says()));
                for is_hit in [true, false, false, true] {
                    let seconds =
                        packets.run(is_hit).unwrap_or_else(|why| panic!("{}", why.says()));
                    assert!(seconds > 0.0, "{}", layer.name);
                }
            }
        }
    }
}
