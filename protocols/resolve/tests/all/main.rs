//! Next hops above Ethernet and AX.25: a test is the link on one side and IP on the other.

mod arp;
mod hostile;
mod ndp;
mod radio;
mod rig;
mod wire;
