//! A seeded world without I/O, in which whole stacks run.
//!
//! A [`World`] has a clock that only it moves, a [`Network`] with links and faults, and stations. A station is any stack
//! whose lowest services are simulated, with an [`Application`] on top. The same seed gives the same run, octet for octet:
//! [`Trace`] has a hash to compare.
//!
//! | for | in the place of | there is |
//! | --- | --- | --- |
//! | `Streams` | the kernel's TCP | [`SimulatedStreams`] |
//! | `Datagrams` | UDP | [`SimulatedDatagrams`] |
//! | `Octets` | a serial line | [`pipe`] |
//! | `Files` | a disk | [`SimulatedDisk`] |
//!
//! They are adversaries, not conveniences: octets arrive in any portions, answers in any order the contract allows, rooms
//! are small, and whoever breaks the contract above them is stopped with a sentence.
//!
//! Two stations; a stack on an adapter is one as well, and any protocol may take the adapter's place here:
//!
//! ```
//! use stackwright_contract::{Duration, Handle, services::{StreamsIndication, StreamsRequest}};
//! use stackwright_simulator::{Conditions, Fault, Heard, SimulatedStreams, Which, World};
//! use stackwright_wire::SingleBuffer;
//!
//! let [server, client] = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
//! let mut world = World::<SingleBuffer>::new(42);
//! world.network_mut().set_conditions(Conditions { loss: 0.1.into(), ..Conditions::IDEAL });
//! world.network_mut().fail(Which::Nth(1), Fault::Cut { after: 1000 });
//! let server = world.add(server, SimulatedStreams::new(server), Heard::default());
//! let client = world.add(client, SimulatedStreams::new(client), Heard::default());
//! let (listener, association) = (Handle { index: 0, generation: 0 }, Handle { index: 1, generation: 0 });
//! let local = std::net::SocketAddr::from(([10, 0, 0, 1], 21)).into();
//! world.ask(server, StreamsRequest::Listen { listener, local });
//! world.ask(server, StreamsRequest::Await { listener, association, room: 4096 });
//! world.ask(client, StreamsRequest::Open { association, remote: local, local: None, room: 4096 });
//! assert!(world.run_until(|world| world.application(client).0.len() == 1, Duration::from_secs(60)));
//! assert!(matches!(world.application(client).0[0], StreamsIndication::Opened { .. }));
//! ```
#![forbid(unsafe_code)]

mod application;
mod channel;
mod chunks;
mod datagrams;
mod disk;
mod events;
mod hash;
mod lanes;
mod ledger;
mod link;
mod network;
mod pipe;
mod segments;
mod station;
mod streams;
mod trace;
mod world;

pub use application::{Application, Asks, Heard};
pub use channel::{Channel, ChannelConditions, ChannelCounts, Hearing, Reception};
pub use chunks::Chunks;
pub use datagrams::SimulatedDatagrams;
pub use disk::{DiskFaults, SimulatedDisk, Tree};
pub use lanes::Lanes;
pub use link::{
    Carried, Conditions, Counts, Deed, Discipline, Event, GilbertElliott, Link, LinkDescription, LinkFlaw,
    Loss, NamedProfile, Outages, Packet, Passes, Profile, Queue, Reorder,
};
pub use network::{Association, Fault, Network, Which};
pub use pipe::{PipeEnd, pipe};
pub use segments::{Segment, Segments, Word};
pub use station::StationId;
pub use streams::{Habits, Held, Pace, SimulatedStreams};
pub use trace::{Line, Trace};
pub use world::World;
