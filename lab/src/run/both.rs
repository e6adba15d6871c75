//! One scenario in the simulator and on real sockets, compared.

use serde_json::{Value, json};
use stackwright_results::Problem;

use super::outcome::Outcome;
use super::simulated::{self, Keep};
use crate::measure::Steal;
use crate::scenario::Scenario;

/// How far the simulator's goodput and that of real sockets may be apart.
const APART: f64 = 0.05;
/// A wire that writes one packet in twenty so much later than the model says, in milliseconds, ran
/// on a machine that had no processor for it, and so did a run of whose time such a part was
/// stolen. It says nothing, and is tried again.
const LATE: f64 = 2.0;
const STOLEN: f64 = 0.05;
const TRIES: u32 = 9;

/// What came of it in both places.
pub(super) struct Compared {
    pub(super) simulated: Outcome,
    pub(super) real: Outcome,
    /// The goodput on real sockets, divided by the simulated one, of each flow; `None` where
    /// nothing arrived in one of the two.
    ratios: Vec<Option<f64>>,
    /// How often it was run on real sockets.
    tries: u32,
}

/// Runs a scenario in the simulator, and by `run` on real sockets until the machine had the time.
/// `says` prints progress.
///
/// # Errors
/// That of `run`.
pub(super) fn both(
    scenario: &Scenario,
    seed: u64,
    run: impl Fn() -> Result<Outcome, Problem>,
    says: impl Fn(&str),
) -> Result<Compared, Problem> {
    let simulated =
        simulated::run(scenario, seed, scenario.faults.as_deref(), Keep::default()).outcome;
    says(&format!("simulated: {}", simulated.text(scenario)));
    let mut tries = 0;
    let real = loop {
        let steal = Steal::begin();
        let real = run()?;
        let stolen = steal.share();
        says(&format!("real:      {}", real.text(scenario)));
        let late = real.links.iter().filter_map(|link| link["late"]["p95_ms"].as_f64());
        let late = late.fold(0.0, f64::max);
        tries += 1;
        if late <= LATE && stolen <= STOLEN || tries == TRIES {
            break real;
        }
        says(&format!(
            "repeating: the link delivered packets up to {late:.1} ms late (95 % of packets), and {:.0} % of processor time was stolen\n",
            100.0 * stolen
        ));
    };
    let pairs = simulated.flows.iter().zip(&real.flows);
    let ratios = pairs.map(|(simulated, real)| Some(real.goodput()? / simulated.goodput()?));
    let ratios: Vec<_> = ratios.collect();
    for ratio in ratios.iter().flatten() {
        says(&format!("goodput, real / simulated: {ratio:.4}\n"));
    }
    Ok(Compared { simulated, real, ratios, tries })
}

impl Compared {
    /// As one object.
    pub(super) fn json(&self, scenario: &Scenario) -> Value {
        let both = [&self.simulated, &self.real];
        let broken = both.iter().find_map(|outcome| outcome.broken());
        let failed = both.iter().find_map(|outcome| outcome.failure(scenario));
        let differ = self.verdict().err().map(|problem| problem.says().to_owned());
        json!({
            "complete": true, "scenario": scenario.name, "place": "both",
            "simulated": self.simulated.json(scenario, "simulated"),
            "real": self.real.json(scenario, "real"),
            "ratios": self.ratios, "tries": self.tries, "differ": differ,
            "broken": broken.map(ToString::to_string), "failed": failed.or(differ.clone()),
        })
    }

    /// Whether both agree.
    ///
    /// # Errors
    /// How they differ.
    pub(super) fn verdict(&self) -> Result<(), Problem> {
        if self.ratios.iter().any(Option::is_none) {
            return Err(Problem::new("nothing arrived, so there is no goodput to compare"));
        }
        if self.ratios.iter().flatten().any(|ratio| (ratio - 1.0).abs() > APART) {
            return Err(Problem::new("simulator and real sockets differ by more than 5 %").advise(
                "run it again on an idle machine: the link and both ends need processor time promptly",
            ));
        }
        Ok(())
    }
}
