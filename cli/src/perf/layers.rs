//! `perf layers`: another command of this program, each layer of whose stacks is measured.

use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use stackwright::compose::graph::{LayerCost, LayerMeter, LayerTraffic};
use stackwright_parts::{Boxed, Registry};

use super::shown;
use crate::report::say;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright perf layers perf run artp://HOST:4330
  stackwright perf layers get --stack get ftp://HOST/file
  stackwright perf layers serve --stack my-stack.toml ~/pub")]
pub(crate) struct Layers {
    /// Print one JSON object for each stack.
    #[arg(long)]
    json: bool,
    /// The command, such as `get` or `perf run`, with its arguments.
    ///
    /// Its stack is that of a file or a built-in one (--stack), or one that `perf` measures; the
    /// fixed stacks of transfers have no layers that can be told apart.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Whether stacks are measured, and how that is told.
static HOW: AtomicU8 = AtomicU8::new(OFF);
const OFF: u8 = 0;
const TEXT: u8 = 1;
const JSON: u8 = 2;

std::thread_local! {
    /// The stacks of a thread. When it ends, they are told.
    static STACKS: RefCell<Vec<Measured>> = const { RefCell::new(Vec::new()) };
}

struct Measured {
    name: String,
    meter: Rc<LayerMeter>,
}

impl Layers {
    /// Does what the command says by `obey`, and tells what its layers took; returns the exit code.
    pub(crate) fn run(&self, obey: impl FnOnce(Vec<OsString>) -> u8) -> u8 {
        HOW.store(if self.json { JSON } else { TEXT }, Ordering::Relaxed);
        let words = ["stackwright".into()].into_iter().chain(self.command.iter().cloned());
        let code = obey(words.collect());
        STACKS.take();
        code
    }
}

/// Returns a meter for the stack of that name, where stacks are measured.
pub(crate) fn meter(name: &str) -> Option<Rc<LayerMeter>> {
    if HOW.load(Ordering::Relaxed) == OFF {
        return None;
    }
    let meter = LayerMeter::new(now);
    let measured = Measured { name: name.into(), meter: Rc::clone(&meter) };
    STACKS.with_borrow_mut(|stacks| stacks.push(measured));
    Some(meter)
}

/// Lets the protocols of a described stack be measured, where stacks are.
pub(crate) fn measured(registry: Registry, name: &str) -> Registry {
    match meter(name) {
        Some(meter) => registry.measured(meter),
        None => registry,
    }
}

/// Lets a part of a stack be measured.
pub(super) fn part(
    meter: Option<&Rc<LayerMeter>>,
    name: &str,
    lower: Option<&str>,
    part: Boxed,
) -> Boxed {
    match meter {
        Some(meter) => meter.node(name, lower.map(str::to_owned), part),
        None => part,
    }
}

fn now() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed().as_nanos() as u64
}

/// What looks at the clock cost a node for each word, in nanoseconds.
fn look() -> u64 {
    const LOOKS: u64 = 10_000;
    let begin = now();
    for _ in 0..LOOKS {
        std::hint::black_box(now());
    }
    (now() - begin) / LOOKS
}

/// What a layer adds to each message, or takes off it, on its way from one neighbour to the other;
/// `None` where several meet, or nothing came from the first.
fn header(shorter: LayerTraffic, longer: LayerTraffic) -> Option<f64> {
    let is_known = shorter.messages > 0 && longer.messages > 0;
    let octets = longer.octets as f64 - shorter.octets as f64;
    is_known.then(|| octets / longer.messages as f64)
}

/// The only one of which that is so.
fn only(costs: &[LayerCost], is: impl Fn(&LayerCost) -> bool) -> Option<&LayerCost> {
    let mut found = costs.iter().filter(|cost| is(cost));
    found.next().xor(found.next())
}

