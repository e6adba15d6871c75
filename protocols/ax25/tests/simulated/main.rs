//! Stations on a simulated channel.

mod air;
mod chaos;
mod ends;
mod exchange;
mod sweeps;
mod talk;
mod ui;
