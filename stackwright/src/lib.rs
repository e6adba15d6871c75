//! **Stackwright builds user-space network protocols from parts.** This is the front door: the framework and the
//! protocols under one name.
//!
//! | module | what |
//! | --- | --- |
//! | [`contract`] | what a protocol is |
//! | [`compose`] | putting protocols together |
//! | [`wire`] | messages, headers, checks |
//! | [`ftp`], [`copy`] | protocols |
//! | [`catalogue`] | what there is, with its facts |

pub mod catalogue;

pub use stackwright_compose as compose;
pub use stackwright_contract as contract;
pub use stackwright_copy as copy;
pub use stackwright_ftp as ftp;
pub use stackwright_wire as wire;
