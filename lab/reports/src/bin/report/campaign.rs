//! A campaign's summary: its sweeps, by the values that were varied.
//!
//! | | |
//! | --- | --- |
//! | horizontal axis | the parameter with the most values, if all are quantities |
//! | lines | another one, if it has few values |
//! | pictures | the others |
//! | samples | the seeds |

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use stackwright_results::Conditions;
use stackwright_results::outcome::{Axes, Column, FORMAT, Outcome, Row, Sample};

/// A sweep of a campaign.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) name: String,
    pub(crate) done: u64,
    /// Cells that have no result: they failed, or were not run.
    pub(crate) failed: u64,
    pub(crate) missing: u64,
    /// Cells whose results say that a promise was broken or a workload not done, and what they say.
    pub(crate) short: Vec<(String, String)>,
    /// The names of what was varied, beside the seed.
    pub(crate) parameters: Vec<String>,
    pub(crate) measures: Vec<Measure>,
    /// A line for each combination of values.
    pub(crate) lines: Vec<Line>,
    /// The same, to be drawn.
    pub(crate) drawn: Outcome,
}

/// A number that results have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measure {
    pub(crate) name: String,
    column: String,
    pub(crate) unit: &'static str,
    /// Whether there is a picture of it.
    drawn: bool,
}

/// The cells with one combination of values.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) values: Vec<String>,
    pub(crate) done: u64,
    pub(crate) short: u64,
    /// Of each measure, what the cells have.
    pub(crate) samples: Vec<Vec<f64>>,
}

type Cell = Map<String, Value>;

/// What begins the name of a column of a result.
const RESULT: &str = "result.";
const GOODPUT: &str = ".goodput_bits_per_second";
const DUPLICATES: &str = ".duplicates";
/// Columns of results that have no goodput, of which the first are shown.
const OTHERS_MOST: usize = 6;
/// The most lines in one picture: so many colours are told apart.
const LINES_MOST: usize = 7;
/// The ratio of the largest value to the least from which on an axis is logarithmic.
const LOGARITHMIC: f64 = 30.0;

/// The sweeps of a summary; `None` where it is none.
pub(crate) fn sweeps(summary: &Value) -> Option<Vec<Sweep>> {
    let mut sweeps: Vec<(&str, Vec<&Cell>)> = Vec::new();
    for cell in summary.as_array()? {
        let cell = cell.as_object().filter(|cell| cell.contains_key("state"))?;
        let name = cell.get("sweep")?.as_str()?;
        match sweeps.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => sweeps.push((name, vec![cell])),
        }
    }
    let sweeps: Vec<_> = sweeps.into_iter().map(|(name, cells)| sweep(name, &cells)).collect();
    (!sweeps.is_empty()).then_some(sweeps)
}

fn sweep(name: &str, cells: &[&Cell]) -> Sweep {
    let state = |state: &str| cells.iter().filter(|cell| cell["state"] == state).count() as u64;
    let parameters = parameters(cells);
    let measures = measures(cells);
    let mut lines: Vec<Line> = Vec::new();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for cell in cells {
        let values: Vec<_> = parameters.iter().map(|name| text(cell.get(name))).collect();
        let place = *places.entry(values.clone()).or_insert(lines.len());
        if place == lines.len() {
            lines.push(Line {
                values,
                samples: vec![Vec::new(); measures.len()],
                ..Line::default()
            });
        }
        let line = &mut lines[place];
        if cell["state"] != "done" {
            continue;
        }
        line.done += 1;
        line.short += u64::from(says(cell).is_some());
        for (measure, samples) in measures.iter().zip(&mut line.samples) {
            let value = cell.get(&measure.column).and_then(Value::as_f64);
            // Where nothing arrived there is no goodput: that is a goodput of 0.
            samples.extend(value.or(measure.drawn_as_zero()));
        }
    }
    let short = cells.iter().filter_map(|cell| Some((text(cell.get("cell")), says(cell)?)));
    Sweep {
        name: name.to_owned(),
        done: state("done"),
        failed: state("failed"),
        missing: state("missing"),
        short: short.collect(),
        drawn: drawn(name, &parameters, &measures, &lines),
        parameters,
        measures,
        lines,
    }
}

/// What a result says that went wrong.
fn says(cell: &Cell) -> Option<String> {
    let said = ["failed", "broken"].map(|key| cell.get(&format!("{RESULT}{key}")));
    said.into_iter().flatten().find_map(|said| said.as_str().map(str::to_owned))
}

fn parameters(cells: &[&Cell]) -> Vec<String> {
    let known = |name: &str| ["cell", "sweep", "state", "seed"].contains(&name);
    let mut parameters: Vec<String> = Vec::new();
    for name in cells.iter().flat_map(|cell| cell.keys()) {
        if !known(name) && !name.starts_with(RESULT) && !parameters.contains(name) {
            parameters.push(name.clone());
        }
    }
    parameters
}

