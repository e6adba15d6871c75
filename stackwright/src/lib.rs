//! **Stackwright builds user-space network protocols from parts.** This crate
//! exports the framework and the protocols under one name.
//!
//! | module | contents |
//! | --- | --- |
//! | [`contract`] | the contract of a protocol: services, words, facts |
//! | [`compose`] | the composition of protocols: stacks and graphs |
//! | [`base`] | generated bases: what every protocol with associations needs |
//! | [`wire`] | messages, headers, checks |
//! | [`transport`], [`policies`] | a transport with slots, and what fits them |
//! | [`agw`], [`artp`], [`ax25`], [`axudp`], [`compress`], [`copy`], [`dsr`], [`ethernet`], [`framed`], [`ftp`], [`group`], [`ip`], [`jis`], [`kiss`], [`merged`], [`ordered`], [`proxy`], [`replica`], [`resolve`], [`stop_and_wait`], [`tailored`], [`tcp`], [`tls`], [`udp`], [`xtp`] | protocols |
//! | [`catalogue`] | the protocols there are, with their facts |
//! | `channel` | with the feature `channel`: a radio channel without radios |
//! | `drivers`, `endpoint`, `stacks` | with the feature `endpoint`: running a stack on the kernel's sockets; with the feature `tokio`, its calls are awaited |

pub mod catalogue;
#[cfg(feature = "channel")]
pub mod channel;
#[cfg(feature = "endpoint")]
pub mod stacks;

pub use stackwright_agw as agw;
pub use stackwright_artp as artp;
pub use stackwright_ax25 as ax25;
pub use stackwright_axudp as axudp;
pub use stackwright_base as base;
pub use stackwright_compose as compose;
pub use stackwright_compress as compress;
pub use stackwright_contract as contract;
pub use stackwright_copy as copy;
#[cfg(feature = "endpoint")]
pub use stackwright_drivers as drivers;
pub use stackwright_dsr as dsr;
#[cfg(feature = "endpoint")]
pub use stackwright_endpoint as endpoint;
pub use stackwright_ethernet as ethernet;
pub use stackwright_framed as framed;
pub use stackwright_ftp as ftp;
pub use stackwright_group as group;
pub use stackwright_ip as ip;
pub use stackwright_jis as jis;
pub use stackwright_kiss as kiss;
pub use stackwright_merged as merged;
pub use stackwright_ordered as ordered;
pub use stackwright_policies as policies;
pub use stackwright_proxy as proxy;
pub use stackwright_replica as replica;
pub use stackwright_resolve as resolve;
pub use stackwright_stop_and_wait as stop_and_wait;
pub use stackwright_tailored as tailored;
pub use stackwright_tcp as tcp;
pub use stackwright_tls as tls;
pub use stackwright_transport as transport;
pub use stackwright_udp as udp;
pub use stackwright_wire as wire;
pub use stackwright_xstp as xstp;
pub use stackwright_xtp as xtp;
