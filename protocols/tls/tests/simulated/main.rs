//! TLS between two stations of the simulator, and between one and a test that is its neighbours.

mod alone;
#[allow(dead_code, reason = "files are for peers of others")]
mod certificates;
mod credit;
mod ends;
mod handshakes;
mod hostile;
mod sessions;
mod setting;
mod switch;
mod trust;
