//! All tests of the crate, in one binary: a module for each subject.

mod channel;
mod client;
mod comfort;
mod connect;
mod dissect;
mod encrypted;
mod ftp;
mod grants;
mod graph;
mod group;
mod group_lab;
mod group_perf;
mod group_store;
mod group_talk;
mod jis;
mod monitor;
mod over_ip;
mod over_udp;
mod perf;
mod placement;
mod spec;
mod station;
