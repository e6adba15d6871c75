//! The slot `congestion`: how much the network takes.

mod absent;
mod aimd;
mod bbr;
mod cubic;
mod episode;
mod new_reno;
mod one_of;
mod probing;

pub use absent::Absent;
pub use aimd::Aimd;
pub use bbr::Bbr;
pub use cubic::Cubic;
pub use new_reno::NewReno;
pub use one_of::OneOf;
pub use probing::Probing;