/// The headers of `layer` downward and upward.
fn headers(costs: &[LayerCost], layer: &LayerCost) -> [Option<f64>; 2] {
    let upper = |of: &LayerCost| only(costs, |upper| upper.lowers.contains(&of.name));
    let lower = only(costs, |lower| layer.lowers.contains(&lower.name));
    let down = lower.filter(|lower| upper(lower).is_some());
    let up = upper(layer).filter(|upper| upper.lowers.len() == 1);
    [
        down.and_then(|lower| header(layer.down, lower.down)),
        up.and_then(|upper| header(upper.up, layer.up)),
    ]
}

impl Drop for Measured {
    fn drop(&mut self) {
        let costs = self.meter.costs();
        if HOW.load(Ordering::Relaxed) == JSON {
            return self.tell_json(&costs);
        }
        let all: u64 = costs.iter().map(|cost| cost.nanoseconds).sum();
        let took = shown::short(Duration::from_nanos(all));
        say!("Layers of `{}`: {took}; the clock adds {} ns to each word.", self.name, look());
        say!(
            "{:<16} {:>10} {:>6} {:>8} {:>8}  {:>9} {:>9} {:>6}  {:>9} {:>9} {:>6}",
            "layer",
            "time",
            "share",
            "words",
            "ns/word",
            "down",
            "octets",
            "header",
            "up",
            "octets",
            "header"
        );
        for cost in &costs {
            let LayerCost { name, nanoseconds, words, down, up, .. } = cost;
            let [from_above, from_below] = headers(&costs, cost)
                .map(|octets| octets.map_or("-".into(), |octets| format!("{octets:.1}")));
            say!(
                "{name:<16} {:>10} {:>4.0} % {words:>8} {:>8}  {:>9} {:>9} {from_above:>6}  {:>9} {:>9} {from_below:>6}",
                shown::short(Duration::from_nanos(*nanoseconds)),
                100.0 * *nanoseconds as f64 / all.max(1) as f64,
                nanoseconds / words.max(&1),
                down.messages,
                shown::amount(down.octets),
                up.messages,
                shown::amount(up.octets),
            );
        }
    }
}

impl Measured {
    fn tell_json(&self, costs: &[LayerCost]) {
        let layers = costs.iter().map(|cost| {
            let LayerCost { name, lowers, nanoseconds, words, down, up } = cost;
            let [header_down, header_up] = headers(costs, cost);
            json!({
                "name": name, "over": lowers, "nanoseconds": nanoseconds, "words": words,
                "messages_down": down.messages, "octets_down": down.octets, "header_down": header_down,
                "messages_up": up.messages, "octets_up": up.octets, "header_up": header_up,
            })
        });
        let layers: Vec<_> = layers.collect();
        say!(
            "{}",
            json!({ "event": "layers", "stack": self.name, "clock": look(), "layers": layers })
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(name: &str, lowers: &[&str], [down, up]: [(u64, u64); 2]) -> LayerCost {
        let traffic = |(messages, octets)| LayerTraffic { messages, octets };
        LayerCost {
            name: name.into(),
            lowers: lowers.iter().map(|lower| (*lower).into()).collect(),
            down: traffic(down),
            up: traffic(up),
            ..LayerCost::default()
        }
    }

    #[test]
    fn a_header_is_what_a_layer_adds_and_takes_off() {
        let costs = [
            cost("framed", &["artp"], [(2, 200), (4, 100)]),
            cost("artp", &["udp"], [(2, 204), (5, 190)]),
            cost("udp", &[], [(4, 288), (0, 0)]),
        ];
        assert_eq!(headers(&costs, &costs[0]), [Some(2.0), None]);
        assert_eq!(headers(&costs, &costs[1]), [Some(21.0), Some(18.0)]);
        assert_eq!(headers(&costs, &costs[2]), [None, None], "the system's are not seen");
        let shared = [&costs[..], &[cost("other", &["udp"], [(1, 1), (0, 0)])]].concat();
        assert_eq!(headers(&shared, &shared[1])[0], None, "others use the lower, too");
    }
}
