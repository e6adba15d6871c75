//! ARTP between two ends, without layers around it.

mod setting;
mod talks;
