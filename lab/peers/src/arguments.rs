//! The command line.

use std::net::SocketAddr;

use clap::{Args, Parser, Subcommand};

use crate::plan::{Congestion, Goal, Plan, Transport, Workload};
use crate::problem::Problem;

/// Run other transports under the workloads of the lab
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve one run after the other until standard input ends; print the address as one line of
    /// JSON
    Serve {
        transport: Transport,
        /// The address of the control connection; port 0 picks a free port
        address: SocketAddr,
    },
    /// Send to a server, and print one JSON object with its count
    Run(Run),
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    pub(crate) transport: Transport,
    /// The address of the server
    pub(crate) address: SocketAddr,
    #[command(subcommand)]
    workload: Chosen,
    /// The longest IP packet, in octets
    #[arg(long, default_value_t = 1500, global = true)]
    mtu: u16,
    /// The window in octets, for links that need more than the default (not tcp, udp, enet)
    #[arg(long, global = true)]
    window: Option<u32>,
    /// The congestion control (tcp) [default: cubic, whatever the system's is]
    #[arg(long, global = true)]
    congestion: Option<Congestion>,
    /// Send one datagram per call, without offloads (udp)
    #[arg(long, global = true)]
    plain: bool,
}

#[derive(Debug, Subcommand)]
enum Chosen {
    /// Send messages as fast as possible
    Bulk {
        /// The length of a message, in octets
        #[arg(long)]
        size: usize,
        #[command(flatten)]
        until: Until,
    },
    /// Send one request at a time, and wait for a reply of the same size
    Requests {
        /// The length of a message, in octets
        #[arg(long, default_value_t = 64)]
        size: usize,
        #[command(flatten)]
        until: Times,
    },
    /// Open associations, make one exchange on each, and close them after the last exchange
    Associations {
        /// The number of associations
        #[arg(long)]
        count: u64,
        /// The length of a message, in octets
        #[arg(long, default_value_t = 64)]
        size: usize,
    },
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Until {
    /// Send for this many seconds
    #[arg(long)]
    time: Option<f64>,
    /// End when the receiver has this many octets of payload
    #[arg(long)]
    octets: Option<u64>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Times {
    /// Send for this many seconds
    #[arg(long)]
    time: Option<f64>,
    /// The number of requests
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
            Chosen::Requests { size, until } => {
                (Workload::Requests, *size, goal(until.time, until.count))
            }
            Chosen::Associations { count, size } => {
                (Workload::Associations, *size, Goal::Number(*count))
            }
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
            return Err(Problem::new(format!(
                "{} has no window that could be set",
                self.transport
            )));
        }
        let Run { transport, mtu, window, congestion, plain, .. } = *self;
        let pinned = (transport == Transport::Tcp).then_some(Congestion::Cubic);
        let congestion = congestion.or(pinned);
        Plan { transport, workload, goal, size, mtu, window, congestion, plain }.check()
    }
}
