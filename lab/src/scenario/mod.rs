//! A scenario: who is there, what lies between them, who has what to do with whom. One file for the
//! simulator and for real sockets.
//!
//! ```toml
//! time = "60 s"                       # when all has to be over; else ten minutes
//! seed = 7                            # else 1, or what the command says
//!
//! [[links]]
//! between = ["earth", "moon"]
//! profile = "geo"                     # see `lab profiles`; any of its figures may be set to others
//! loss = 0.01
//!
//! [[flows]]
//! from = "earth"
//! to = "moon"
//! transport = { window = { octets = "1 MB" } }
//! workload = { bulk = { octets = "10 MB", message = "1200 B" } }
//!
//! [[faults]]                          # where any stand, nothing else goes wrong by chance
//! from = "earth"
//! to = "moon"
//! nth = 17                            # the packet, counted from 1
//! lose = true
//! ```

mod edit;
mod fault;
mod link_entry;

pub(crate) use edit::set;
pub(crate) use fault::{Fault, written};
pub(crate) use stackwright_simulator::{OctetCount, Time};

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use stackwright_contract::Duration;
use stackwright_results::{Flaw, Problem, suggestion};
use stackwright_simulator::Profile;
use toml::Spanned;

use crate::transport::Transport;
use crate::workload::{Plan, Workload};
use link_entry::LinkEntry;

/// What a file says, once it makes sense.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// For reports: the file's name without its ending.
    pub(crate) name: String,
    /// What stands in it, to be written again with other faults.
    pub(crate) text: String,
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) stations: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) faults: Option<Vec<Fault>>,
}

/// What joins two stations, or a channel that several share.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Indices of stations. The first sends forward.
    pub(crate) between: Vec<usize>,
    pub(crate) profile: Profile,
}

/// Work of one station with another.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) transport: Transport,
    pub(crate) plan: Plan,
}

/// As it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    seed: Option<u64>,
    time: Option<Time>,
    links: Vec<Spanned<LinkEntry>>,
    flows: Vec<Spanned<FlowEntry>>,
    faults: Option<Vec<Spanned<fault::Entry>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowEntry {
    from: Spanned<String>,
    to: Spanned<String>,
    transport: Transport,
    workload: Spanned<Workload>,
}

/// How long a scenario file may be, in octets.
const LONGEST: u64 = 4 << 20;
/// How many stations and flows there may be: each flow's ends have addresses of their own, made of
/// both.
const STATIONS_MOST: usize = 250;
const FLOWS_MOST: usize = 10_000;
/// When all has to be over, where the file does not say it.
const TIME: Duration = Duration::from_secs(600);

impl Scenario {
    /// Reads a file, with some keys set to others: `links.0.loss=0.05`.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub(crate) fn load(path: &Path, sets: &[String]) -> Result<Scenario, Problem> {
        let unreadable = |why: std::io::Error| {
            Problem::new(format!("{}: {why}", path.display()))
                .advise("name a scenario file; there are examples in lab/scenarios")
        };
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        if length > LONGEST {
            return Err(Problem::new(format!(
                "{}: the file has {length} octets; the limit is {LONGEST}",
                path.display()
            )));
        }
        let mut text = std::fs::read_to_string(path).map_err(unreadable)?;
        if !sets.is_empty() {
            text = set(&text, sets)?;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut scenario = Scenario::read(name, text).map_err(|flaw| {
            // The place is that in the text with the keys that were set, which no file has.
            let named = if sets.is_empty() { "" } else { " with --set" };
            flaw.problem(Path::new(&format!("{}{named}", path.display())))
        })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        scenario.flows.iter_mut().try_for_each(|flow| flow.transport.complete(folder))?;
        Ok(scenario)
    }

    /// Reads a text.
    pub(crate) fn read(name: String, text: String) -> Result<Scenario, Flaw> {
        let file: File = toml::from_str(&text).map_err(|error| Flaw::of(&text, &error))?;
        let mut stations: Vec<String> = Vec::new();
        let mut links = Vec::new();
        let mut joined = BTreeSet::new();
        for (nth, entry) in file.links.iter().enumerate() {
            let at = entry.span();
            let key = |field: &str| link_entry::place(&text, nth, field).unwrap_or(at.clone());
            let LinkEntry { between, description } = entry.get_ref();
            let profile =
                description.resolve().map_err(|flaw| Flaw::at(&text, &key(flaw.field()), flaw))?;
            let at = key("between");
            let distinct: BTreeSet<_> = between.iter().collect();
            if distinct.len() != between.len()
                || between.len() < 2
                || between.len() > 2 && matches!(profile, Profile::Link { .. })
            {
                return Err(Flaw::at(
                    &text,
                    &at,
                    "`between` must name two different stations; a shared channel may have more",
                ));
            }
            let members: Vec<usize> = between
                .iter()
                .map(|name| {
                    stations.iter().position(|known| known == name).unwrap_or_else(|| {
                        stations.push(name.clone());
                        stations.len() - 1
                    })
                })
                .collect();
            for one in &members {
                for other in members.iter().filter(|other| one < *other) {
                    if !joined.insert((*one, *other)) {
                        let says = format!(
                            "`{}` and `{}` are connected twice",
                            stations[*one], stations[*other]
                        );
                        return Err(Flaw::at(&text, &at, says));
                    }
                }
            }
            links.push(Link { between: members, profile });
        }
        if stations.len() > STATIONS_MOST {
            let says =
                format!("there are {} stations; the limit is {STATIONS_MOST}", stations.len());
            return Err(Flaw::whole(says));
        }
        let station = |name: &Spanned<String>| {
            let known = stations.iter().position(|known| known == name.get_ref());
            known.ok_or_else(|| {
                Flaw::at(&text, &name.span(), unknown_station(name.get_ref(), &stations))
            })
        };
        let mut flows = Vec::new();
        for entry in &file.flows {
            let FlowEntry { from, to, transport, workload } = entry.get_ref();
            let (from, to) = (station(from)?, station(to)?);
            if !joined.contains(&(from.min(to), from.max(to))) {
                let says = format!("no link connects `{}` and `{}`", stations[from], stations[to]);
                return Err(Flaw::at(&text, &entry.span(), says));
            }
            let plan = Plan::of(workload.get_ref(), transport)
                .map_err(|says| Flaw::at(&text, &workload.span(), says))?;
            flows.push(Flow { from, to, transport: transport.clone(), plan });
        }
        if flows.is_empty() || flows.len() > FLOWS_MOST {
            return Err(Flaw::whole(format!(
                "there are {} flows; allowed are 1 to {FLOWS_MOST}",
                flows.len()
            )));
        }
        let faults = file.faults.as_ref().map(|faults| {
            let read = |entry: &Spanned<fault::Entry>| {
                entry
                    .get_ref()
                    .resolve(&stations)
                    .map_err(|says| Flaw::at(&text, &entry.span(), says))
            };
            faults.iter().map(read).collect::<Result<Vec<_>, _>>()
        });
        Ok(Scenario {
            name,
            seed: file.seed.unwrap_or(1),
            time: file.time.map_or(TIME, |time| time.0),
            stations: stations.clone(),
            links,
            flows,
            faults: faults.transpose()?,
            text: text.clone(),
        })
    }
}

/// That nobody is called so, and who may be meant.
pub(crate) fn unknown_station(name: &str, stations: &[String]) -> String {
    format!("there is no station `{name}`{}", suggestion(name, stations.iter().map(String::as_str)))
}
