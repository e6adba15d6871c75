//! The command line.

use std::net::SocketAddr;

use clap::{Args, Parser, Subcommand};

use crate::plan::{Congestion, Goal, Plan, Transport, Workload};
use crate::problem::Problem;

/// Transports that others wrote, under the workloads of the lab
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Receive, run after run, until standard input ends; prints where it listens as one line of JSON
    Serve {
        transport: Transport,
        /// Where the control connection comes; port 0 is any
        address: SocketAddr,
    },
    /// Send to a `serve`, and print one JSON object when it has counted
    Run(Run),
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    pub(crate) transport: Transport,
    /// Where `serve` listens
    pub(crate) address: SocketAddr,
    #[command(subcommand)]
    workload: Chosen,
    /// Octets of the longest IP packet
    #[arg(long, default_value_t = 1500, global = true)]
    mtu: u16,
    /// Octets on their way, for links whose rate × delay is above what the transport has of itself (not tcp, udp, enet)
    #[arg(long, global = true)]
    window: Option<u32>,
    /// Who says how much may be sent (tcp) [default: the system's]
    #[arg(long, global = true)]
    congestion: Option<Congestion>,
    /// One datagram a call, no offloads (udp)
    #[arg(long, global = true)]
    plain: bool,
}

#[derive(Debug, Subcommand)]
enum Chosen {
    /// Messages as fast as they go
    Bulk {
        #[arg(long)]
        size: usize,
        #[command(flatten)]
        until: Until,
    },
    /// A request, its reply of the same size, the next
    Requests {
        #[arg(long, default_value_t = 64)]
        size: usize,
        #[command(flatten)]
        until: Times,
    },
    /// Open so many, one exchange on each, all open until the last is done
    Associations {
        #[arg(long)]
        count: u64,
        #[arg(long, default_value_t = 64)]
        size: usize,
    },
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Until {
    /// Seconds
    #[arg(long)]
    time: Option<f64>,
    /// Octets of payload, all of which the receiver has to get
    #[arg(long)]
    octets: Option<u64>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Times {
    /// Seconds
    #[arg(long)]
    time: Option<f64>,
    /// How many
    #[arg(long)]
    count: Option<u64>,
}

impl Run {
    /// # Errors
    /// What cannot be done, before anything is tried.
    pub(crate) fn plan(&self) -> Result<Plan, Problem> {
        let goal = |time: Option<f64>, number: Option<u64>| {
            time.map_or(Goal::Number(number.unwrap_or_default()), Goal::Seconds)
        };
        let (workload, size, goal) = match &self.workload {
            Chosen::Bulk { size, until } => (Workload::Bulk, *size, goal(until.time, until.octets)),
            Chosen::Requests { size, until } => (Workload::Requests, *size, goal(until.time, until.count)),
            Chosen::Associations { count, size } => (Workload::Associations, *size, Goal::Number(*count)),
        };
        let only = |option: &str, transport: Transport, given: bool| {
            if given && self.transport != transport {
                return Err(Problem::new(format!("{option} is for {transport} only")));
            }
            Ok(())
        };
        only("--congestion", Transport::Tcp, self.congestion.is_some())?;
        only("--plain", Transport::Udp, self.plain)?;
        if self.window.is_some()
            && matches!(self.transport, Transport::Tcp | Transport::Udp | Transport::Enet)
        {
            return Err(Problem::new(format!("{} has no window that could be set", self.transport)));
        }
        let Run { transport, mtu, window, congestion, plain, .. } = *self;
        Plan { transport, workload, goal, size, mtu, window, congestion, plain }.check()
    }
}
