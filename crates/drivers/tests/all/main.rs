//! All tests of the crate, in one binary: a module for each subject.

mod air;
mod device;
mod files;
mod ip;
mod ipc;
mod line;
mod namespace;
mod packet;
mod pipe;
mod tcp;
mod tun;
mod udp;
