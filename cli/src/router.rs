//! `route`: a router of our own between devices of this machine, as a file describes it.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use indicatif::HumanBytes;
use serde_json::json;
use stackwright::compose::graph::Graph;
use stackwright::contract::ask::{NothingBelow, Query, ask};
use stackwright::contract::services::{Datagrams, DatagramsIndication};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::ip::{Config, Forwarded, IpInterface, IpRoute, Routing, RoutingReport};
use stackwright_drivers::Readiness;

use crate::graphs;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::quantity::patience;
use crate::report::say;
use crate::stacks::Message;

#[derive(Args)]
#[command(after_help = "\
The top of the file is an `ip` over one node for each interface:

  top = \"ip\"
  [ip]
  address = \"10.1.0.2/24, 10.2.0.1/24\"
  routes = \"10.3.0.0/24 via 10.2.0.2\"
  forwards = true
  over = [[\"tunnel\", \"neighbours\"]]

Examples:
  stackwright draw router.toml
  stackwright route router.toml
  stackwright route router.toml --json --interval 10")]
pub(crate) struct Router {
    /// A stack file.
    #[arg(value_name = "FILE")]
    pub(crate) stack: PathBuf,
    /// How often to look at what has been forwarded, for --json.
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = patience)]
    pub(crate) interval: Duration,
    /// Print JSON lines: the packets and octets forwarded so far, whenever they are more.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(router: &Router) -> Result<(), Problem> {
    let described = graphs::load::<Datagrams<Message>>(&router.stack)?;
    let (mut driver, mut stack) = graphs::alone::<Datagrams<Message>>(&described, false)?;
    let interrupted = interrupts()?;
    let Some(config @ Config { forwards: true, .. }) = of(&stack, Routing) else {
        return Err(described.unfit("its top has to be an `ip` with `forwards = true`"));
    };
    begin(router, &config);
    let (mut next, mut told) = (driver.now(), None);
    while !interrupted.load(Relaxed) {
        let wait = next.since(driver.now()).clamp(Duration::from_millis(1), Duration::from_secs(1));
        driver.turn(&mut stack, &mut NobodyAbove, Some(wait))?;
        let forwarded = of(&stack, Forwarded);
        if driver.now() >= next {
            next = driver.now() + router.interval;
            if router.json && forwarded != told {
                tell(router, &forwarded.unwrap_or_default(), driver.context().dropped_count());
                told = forwarded;
            }
        }
    }
    let forwarded = of(&stack, Forwarded).unwrap_or_default();
    tell(router, &forwarded, driver.context().dropped_count());
    Ok(())
}

/// What the stack answers under any name.
fn of<Q: Query>(
    stack: &Graph<Message, Readiness, Datagrams<Message>>,
    query: Q,
) -> Option<Q::Answer> {
    ask(stack, Handle { index: 0, generation: 0 }, query, &NothingBelow)
}

/// Says what is routed.
fn begin(router: &Router, config: &Config) {
    let own = |interface: &IpInterface| {
        let own = interface.addresses.iter();
        own.map(|(address, length)| format!("{address}/{length}")).collect::<Vec<_>>().join(" ")
    };
    let interfaces: Vec<_> = config.interfaces.iter().map(own).collect();
    let route = |IpRoute { prefix, length, interface, next_hop, .. }: &IpRoute| {
        let via = next_hop.map(|router| format!(" via {router}")).unwrap_or_default();
        format!("{prefix}/{length}{via} on interface {interface}")
    };
    let routes: Vec<_> = config.routes.iter().map(route).collect();
    if router.json {
        let event = json!({ "event": "routing", "interfaces": interfaces, "routes": routes });
        return say!("{event}");
    }
    for (number, own) in interfaces.iter().enumerate() {
        say!("Interface {number}: {own}");
    }
    routes.iter().for_each(|route| say!("Route: {route}"));
    say!("Forwards between them. Press Ctrl-C to stop.");
}

fn tell(router: &Router, forwarded: &RoutingReport, dropped: u64) {
    let RoutingReport { packets, octets } = forwarded;
    if router.json {
        let event = json!({
            "event": "forwarded", "packets": packets, "octets": octets, "dropped": dropped,
        });
        return say!("{event}");
    }
    say!("{packets} packets forwarded, {}; {dropped} dropped", HumanBytes(*octets));
}

/// Nobody above: the router answers for itself.
struct NobodyAbove;

impl<S: Protocol<Provides = Datagrams<Message>>> Outlet<S> for NobodyAbove {
    fn indicate(&mut self, _: DatagramsIndication<Message>) {}

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}
