//! Where a program runs, and what its address is there.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use crate::servers::loopback;

/// Somewhere to start programs: this machine as it is, or one side of a wire.
pub trait Place {
    /// The address of what listens there.
    fn address(&self) -> IpAddr;

    /// A command that runs `program` there, and is that program itself once it runs: its process
    /// number is the program's.
    fn command(&self, program: &Path) -> Command;
}

/// This machine's loopback interface.
#[derive(Clone, Copy, Debug)]
pub struct Loopback {
    /// IPv6 instead of IPv4.
    pub six: bool,
}

impl Place for Loopback {
    fn address(&self) -> IpAddr {
        loopback(self.six)
    }

    fn command(&self, program: &Path) -> Command {
        Command::new(program)
    }
}
