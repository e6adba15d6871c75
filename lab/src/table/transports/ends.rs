//! What lies between the two ends of a transport.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use stackwright_results::Problem;
use stackwright_simulator::Conditions;

use crate::link::{Report, Side, Veth, Wire, check_rights};

/// Whether links can be made here; if not, a note says that nothing was measured `there`, and why.
pub(crate) fn may_link(there: &str, notes: &mut Vec<String>) -> bool {
    let rights = check_rights();
    if let Err(why) = &rights {
        notes.push(format!("Nothing was measured{there}: {}.", why.says()));
    }
    rights.is_ok()
}

/// Two ends, and what is between them.
pub(crate) enum Ends {
    /// This machine's loopback interface.
    Loopback,
    /// Two namespaces and the kernel between.
    Veth(Veth),
    /// Two namespaces and a modelled link between.
    Wire(Wire),
}

impl Ends {
    /// A modelled link, the same both ways.
    ///
    /// # Errors
    /// Where it cannot be put up.
    pub(crate) fn wire(conditions: &Conditions, seed: u64) -> Result<Self, Problem> {
        Wire::up(conditions.clone(), conditions.clone(), seed).map(Ends::Wire)
    }

    /// Lets the kernel's TCP tune its buffers up to `octets` at both ends of a modelled link, where
    /// its own limits are lower.
    ///
    /// # Errors
    /// Where the system does not allow it.
    pub(crate) fn tcp_buffers(&self, octets: u64) -> Result<(), Problem> {
        for name in ["tcp_rmem", "tcp_wmem"] {
            // The first two, the least and the first size, stay as they are.
            let set = format!(
                "f=/proc/sys/net/ipv4/{name}; read l d m < $f && [ $m -ge {octets} ] || echo $l $d {octets} > $f"
            );
            self.set(&set, &format!("net.ipv4.{name}"))?;
        }
        Ok(())
    }

    /// Lets the kernel's TCP look for the path MTU where no ICMP comes (RFC 4821), at both ends of
    /// a modelled link.
    ///
    /// # Errors
    /// Where the system does not allow it.
    pub(crate) fn tcp_mtu_probing(&self) -> Result<(), Problem> {
        self.set("echo 1 > /proc/sys/net/ipv4/tcp_mtu_probing", "net.ipv4.tcp_mtu_probing")
    }

    /// Lets a shell set `what` at both ends of a modelled link.
    fn set(&self, command: &str, what: &str) -> Result<(), Problem> {
        let Ends::Wire(wire) = self else { return Ok(()) };
        for side in [Side::A, Side::B] {
            let status = wire.command(side, "sh").args(["-c", command]).status();
            if !status.is_ok_and(|status| status.success()) {
                return Err(Problem::new(format!("{what} cannot be set")));
            }
        }
        Ok(())
    }

    /// What became of the packets of a modelled link so far: forward and back.
    ///
    /// # Errors
    /// Where there is no such link, or it has ended.
    pub(crate) fn report(&mut self) -> Result<[Report; 2], Problem> {
        match self {
            Ends::Wire(wire) => wire.report(),
            _ => Err(Problem::new("only a modelled link counts packets")),
        }
    }

    /// The address of a side.
    pub(crate) fn address(&self, side: Side) -> IpAddr {
        match self {
            Ends::Loopback => Ipv4Addr::LOCALHOST.into(),
            Ends::Veth(_) | Ends::Wire(_) => side.address(),
        }
    }

    /// A command that runs there, on one processor where one is named.
    pub(crate) fn command(&self, side: Side, program: &OsStr, core: Option<usize>) -> Command {
        let core = core.map(|core| core.to_string());
        let first = if core.is_some() { OsStr::new("taskset") } else { program };
        let mut command = match self {
            Ends::Loopback => Command::new(first),
            Ends::Veth(veth) => veth.command(side, first),
            Ends::Wire(wire) => wire.command(side, first),
        };
        if let Some(core) = core {
            command.args(["-c", &core]).arg(program);
        }
        command
    }
}
