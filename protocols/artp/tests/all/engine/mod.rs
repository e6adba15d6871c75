//! ARTP between two ends, without layers around it.

mod clocks;
mod conversation;
mod narrow;
mod profiles;
mod promises;
mod setting;
mod sweeps;
mod talks;
mod wishes;
