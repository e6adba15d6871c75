//! Next hops above Ethernet: a test is the link on one side and IP on the other.

mod arp;
mod hostile;
mod ndp;
mod rig;
mod wire;
