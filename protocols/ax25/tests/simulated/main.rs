//! Stations on a simulated channel.

mod air;
mod ends;
mod exchange;
mod talk;
