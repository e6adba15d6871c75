//! IP between hosts and routers of its own, and packets of every kind at one host.

mod hosts;
mod simple;
