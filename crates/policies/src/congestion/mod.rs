//! The slot `congestion`: how much the network takes.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | dedicated lines | |
//! | [`Aimd`] | doing what the document does | ARTP §1.4.5 |
//! | [`NewReno`] | the best-understood behaviour | RFC 5681, RFC 6582, RFC 3465 |
//! | [`Cubic`] | long and fast paths that are shared | RFC 9438 |
//! | [`Bbr`] | paths that lose packets without congestion | draft-ietf-ccwg-bbr |
//! | [`Probing`] | radio and satellite links | TCP-Probing, XSTP |
//! | [`Fitted`] | paths that change while data flow | |
//! | [`OneOf`] | the choice of a window at run time | |

mod absent;
mod aimd;
mod bbr;
mod cubic;
mod episode;
mod fitted;
mod hystart;
mod monitor;
mod new_reno;
mod one_of;
mod pacing;
mod probing;

pub use absent::Absent;
pub use aimd::Aimd;
pub use bbr::Bbr;
pub use cubic::Cubic;
pub use fitted::Fitted;
pub use new_reno::NewReno;
pub use one_of::OneOf;
pub use probing::Probing;
