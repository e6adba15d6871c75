//! Stations that hear each other, or not.

mod air;
mod hostile;
mod hosts;
mod routes;
mod streams;
