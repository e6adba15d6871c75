//! Two namespaces and a pair of virtual Ethernet devices between them: the kernel alone, without a
//! model.

use std::ffi::OsStr;
use std::process::Command;

use stackwright_results::Problem;

use super::Side;
use super::namespace::{Namespace, remove_leftovers};
use super::rights;

/// What the device is called, in either namespace.
const DEVICE: &str = "veth0";

/// A pair that is up. It and both ends are gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Veth {
    ends: [Namespace; 2],
}

impl Veth {
    /// Brings a pair up whose packets have at most `mtu` octets.
    ///
    /// # Errors
    /// Where a right or a program is missing; nothing is left behind then.
    pub(crate) fn up(mtu: u32) -> Result<Veth, Problem> {
        rights::check()?;
        remove_leftovers();
        let ends = [Namespace::make(Side::A.name())?, Namespace::make(Side::B.name())?];
        ends[0].configure(&format!(
            "link add {DEVICE} type veth peer name {DEVICE} netns {}\n",
            ends[1].name()
        ))?;
        for (end, side) in ends.iter().zip(Side::ALL) {
            end.configure(&format!(
                "link set dev lo up\n\
                 link set dev {DEVICE} mtu {mtu}\n\
                 addr add {}/30 dev {DEVICE}\n\
                 link set dev {DEVICE} up\n",
                side.address()
            ))?;
        }
        Ok(Veth { ends })
    }

    /// `program`, to be run at that side; arguments follow as usual.
    pub(crate) fn command(&self, side: Side, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.ends[side as usize].name()]).arg(program);
        command
    }
}
