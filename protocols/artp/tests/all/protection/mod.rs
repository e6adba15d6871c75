//! What protects datagrams: that it does, on bad links, against forgers, and with octets that
//! others can read.

mod control;
mod cost;
mod documented;
mod keys;
mod lengths;
mod replay;
mod setting;
mod single;
mod talks;
