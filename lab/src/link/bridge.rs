//! Several namespaces on one bridge: a network of the kernel's alone, without a model.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use stackwright_results::Problem;

use super::namespace::{Namespace, remove_leftovers};
use super::rights;

/// What the device is called in each namespace.
const DEVICE: &str = "veth0";

/// A bridge that is up. It and all that is on it are gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Bridge {
    members: Vec<Namespace>,
    _hub: Namespace,
}

impl Bridge {
    /// Brings up a bridge with so many namespaces on it.
    ///
    /// # Errors
    /// Where a right or a program is missing; nothing is left behind then.
    pub(crate) fn up(count: u8) -> Result<Bridge, Problem> {
        rights::check()?;
        remove_leftovers();
        let hub = Namespace::make("hub")?;
        hub.configure("link add hub type bridge\nlink set dev hub up\n")?;
        let mut members = Vec::new();
        for place in 0..count {
            let member = Namespace::make(&format!("m{place}"))?;
            let port = format!("port{place}");
            hub.configure(&format!(
                "link add {port} type veth peer name {DEVICE} netns {}\n\
                 link set dev {port} master hub\n\
                 link set dev {port} up\n",
                member.name()
            ))?;
            member.configure(&format!(
                "link set dev lo up\n\
                 addr add {}/24 dev {DEVICE}\n\
                 link set dev {DEVICE} up\n\
                 route add 239.0.0.0/8 dev {DEVICE}\n",
                Self::address(place)
            ))?;
            members.push(member);
        }
        Ok(Bridge { members, _hub: hub })
    }

    /// The address of a member, in a network of 24 bits.
    pub(crate) fn address(place: u8) -> IpAddr {
        Ipv4Addr::new(10, 77, 1, place + 1).into()
    }

    /// `program`, to be run at that place; arguments follow as usual.
    pub(crate) fn command(&self, place: u8, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.members[usize::from(place)].name()]).arg(program);
        command
    }

    /// Drops this percentage of the packets that reach each member. Returns whether the kernel and
    /// the programs here can do it.
    pub(crate) fn loses(&self, share: u8) -> bool {
        let drops = format!("numgen random mod 100 < {share} drop");
        let rules = [
            "add table inet lossy".to_owned(),
            "add chain inet lossy come { type filter hook input priority 0; }".to_owned(),
            "flush chain inet lossy come".to_owned(),
            format!("add rule inet lossy come iifname {DEVICE} {drops}"),
        ];
        (0..self.members.len()).all(|place| {
            let mut command = self.command(place as u8, "nft");
            command.arg(rules.join("; "));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
    }
}
