//! A transport with slots. One engine, which knows no protocol; what makes a protocol is its format
//! and what it selects for each slot.
//!
//! | to read | for |
//! | --- | --- |
//! | [`slots`] | what can be selected: the questions that a policy answers |
//! | [`configuration!`], [`Policies`] | a selection that is written down |
//! | [`Parts`], [`Boxed`] | one that a program makes at run time |
//! | [`rules`] | which policies make a transport together |
//! | [`path_mtu`] | how long packets are: a part of a format |
//! | [`Association`] | the engine: what happens when a packet arrives, and before one leaves |
//! | [`Transport`], [`Host`] | many associations as one protocol, on a generated base |
//! | [`words`] | what all of them speak |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod configuration;
mod engine;
mod graveyard;
mod limits;
mod marks;
pub mod path_mtu;
mod receipts;
pub mod rules;
mod sending;
pub mod slots;
mod transport;
pub mod words;

pub use configuration::{
    Boxed, Configuration, Exchange, FrontOf, IntoPart, Parts, Policies, SLOTS, SlotPart, Slots,
};
pub use engine::{Association, Delivery, LossCounts, Memory};
pub use graveyard::Graveyard;
pub use limits::Limits;
pub use receipts::Receipts;
pub use sending::{Acknowledged, Sending};
pub use transport::{
    Associations, Crowd, Farewell, GroupMembers, Host, HostedAssociation, Located, NewPath,
    Transport,
};

#[doc(hidden)]
pub use stackwright_wire::{Message, SingleBuffer};
