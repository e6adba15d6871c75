//! AGW: programs at two stations, whose AX.25 is the real one.

mod hostile;
mod links;
mod programs;
mod raw;
mod rig;
mod unproto;
