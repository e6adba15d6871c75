//! The slot `connection`: how an association comes about and ends.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Agreed`] | associations that something else arranges | |
//! | [`Implicit`] | short exchanges: the first packet has data in it | XTP §5 |
//! | [`Handshake`] | networks in which addresses cannot be forged | SSCOP (Q.2110) |
//! | [`OneToMany`] | one sender and a group of receivers | XTP (MULTI, JCNTL) |
//! | [`ThreeWay`] | TCP | RFC 9293 §3.5, §3.6 |
//! | [`TwoStage`] | applications that decide which peers they serve | ARTP §1.4.3, §1.4.4 |
//! | [`Unanswered`] | paths with one direction, data that is worth nothing if it is late | XTP §5 |

mod agreed;
mod halves;
mod handshake;
mod implicit;
mod one_to_many;
mod three_way;
mod two_stage;
mod unanswered;

pub use agreed::Agreed;
pub use handshake::Handshake;
pub use implicit::Implicit;
pub use one_to_many::OneToMany;
pub use three_way::{ThreeWay, ThreeWayStage};
pub use two_stage::TwoStage;
pub use unanswered::Unanswered;