/// The goodput and the duplicates of each flow; of other results some numbers.
fn measures(cells: &[&Cell]) -> Vec<Measure> {
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in cells.iter().flat_map(|cell| cell.iter()) {
        if name.starts_with(RESULT) && value.is_number() && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    columns.sort_unstable();
    let flows: Vec<_> = columns.iter().filter(|name| name.ends_with(GOODPUT)).collect();
    let one = flows.len() == 1;
    let of_flow = |name: &str, column: &str| match column.rsplit('.').nth(1) {
        Some(flow) if !one => format!("{name}, flow {flow}"),
        _ => name.to_owned(),
    };
    let told = |column: &&str| {
        let column = column.to_string();
        if column.ends_with(GOODPUT) {
            Some(Measure { name: of_flow("goodput", &column), column, unit: "b/s", drawn: true })
        } else if column.ends_with(DUPLICATES) {
            Some(Measure { name: of_flow("duplicates", &column), column, unit: "", drawn: false })
        } else {
            None
        }
    };
    if !flows.is_empty() {
        return columns.iter().filter_map(told).collect();
    }
    let others = columns.iter().take(OTHERS_MOST).map(|column| Measure {
        name: column.trim_start_matches(RESULT).to_owned(),
        column: column.to_string(),
        unit: "",
        drawn: true,
    });
    others.collect()
}

impl Measure {
    fn drawn_as_zero(&self) -> Option<f64> {
        self.column.ends_with(GOODPUT).then_some(0.0)
    }
}

/// The sweep as a table of the lab, of which only the pictures are used.
fn drawn(name: &str, parameters: &[String], measures: &[Measure], lines: &[Line]) -> Outcome {
    let distinct = |place: usize| -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for line in lines {
            if !values.contains(&line.values[place].as_str()) {
                values.push(&line.values[place]);
            }
        }
        values
    };
    let counts: Vec<usize> = (0..parameters.len()).map(|place| distinct(place).len()).collect();
    let is_axis = |place: &usize| {
        counts[*place] > 1 && distinct(*place).iter().all(|value| quantity(value).is_some())
    };
    let most = |places: &mut dyn Iterator<Item = usize>| {
        // Of several with as many values, the first.
        places.fold(None, |best: Option<usize>, place| match best {
            Some(best) if counts[best] >= counts[place] => Some(best),
            _ => Some(place),
        })
    };
    let axis = most(&mut (0..counts.len()).filter(is_axis));
    // Without one, each row has its label; without even that, there is one row.
    let rows = axis.or_else(|| most(&mut (0..counts.len()).filter(|place| counts[*place] > 1)));
    let colours = most(
        &mut (0..counts.len())
            .filter(|place| Some(*place) != rows && (2..=LINES_MOST).contains(&counts[*place])),
    );
    let others: Vec<usize> = (0..counts.len())
        .filter(|place| counts[*place] > 1 && Some(*place) != rows && Some(*place) != colours)
        .collect();
    let said =
        |line: &Line, place: usize| format!("{} = {}", parameters[place], line.values[place]);
    let mut table: Vec<Row> = Vec::new();
    for (nth, measure) in measures.iter().enumerate().filter(|(_, measure)| measure.drawn) {
        for line in lines.iter().filter(|line| !line.samples[nth].is_empty()) {
            let group = others.iter().fold(measure.name.clone(), |group, place| {
                format!("{group}, {}", said(line, *place))
            });
            let label = rows.map_or_else(|| "all".to_owned(), |place| line.values[place].clone());
            let key = format!("{group}/{label}");
            let place = table.iter().position(|row| row.key == key).unwrap_or_else(|| {
                let mut row = Row::new(&key, group, label, measure.unit);
                row.x = axis.and_then(|place| quantity(&line.values[place]));
                row.more_is_better = true;
                table.push(row);
                table.len() - 1
            });
            let name = colours.map_or(&measure.name, |place| &line.values[place]);
            let mut column = Column::new(name, true);
            let sample = |value: &f64| Sample { value: *value, probes: [0.0; 2], slow: false };
            column.samples.extend(line.samples[nth].iter().map(sample));
            table[place].columns.push(column);
        }
    }
    table.sort_by(|one, other| one.x.partial_cmp(&other.x).unwrap_or(std::cmp::Ordering::Equal));
    let spread = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        least > 0.0 && most / least >= LOGARITHMIC
    };
    let xs = table.iter().filter_map(|row| row.x).collect();
    let ys = table.iter().flat_map(|row| &row.columns).filter_map(Column::median).collect();
    let axes = Axes {
        x: axis.map_or_else(String::new, |place| parameters[place].clone()),
        y: measures.iter().find(|measure| measure.drawn).map_or_else(String::new, |measure| {
            format!("{} {}", measure.name, measure.unit).trim_end().to_owned()
        }),
        log_x: spread(xs),
        log_y: spread(ys),
    };
    Outcome {
        format: FORMAT,
        place: None,
        table: name.to_owned(),
        title: String::new(),
        measures: String::new(),
        source: String::new(),
        complete: true,
        command: String::new(),
        conditions: Conditions::default(),
        axes,
        notes: Vec::new(),
        rows: table,
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "–".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The units of quantities in scenarios, in seconds, bits per second and octets.
const UNITS: [(&str, f64); 19] = [
    ("", 1.0),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("packets", 1.0),
];

/// A number, perhaps with a unit, as scenarios have it.
fn quantity(text: &str) -> Option<f64> {
    let end = text.find(|sign: char| !(sign.is_ascii_digit() || ".+-eE".contains(sign)));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(rate: &str, transport: &str, seed: u64, goodput: Option<f64>) -> Value {
        let failed = goodput.is_none().then_some("delivered 0 of 5 messages");
        let mut cell = json!({
            "cell": format!("s/rate={rate},transport={transport},seed={seed}"), "sweep": "s",
            "state": "done", "seed": seed, "rate": rate, "transport": transport,
            "result.flows.0.duplicates": 3,
        });
        if let Some(goodput) = goodput {
            cell["result.flows.0.goodput_bits_per_second"] = json!(goodput);
        }
        if let Some(failed) = failed {
            cell["result.failed"] = json!(failed);
        }
        cell
    }

    #[test]
    fn goodput_is_drawn_over_the_values_in_their_order() {
        let mut cells = Vec::new();
        for (rate, goodput) in [("1 Mb/s", 9e5), ("9600 b/s", 9e3), ("64 kb/s", 6e4)] {
            for seed in 1..=3 {
                cells.push(cell(rate, "artp", seed, Some(goodput + seed as f64)));
                cells.push(cell(rate, "tcp", seed, (rate != "9600 b/s").then_some(goodput)));
            }
        }
        cells.push(json!({ "cell": "s/x", "sweep": "s", "state": "missing", "rate": "1 Mb/s", "transport": "artp" }));
        let sweeps = sweeps(&Value::Array(cells)).expect("it is a summary");
        let [sweep] = &sweeps[..] else { panic!("{} sweeps", sweeps.len()) };
        assert_eq!((sweep.done, sweep.failed, sweep.missing, sweep.short.len()), (18, 0, 1, 3));
        assert_eq!(sweep.parameters, ["rate", "transport"]);
        let rows = &sweep.drawn.rows;
        let xs: Vec<_> = rows.iter().filter_map(|row| row.x).collect();
        assert_eq!(xs, [9600.0, 64e3, 1e6]);
        let medians = |name: &str| -> Vec<_> {
            rows.iter().filter_map(|row| row.column(name)?.median()).collect()
        };
        assert_eq!(medians("artp"), [9002.0, 60_002.0, 900_002.0]);
        // Where nothing arrived it is 0, not what nobody measured.
        assert_eq!(medians("tcp"), [0.0, 6e4, 9e5]);
        assert!(sweep.drawn.axes.log_x);
        let line = sweep.lines.iter().find(|line| line.values == ["9600 b/s", "tcp"]);
        assert_eq!(line.map(|line| (line.done, line.short)), Some((3, 3)));
        assert_eq!(sweep.measures.len(), 2, "goodput and duplicates");
    }

    #[test]
    fn numbers_of_other_programs_are_shown_as_they_are() {
        let cell = |sides: u64, sum: u64| json!({ "cell": "d", "sweep": "d", "state": "done", "sides": sides, "result.sum": sum });
        let sweeps = sweeps(&json!([cell(6, 4), cell(20, 11)])).expect("it is a summary");
        let rows = &sweeps[0].drawn.rows;
        let drawn: Vec<_> = rows.iter().map(|row| (row.x, row.columns[0].median())).collect();
        assert_eq!(drawn, [(Some(6.0), Some(4.0)), (Some(20.0), Some(11.0))]);
    }

    #[test]
    fn what_is_no_summary_is_none() {
        for other in [json!([]), json!([1, 2]), json!([{ "sweep": "s" }]), json!({ "a": 1 })] {
            assert!(sweeps(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!(quantity("9600 b/s"), Some(9600.0));
        assert_eq!(quantity("1.5 Mb/s"), Some(1.5e6));
        assert_eq!(quantity("1e-3"), Some(0.001));
        assert_eq!(quantity("20ms"), Some(0.02));
        assert_eq!(quantity("0"), Some(0.0));
        for other in ["", "cubic", "{ artp = {} }", "5 parsecs", "–", "true"] {
            assert_eq!(quantity(other), None, "{other}");
        }
    }
}
