//! Generated roles in stacks, graphs and the simulator: stop-and-wait beside the one that is
//! written by hand, and ping-pong.

mod adapter;
mod beats_come;
mod beside;
mod greets;
mod names;
mod ping_pong_talk;
mod talker;
