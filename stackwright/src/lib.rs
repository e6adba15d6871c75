//! **Stackwright builds user-space network protocols from parts.** This is the front door: the
//! framework and the protocols under one name.
//!
//! | module | what |
//! | --- | --- |
//! | [`contract`] | what a protocol is |
//! | [`compose`] | putting protocols together |
//! | [`base`] | generated bases: what every protocol with associations needs |
//! | [`wire`] | messages, headers, checks |
//! | [`transport`], [`policies`] | a transport with slots, and what fits them |
//! | [`artp`], [`framed`], [`ftp`], [`copy`], [`ordered`], [`stop_and_wait`] | protocols |
//! | [`catalogue`] | what there is, with its facts |

pub mod catalogue;

pub use stackwright_artp as artp;
pub use stackwright_base as base;
pub use stackwright_compose as compose;
pub use stackwright_contract as contract;
pub use stackwright_copy as copy;
pub use stackwright_framed as framed;
pub use stackwright_ftp as ftp;
pub use stackwright_ordered as ordered;
pub use stackwright_policies as policies;
pub use stackwright_stop_and_wait as stop_and_wait;
pub use stackwright_transport as transport;
pub use stackwright_wire as wire;
