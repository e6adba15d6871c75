//! ARTP between two ends, without layers around it.

mod clocks;
mod conversation;
mod setting;
mod sweeps;
mod talks;
