//! All tests of the crate, in one binary: a module for each subject.

mod attacks;
mod multicast;
mod rates;
mod services;
mod sockets;
mod talks;
