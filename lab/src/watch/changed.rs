//! A run in which the fates of some packets are others.

use std::time::Duration;

use serde_json::{Value, json};
use stackwright_contract::Instant;
use stackwright_simulator::{Deed, Event, Flight};

use crate::run::network::station_at;
use crate::run::simulated::{self, Keep};
use crate::scenario::{self, Fault, Scenario};

/// How many packets are shown.
const FLIGHTS_MOST: usize = 20_000;
/// How much later a packet is that is to be late, or a copy.
const LATE: Duration = Duration::from_millis(300);

/// A scenario that is watched.
pub(super) struct Watched {
    scenario: Scenario,
    seed: u64,
    /// All that goes wrong in the unchanged run.
    faults: Vec<Fault>,
}

/// The fates that are others, of each packet the last.
pub(super) struct Changes(Vec<Change>);

struct Change {
    from: usize,
    to: usize,
    nth: u64,
    /// Nothing befalls it otherwise.
    deed: Option<Deed>,
}

impl Watched {
    pub(super) fn new(scenario: Scenario, seed: u64) -> Self {
        let faults = match &scenario.faults {
            Some(faults) => faults.clone(),
            None => {
                let keep = Keep { faults: true, ..Keep::default() };
                simulated::run(&scenario, seed, None, keep).faults
            }
        };
        Watched { scenario, seed, faults }
    }

    pub(super) fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Reads the changes of an address: `change=FROM-TO-NTH-DEED`, again and again, where stations
    /// are numbers, and packets are counted from 1.
    ///
    /// # Errors
    /// Says what is none.
    pub(super) fn changes(&self, query: &str) -> Result<Changes, String> {
        let stations = self.scenario.stations.len();
        let change = |text: &str| {
            let mut parts = text.strip_prefix("change=")?.split('-');
            let mut number = || parts.next()?.parse::<u64>().ok();
            let (from, to) = (number()? as usize, number()? as usize);
            let nth = number()?.checked_sub(1)?;
            let deed = match parts.next()? {
                "lose" => Some(Deed::Lose),
                "double" => Some(Deed::Duplicate { by: LATE }),
                "delay" => Some(Deed::HoldBack { by: LATE }),
                "heal" => None,
                _ => return None,
            };
            (from < stations && to < stations).then_some(Change { from, to, nth, deed })
        };
        let all = query.split('&').filter(|text| !text.is_empty());
        let read = |text| change(text).ok_or_else(|| format!("`{text}` is no change"));
        all.map(read).collect::<Result<_, _>>().map(Changes)
    }

    /// Returns all that goes wrong.
    fn faults(&self, changes: &Changes) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        for Change { from, to, nth, deed } in &changes.0 {
            let way = (*from, *to, *nth);
            faults.retain(|fault| (fault.from, fault.to, fault.event.nth) != way);
            let event = deed.map(|deed| Event { nth: *nth, deed });
            faults.extend(event.map(|event| Fault { from: *from, to: *to, event }));
        }
        faults
    }

    /// Returns the scenario in which just that goes wrong.
    pub(super) fn text(&self, changes: &Changes) -> String {
        let Scenario { text, stations, .. } = &self.scenario;
        scenario::written(text, self.seed, &self.faults(changes), stations)
    }

    /// Runs it, and returns what is shown of it. Times are in microseconds.
    pub(super) fn run(&self, changes: &Changes) -> Value {
        let faults = self.faults(changes);
        let keep = Keep { trace: true, flights: true, ..Keep::default() };
        let run = simulated::run(&self.scenario, self.seed, Some(&faults), keep);
        let micros = |at: &Instant| at.nanoseconds() / 1000;
        let flights = run.world.network().flights();
        let shown = flights.iter().take(FLIGHTS_MOST).filter_map(|flight| {
            let Flight { from, to, nth, octets, sent, arrivals } = flight;
            let (from, to) = (station_at(*from)?, station_at(*to)?);
            let changed =
                |change: &&Change| (change.from, change.to, Some(change.nth)) == (from, to, *nth);
            let changed = changes.0.iter().any(|change| changed(&change));
            let arrivals: Vec<_> = arrivals.iter().map(micros).collect();
            Some(json!([from, to, nth.map(|nth| nth + 1), octets, micros(sent), arrivals, changed]))
        });
        json!({
            "name": self.scenario.name,
            "stations": self.scenario.stations,
            "flights": shown.collect::<Vec<_>>(),
            "of": flights.len(),
            "end": micros(&run.world.now()),
            "trace": run.outcome.trace.map(|hash| format!("{hash:016x}")),
            "outcome": run.outcome.text(&self.scenario),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> Watched {
        let text = include_str!("../../scenarios/short.toml");
        let quiet = crate::scenario::set(
            text,
            &["links.0.loss=0", "links.0.duplicate=0"].map(String::from),
        );
        let scenario = Scenario::read("short".into(), quiet.expect("keys")).expect("a scenario");
        Watched::new(scenario, 1)
    }

    /// The flight of a packet: when it arrived.
    fn arrivals(run: &Value, [from, to, nth]: [u64; 3]) -> usize {
        let flights = run["flights"].as_array().expect("a list");
        let here = |flight: &&Value| flight[0] == from && flight[1] == to && flight[2] == nth;
        let flight = flights.iter().find(here).expect("it was sent");
        flight[5].as_array().expect("times").len()
    }

    #[test]
    fn a_packet_is_lost_and_the_saved_scenario_runs_the_same() {
        let watched = watched();
        let none = watched.changes("").expect("none");
        let before = watched.run(&none);
        assert_eq!(arrivals(&before, [0, 1, 3]), 1);
        let changes = watched.changes("change=0-1-3-lose&change=1-0-1-double").expect("changes");
        let after = watched.run(&changes);
        assert_eq!((arrivals(&after, [0, 1, 3]), arrivals(&after, [1, 0, 1])), (0, 2));
        assert!(after["of"].as_u64() > before["of"].as_u64(), "it is sent again");
        let saved = Scenario::read("saved".into(), watched.text(&changes)).expect("a scenario");
        let keep = Keep { trace: true, ..Keep::default() };
        let again = simulated::run(&saved, saved.seed, saved.faults.as_deref(), keep).outcome;
        assert_eq!(
            again.trace.map(|hash| format!("{hash:016x}")),
            after["trace"].as_str().map(String::from)
        );
        let healed = watched.changes("change=0-1-3-lose&change=0-1-3-heal").expect("changes");
        assert_eq!(watched.run(&healed)["trace"], before["trace"]);
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for query in ["x", "change=", "change=0-1-0-lose", "change=0-9-1-lose", "change=0-1-1-eat"]
        {
            assert!(watched().changes(query).is_err(), "{query}");
        }
    }
}
