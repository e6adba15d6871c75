//! Pictures by JIS: what the generated protocol costs, and how fast it is beside TCP.
//!
//! | table | experiment |
//! | --- | --- |
//! | [`size`] | E17: the code of clients and servers |
//! | [`places`] | E18: pictures beside TCP, in several places |
//! | [`first`] | E20: the first units, beside TCP |
//! | [`losses`] | E20: links that lose packets, in the simulator |

mod adus;
mod fetching;
mod first;
mod losses;
mod places;
mod programs;
mod simulated;
mod size;

pub(super) use first::FIRST;
pub(super) use losses::LOSSES;
pub(super) use places::PICTURES;
pub(crate) use simulated::{Arrived, Sending, arrive};
pub(super) use size::SIZE;
