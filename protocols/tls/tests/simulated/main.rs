//! TLS between two stations of the simulator, and between one and a test that is its neighbours.

mod handshakes;
mod setting;
