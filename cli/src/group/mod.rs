//! `group`: processes that know who of them is there, and tell all of them.
//!
//! | file | what |
//! | --- | --- |
//! | here | the commands, and what they have in common: how a member joins |
//! | `talk.rs` | lines to all |
//! | `store.rs`, `clients.rs` | a replicated store, and its clients |
//! | `status.rs` | how a replica sees its group |

mod clients;
mod status;
mod store;
mod talk;

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};
use stackwright::compose::{Over, stack};
use stackwright::contract::Handle;
use stackwright::contract::services::{Credit, Ended, GroupView, GroupsRequest};
use stackwright::group::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig,
};
use stackwright_drivers::Driver;
use stackwright_drivers::udp::Udp;

use crate::problem::Problem;
use crate::quantity::patience;
use crate::stacks::{self, Message};
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
}

/// How a member joins.
#[derive(Args)]
pub(crate) struct Joining {
    /// The own address, as the other members reach it.
    #[arg(long, value_name = "ADDR:PORT")]
    at: SocketAddr,
    /// Where the other members may be.
    #[arg(long, value_name = "ADDR:PORT,...", value_delimiter = ',', required = true)]
    with: Vec<SocketAddr>,
    /// The group's name: groups of different names do not mix.
    #[arg(long, value_name = "ADDR:PORT", default_value = "239.77.3.1:4370")]
    group: SocketAddr,
    /// Wait for a group, however long that takes, and never begin one.
    #[arg(long)]
    join: bool,
    /// A member that is silent for this long is excluded, as soon as most of the others agree.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = patience)]
    detect: Duration,
}

stack! {
    /// A group of processes over UDP.
    pub(crate) GroupStack =
        MicroLayer<Message, Views<Message>>
            over MicroLayer<Message, Detector>
            over MicroLayer<Message, Nak<Message>>
            over Mesh<Message> over Udp<Message>
}

stack! {
    /// A group whose members have a state, and agree on the order of all casts.
    pub(crate) StateStack =
        MicroLayer<Message, StateTransfer<Message>>
            over MicroLayer<Message, TotalOrder<Message>>
            over MicroLayer<Message, SafeDelivery<Message>>
            over MicroLayer<Message, Views<Message>>
            over MicroLayer<Message, Detector>
            over MicroLayer<Message, Nak<Message>>
            over Mesh<Message> over Udp<Message>
}

/// The name of the group in its stack.
const NAME: Handle = Handle { index: 0, generation: 0 };
/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest silence that is taken for the end of a member.
const DETECT_LEAST: Duration = Duration::from_millis(50);
/// How long nobody is heard of before a group is begun.
const FOUNDING: Duration = Duration::from_secs(1);

pub(crate) fn run(group: &Group) -> Result<(), Problem> {
    match group {
        Group::Talk(talk) => talk.run(),
        Group::Store(store) => store.run(),
        Group::Status(status) => status.run(),
    }
}

impl Group {
    pub(crate) fn json(&self) -> bool {
        match self {
            Group::Talk(talk) => talk.json,
            Group::Store(store) => store.json,
            Group::Status(status) => status.json,
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
        Ok(())
    }

    fn open(&self) -> GroupsRequest<Message> {
        let (remote, local, credit) = (self.group.into(), Some(self.at.into()), Credit::ROOM);
        GroupsRequest::Open { association: NAME, remote, local, credit }
    }

    /// Returns a stack on the lane 0; `state`: whether members have one.
    fn stack(&self, driver: &Driver, state: bool) -> GroupStack {
        let founding = (!self.join).then_some(FOUNDING);
        let membership = ViewsConfig { founding, state, ..ViewsConfig::default() };
        let nak = NakConfig { report: self.detect / 6, ..NakConfig::default() };
        let peers = self.with.iter().map(|peer| (*peer).into()).collect();
        let udp = Udp::new(driver.registry(), 0, stacks::pool());
        let mesh = Over::new(Mesh::new(MeshConfig { peers }), udp);
        let casts = Over::new(MicroLayer::new(Nak::new(nak)), mesh);
        let silence = Over::new(MicroLayer::new(Detector::new(self.detect)), casts);
        Over::new(MicroLayer::new(Views::new(membership)), silence)
    }

    fn state_stack(&self, driver: &Driver) -> StateStack {
        let safe = Over::new(MicroLayer::new(SafeDelivery::new()), self.stack(driver, true));
        let total = Over::new(MicroLayer::new(TotalOrder::new()), safe);
        Over::new(MicroLayer::new(StateTransfer::new()), total)
    }

    /// Returns what the end of the group means for the program.
    fn ended(&self, why: Ended) -> Result<(), Problem> {
        match why {
            Ended::Finished => Ok(()),
            Ended::Unavailable => Err(Problem::Unfit {
                what: format!("--at {}", self.at),
                why: "another program is there, or the address is not of this machine",
            }),
            _ => Err(Problem::Interrupted),
        }
    }
}

/// Returns the addresses of a view's members.
fn members(view: &GroupView) -> Vec<String> {
    let members = view.members.iter().filter_map(|member| member.participant.internet());
    members.map(|address| address.to_string()).collect()
}
