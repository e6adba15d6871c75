//! `group`: processes that know who of them is there, and tell all of them.
//!
//! | file | what |
//! | --- | --- |
//! | here | the commands, and what they have in common: how a member joins |
//! | `talk.rs` | lines to all |
//! | `store.rs`, `clients.rs` | a replicated store, and its clients |
//! | `status.rs` | how a replica sees its group |
//! | `lab/` | what a stack promises, in a simulated network |
//! | `perf.rs` | how much its members can cast |

mod clients;
mod lab;
mod perf;
mod status;
mod store;
mod talk;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use ring::digest::{SHA256, digest};
use stackwright::contract::services::{Credit, Ended, GroupView, GroupsRequest};
use stackwright::contract::words::Speaks;
use stackwright::contract::{Facts, Handle, rules};
use stackwright_drivers::{Driver, Readiness};
use stackwright_parts::Stack;

use crate::described::Described;
use crate::graphs;
use crate::problem::Problem;
use crate::quantity::patience;
use crate::stacks::Message;
use lab::Lab;
use perf::GroupPerf;
use status::Status;
use store::Store;
use talk::Talk;

#[derive(Subcommand)]
pub(crate) enum Group {
    /// Talk with all members: lines go to all of them, in the order in which each said them, and it
    /// is shown who comes and goes.
    Talk(Talk),
    /// Be a replica of a store of keys and values, for any client of Redis.
    Store(Store),
    /// Ask a replica who is in its group, who lags behind, and why nothing can be written.
    Status(Status),
    Lab(Lab),
    /// Measure how much the members of a group can cast, and in which time: each of them runs this
    /// command.
    Perf(GroupPerf),
}

/// How a member joins.
#[derive(Args)]
pub(crate) struct Joining {
    /// The own address, as the other members reach it.
    #[arg(long, value_name = "ADDR:PORT")]
    at: SocketAddr,
    /// Where the other members may be.
    #[arg(long, value_name = "ADDR:PORT,...", value_delimiter = ',')]
    #[arg(required_unless_present_any = ["stack", "multicast"])]
    with: Vec<SocketAddr>,
    /// The group's name: groups of different names do not mix.
    #[arg(long, value_name = "ADDR:PORT", default_value = "239.77.3.1:4370")]
    group: SocketAddr,
    /// Use that as a multicast address: members find one another by it, and each cast leaves once
    /// for all who hear it. Members that do not are sent copies; where they are is said by --with.
    #[arg(long)]
    multicast: bool,
    /// Wait for a group, however long that takes, and never begin one.
    #[arg(long)]
    join: bool,
    /// A member that is silent for this long is excluded, as soon as most of the others agree.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = patience)]
    detect: Duration,
    /// A file with the key of the group: packets of processes with another key are dropped. To make
    /// one: `head -c 32 /dev/urandom > FILE`. Messages are authenticated, and not encrypted.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// A file that describes the stack, in place of --with, --multicast, --join, --detect and
    /// --key-file (`stackwright explain group-store` shows the one that is built in).
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["with", "multicast", "join", "detect", "key_file"])]
    stack: Option<PathBuf>,
}

/// The name of the group in its stack.
const NAME: Handle = Handle { index: 0, generation: 0 };
/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest key, in octets.
const KEY_LEAST: usize = 16;
/// The shortest silence that is taken for the end of a member.
const DETECT_LEAST: Duration = Duration::from_millis(50);

pub(crate) fn run(group: &Group) -> Result<(), Problem> {
    match group {
        Group::Talk(talk) => talk.run(),
        Group::Store(store) => store.run(),
        Group::Status(status) => status.run(),
        Group::Lab(lab) => lab.run(),
        Group::Perf(perf) => perf.run(),
    }
}

impl Group {
    pub(crate) fn json(&self) -> bool {
        match self {
            Group::Talk(talk) => talk.json,
            Group::Store(store) => store.json,
            Group::Status(status) => status.json,
            Group::Lab(lab) => lab.json,
            Group::Perf(perf) => perf.json,
        }
    }
}

impl Joining {
    fn check(&self) -> Result<(), Problem> {
        if self.at.ip().is_unspecified() || self.at.port() == 0 {
            let why = "the others have to reach it: name one address and its port";
            return Err(Problem::Unfit { what: "--at".into(), why });
        }
        if self.detect < DETECT_LEAST {
            let why = "members report six times in it, so 50ms is the least";
            return Err(Problem::Unfit { what: "--detect".into(), why });
        }
        let is_its = self.group.ip().is_multicast() && self.group.is_ipv4() == self.at.is_ipv4();
        if self.multicast && !is_its {
            let why = "--multicast needs a multicast address of the same kind as that of --at";
            return Err(Problem::Unfit { what: format!("--group {}", self.group), why });
        }
        Ok(())
    }

    fn open(&self) -> GroupsRequest<Message> {
        let (remote, local, credit) = (self.group.into(), Some(self.at.into()), Credit::ROOM);
        GroupsRequest::Open { association: NAME, remote, local, credit }
    }

    /// Builds the stack: the one that is built in under a name, unless a file describes it. What
    /// stands on its first top has these facts.
    fn stack<T: Speaks<Message, Readiness>>(
        &self,
        built_in: &str,
        upper: &Facts,
    ) -> Result<(Driver, Stack<T>), Problem> {
        self.layered(built_in, &[], upper)
    }

    /// The same, with more layers on top of the one that is built in.
    fn layered<T: Speaks<Message, Readiness>>(
        &self,
        built_in: &str,
        layers: &[&str],
        upper: &Facts,
    ) -> Result<(Driver, Stack<T>), Problem> {
        let described = match &self.stack {
            Some(file) => graphs::load::<T>(file)?,
            None => {
                let key = self.key_file.as_deref().map(key).transpose()?;
                let others = (&self.with[..], self.multicast);
                Described::of_group(built_in, others, self.detect, !self.join, key)?
                    .topped(layers)?
            }
        };
        let (driver, stack) = graphs::alone(&described, false)?;
        let lower = stack.tops().next().and_then(|top| stack.facts_of(top));
        rules::fits(upper, &lower.unwrap_or(Facts::named("nothing")))
            .map_err(|misfit| described.unfit(misfit.explain().as_str()))?;
        Ok((driver, stack))
    }

    /// Returns what the end of the group means for the program.
    fn ended(&self, why: Ended) -> Result<(), Problem> {
        match why {
            Ended::Finished => Ok(()),
            Ended::Unreachable if self.multicast => Err(Problem::Unfit {
                what: format!("--group {}", self.group),
                why: "no interface has the address of --at and takes part in multicast",
            }),
            Ended::Unavailable => Err(Problem::Unfit {
                what: format!("--at {}", self.at),
                why: "another program is there, or the address is not of this machine",
            }),
            _ => Err(Problem::Interrupted),
        }
    }
}

/// Returns the key that is in a file.
fn key(path: &Path) -> Result<u128, Problem> {
    let octets = fs::read(path).map_err(|why| Problem::Path { path: path.into(), why })?;
    if octets.len() < KEY_LEAST {
        let (what, why) = ("--key-file".into(), "a key has at least 16 octets");
        return Err(Problem::Unfit { what, why });
    }
    let digest = digest(&SHA256, &octets);
    let half = digest.as_ref().first_chunk().expect("SHA-256 has 32 octets");
    Ok(u128::from_be_bytes(*half))
}

/// Returns the addresses of a view's members.
fn members(view: &GroupView) -> Vec<String> {
    let members = view.members.iter().filter_map(|member| member.participant.internet());
    members.map(|address| address.to_string()).collect()
}
