//! The octets of frames: vectors, round trips, and any octets at all.

mod any;
mod vectors;
