//! TLS between two stations of the simulator, and between one and a test that is its neighbours.

mod alone;
mod credit;
mod ends;
mod handshakes;
mod hostile;
mod sessions;
mod setting;
mod switch;
mod trust;
