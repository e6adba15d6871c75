//! KISS: alone, between two stations, and its memory.

mod alone;
mod exchange;
mod hostile;
mod hub;
mod leaves;
mod memory;
