//! What a protocol is, and how it speaks with its neighbours.
//!
//! A protocol is a state machine without I/O, clock, threads or randomness of its own. It handles a
//! *request* from above, an *indication* from below or a timeout, and answers into an [`Outlet`]
//! that its caller lends. It never names its neighbours: it says which [`Service`] it
//! [`Provides`](Protocol::Provides) and which it [`Uses`](Protocol::Uses), and only a combinator
//! joins two of them.
//!
//! | to read | for |
//! | --- | --- |
//! | [`Protocol`], [`Outlet`], [`Context`] | the contract itself |
//! | [`Batches`] | which protocol takes several messages at once, and where they are split |
//! | [`Handle`], [`Names`], [`Mirror`] | how both sides of a boundary speak of one association |
//! | [`Arrivals`] | listeners, names that wait for arrivals, and their ends |
//! | [`Backlog`] | what waits for the credit of a stream |
//! | [`CreditGate`](services::CreditGate) | what waits for the credit of an association below |
//! | [`ax25`] | the head of a frame of AX.25, which several protocols read |
//! | [`ask`] | questions: how long a message may be, which peer, what round-trip time |
//! | [`services`] | the closed set of vocabularies |
//! | [`Word`] | what any word tells of itself: its name, its life, what it carries |
//! | [`words`] | the same vocabularies as one enum, for graphs |
//! | [`path`] | paths of files, split and joined |
//! | [`pattern`] | patterns of names, as a shell has them |
//! | [`described`] | what a file may say of a protocol |
//! | [`Facts`], [`rules`] | what a stack guarantees, and why it is refused |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arrivals;
pub mod ask;
pub mod ax25;
mod backlog;
mod batches;
mod call_sign;
mod command;
mod context;
pub mod described;
mod facts;
mod names;
mod participant;
pub mod path;
mod path_limits;
pub mod pattern;
mod phase;
mod protocol;
pub mod rules;
mod security;
mod service;
pub mod services;
mod time;
mod trouble;
mod word;
pub mod words;

pub use arrivals::{Arrivals, Party};
pub use backlog::Backlog;
pub use batches::{Batches, hand_down, hand_up};
pub use call_sign::{BadCallSign, CallSign};
pub use command::{Command, CommandError};
pub use context::{Context, Listener};
pub use facts::{Facts, Guarantees};
pub use names::{Handle, Mirror, Names};
pub use participant::{Address, Interface, Participant};
pub use path_limits::PathLimits;
pub use phase::{PhaseRule, RuleRefusal};
pub use protocol::{IndicationOf, IndicationTo, NameAbove, Outlet, Protocol, RequestOf, RequestTo};
pub use security::{BadFingerprint, Fingerprint, Secure, SecurityError, SessionGroup, TlsRole};
pub use service::{Both, Either, Meets, Nothing, Service};
pub use time::{Duration, Instant, earliest};
pub use trouble::Trouble;
pub use word::{Life, Word};
