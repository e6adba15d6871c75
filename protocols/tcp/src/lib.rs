//! TCP (RFC 9293) in user space, over any datagrams: IP, or a test's.
//!
//! There is no state machine here: a connection is a configuration of the engine, and this crate
//! adds the format of segments and what concerns connections as a whole.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs`, `options.rs` | the layouts |
//! | `key.rs` | what tells connections apart |
//! | `format/` | the segments of one connection |
//! | `state.rs` | the eleven states, which nobody keeps |
//! | `host.rs` | the connections of a station: which are made, and what others are told |
//! | `cookies.rs` | how a SYN is answered and forgotten |
//! | `config.rs` | the settings |
//! | `policies.rs` | the policies, set so |
//! | `described.rs` | how a file describes TCP |
//! | `syntax.rs` | the syntax of a segment, for programs that display packets |
//!
//! # In a test of an application
//!
//! Two stations talk TCP in a simulated network that loses every tenth packet; another seed loses
//! others. What stands above is the application's protocol; here it is one that only listens.
//!
//! ```
//! use std::net::{IpAddr, SocketAddr};
//!
//! use stackwright_compose::Over;
//! use stackwright_contract::services::{Credit, StreamsIndication, StreamsRequest};
//! use stackwright_contract::{Duration, Handle};
//! use stackwright_simulator::{Conditions, Heard, SimulatedDatagrams, SimulatedHosts, World};
//! use stackwright_tcp::{Config, layer};
//! use stackwright_wire::{BufferTree, Message};
//!
//! type M = BufferTree;
//! let [listener, awaited, opened] = [0, 1, 2].map(|index| Handle { index, generation: 0 });
//! let [server, client] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
//! let credit = Credit { octets: 1 << 20, messages: 64 };
//!
//! let mut world = World::<M>::new(42);
//! let delay = Duration::from_millis(20);
//! let lossy = Conditions { delay, loss: 0.1.into(), ..Conditions::IDEAL };
//! world.network_mut().set_conditions(lossy);
//! let [server, client] = [server, client].map(|host| {
//!     let below = Over::new(SimulatedHosts::new(host, 6), SimulatedDatagrams::new(host, credit));
//!     world.add(host, Over::new(layer::<M>(Config::new([7; 16]), 1), below), Heard::default())
//! });
//! let local = SocketAddr::from(([10, 0, 0, 1], 80)).into();
//! world.ask(server, StreamsRequest::Listen { listener, local });
//! world.ask(server, StreamsRequest::Await { listener, association: awaited, credit });
//! let open = StreamsRequest::Open { association: opened, remote: local, local: None, credit };
//! world.ask(client, open);
//! let minute = Duration::from_secs(60);
//! assert!(world.run_until(|world| !world.application(client).0.is_empty(), minute), "it opens");
//!
//! let batch = M::with_headroom(64, &[7; 50_000]).into();
//! let (association, properties) = (opened, Default::default());
//! world.ask(client, StreamsRequest::Send { association, batch, properties });
//! let arrived = |world: &World<M>| {
//!     let heard = world.application(server).0.iter().map(|told| match told {
//!         StreamsIndication::Delivered { batch, .. } => batch.octets(),
//!         _ => 0,
//!     });
//!     heard.sum::<usize>() == 50_000
//! };
//! assert!(world.run_until(arrived, minute), "all of it arrives, once");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod cookies;
mod described;
mod format;
mod header;
mod host;
mod key;
pub mod options;
mod policies;
mod state;
mod syntax;

pub use config::{Config, SEGMENT_LEAST};
pub use described::described;
pub use format::TcpFormat;
pub use header::TcpFront;
pub use host::TcpHost;
pub use key::TcpKey;
pub use policies::{Tcp, policies};
pub use state::TcpState;
pub use syntax::SYNTAX;

use stackwright_transport::{Associations, Transport};

/// TCP as a layer.
pub type TcpLayer<M> = Transport<TcpHost<M>>;

/// Returns TCP with `config`. A peer must not know `seed`.
pub fn layer<M: stackwright_wire::Message>(config: Config, seed: u64) -> TcpLayer<M> {
    Transport::new(Associations::new(TcpHost::new(config)), seed)
}
