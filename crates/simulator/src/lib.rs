//! A seeded world without I/O, in which whole stacks run.
//!
//! A [`World`] has a clock that only it moves, a [`Network`] with links and faults, and stations. A
//! station is any stack whose lowest services are simulated, with an [`Application`] on top. The
//! same seed gives the same run, octet for octet: [`Trace`] has a hash to compare.
//!
//! | for | in the place of | there is |
//! | --- | --- | --- |
//! | `Streams` | the kernel's TCP | [`SimulatedStreams`] |
//! | `Datagrams` | UDP; under [`SimulatedHosts`], IP | [`SimulatedDatagrams`] |
//! | `Octets` | a serial line | [`pipe`] |
//! | `Files` | a disk | [`SimulatedDisk`] |
//!
//! Any two stations are connected by a [`Link`] in each direction, or by a half-duplex [`Channel`]
//! that several share. [`Conditions`] and [`ChannelConditions`] describe their behavior; a
//! [`Profile`] has those of a well-known kind of link, and a [`LinkDescription`] is read from a
//! file. What happened to packets by chance is logged as [`Event`]s, and a run is replayed from
//! them. Links and channels hold no clock and no I/O, so that they can be used without a world too:
//!
//! ```
//! use stackwright_contract::{Duration, Instant};
//! use stackwright_simulator::{Carried, Conditions, Link, LinkPacket};
//!
//! struct Frame(Vec<u8>);
//!
//! impl LinkPacket for Frame {
//!     fn octets(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn twin(&self) -> Self {
//!         Frame(self.0.clone())
//!     }
//!     fn alter(&mut self, bit: u64) {
//!         let bits = 8 * self.0.len() as u64;
//!         if let Some(bit) = bit.checked_rem(bits) {
//!             self.0[bit as usize / 8] ^= 1 << (bit % 8);
//!         }
//!     }
//! }
//!
//! let (rate, delay) = (Some(1200), Duration::from_millis(5));
//! let radio = Conditions { rate, delay, ..Conditions::IDEAL };
//! let mut link = Link::new(radio, 42);
//! let carried = link.carry(Instant::START, Frame(vec![0; 120]));
//! let Carried::Once(arrival, _) = carried else { unreachable!() };
//! assert_eq!(arrival, Instant::START + Duration::from_millis(100 + 5));
//! ```
//!
//! A [`LoneStack`] has no world: a test says each word to it.
//!
//! The simulated services are adversaries, not conveniences: octets arrive in any portions, answers
//! in any order that the contract allows, credits are small, and a protocol that breaks the
//! contract above them is stopped with a message.
//!
//! Two stations; a stack on an adapter is one as well, and any protocol may take the adapter's
//! place here:
//!
//! ```
//! use stackwright_contract::{Duration, Handle, services::{Credit, StreamsIndication, StreamsRequest}};
//! use stackwright_simulator::{Conditions, Fault, Heard, SimulatedStreams, Which, World};
//! use stackwright_wire::SingleBuffer;
//!
//! let [server, client] = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
//! let mut world = World::<SingleBuffer>::new(42);
//! world.network_mut().set_conditions(Conditions { loss: 0.1.into(), ..Conditions::IDEAL });
//! world.network_mut().fail(Which::Nth(1), Fault::Cut { after: 1000 });
//! let server = world.add(server, SimulatedStreams::new(server), Heard::default());
//! let client = world.add(client, SimulatedStreams::new(client), Heard::default());
//! let listener = Handle { index: 0, generation: 0 };
//! let association = Handle { index: 1, generation: 0 };
//! let local = std::net::SocketAddr::from(([10, 0, 0, 1], 21)).into();
//! world.ask(server, StreamsRequest::Listen { listener, local });
//! let credit = Credit::of_octets(4096);
//! world.ask(server, StreamsRequest::Await { listener, association, credit });
//! world.ask(client, StreamsRequest::Open { association, remote: local, local: None, credit });
//! assert!(world.run_until(|world| world.application(client).0.len() == 1, Duration::from_secs(60)));
//! assert!(matches!(world.application(client).0[0], StreamsIndication::Opened { .. }));
//! ```
#![forbid(unsafe_code)]

mod adapter_address;
mod application;
mod channel;
mod chunks;
mod clock;
mod datagrams;
mod disk;
mod drops;
mod events;
mod hash;
mod hosts;
mod lanes;
mod ledger;
mod link;
mod lone;
mod nat;
mod network;
mod packets;
mod pipe;
mod seeds;
mod segments;
mod shrink;
mod station;
mod streams;
mod trace;
mod world;

pub use adapter_address::AdapterAddress;
pub use application::{Application, Asks, Heard};
pub use channel::{
    AccessParameters, Activity, Channel, ChannelConditions, ChannelCounts, ChannelDescription,
    ChannelFlaw, HdlcFrame, Hearing, OnAir, Reception, StationDescription,
};
pub use chunks::Chunks;
pub use clock::DriftingClock;
pub use datagrams::{CheckedDatagrams, SimulatedDatagrams};
pub use disk::{DiskFaults, SimulatedDisk, Tree, Unsynced};
pub use drops::Drops;
pub use hosts::SimulatedHosts;
pub use lanes::Lanes;
pub use link::{
    Carried, Conditions, Counts, Deed, DelayStep, Discipline, EcnTreatment, Event, GilbertElliott,
    Link, LinkDescription, LinkFlaw, LinkPacket, LinkStep, Loss, NamedProfile, OctetCount, Outages,
    Passes, Policer, Profile, Queue, Reorder, StepLength, SteppedDelay, Time,
};
pub use lone::{LoneStack, Said};
pub use network::{Association, Fault, Flight, Network, Traffic, Which};
pub use pipe::{PipeEnd, pipe};
pub use seeds::{on_all_processors, seeds};
pub use segments::{Segment, SegmentWord, Segments, octets_of};
pub use shrink::shrink;
pub use station::StationId;
pub use streams::{CLOSE_TIMEOUT, Habits, Held, Pace, SimulatedStreams};
pub use trace::{Trace, TraceLine};
pub use world::World;
