//! Stations on a simulated channel.

mod air;
mod chaos;
mod duty;
mod ends;
mod exchange;
mod sweeps;
mod talk;
mod ui;
