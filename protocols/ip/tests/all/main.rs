//! IP between hosts and routers of its own, and packets of every kind at one host.

mod batches;
mod errors;
mod fragments;
mod headers;
mod hostile;
mod hosts;
mod packets;
mod point;
mod routers;
mod simple;
