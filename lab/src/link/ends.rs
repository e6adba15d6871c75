//! The two ends as the kernel has them: namespaces, devices, addresses.

use std::path::Path;

use stackwright_drivers::tun::Device;
use stackwright_results::Problem;

use super::Side;
use super::namespace::{Namespace, remove_leftovers};
use super::rights;

/// What the device is called, in either namespace.
const DEVICE: &str = "link0";
/// The least MTU of a link that carries IPv6 (RFC 8200 §5).
const IPV6_LEAST_MTU: u32 = 1280;
/// How many packets wait in a device until they are read: a tenth of a second of full packets at 1
/// Gb/s. What comes beyond them the kernel drops, behind the model's back; it is reported.
const DEVICE_QUEUE: u32 = 10_000;

/// One end. Its device goes before its namespace.
#[derive(Debug)]
pub(super) struct End {
    pub(super) device: Device,
    pub(super) namespace: Namespace,
}

impl End {
    fn make(side: Side, mtu: u32) -> Result<End, Problem> {
        let namespace = Namespace::make(side.name())?;
        let device = namespace.device(DEVICE)?;
        let mut lines = format!(
            "link set dev lo up\n\
             link set dev {DEVICE} mtu {mtu} txqueuelen {DEVICE_QUEUE}\n\
             addr add {}/30 dev {DEVICE}\n",
            side.address()
        );
        if has_ipv6(mtu) {
            // Nobody else can have the address: it is not asked whether somebody does, and no other
            // is made up.
            lines += &format!(
                "link set dev {DEVICE} addrgenmode none\n\
                 addr add {}/64 dev {DEVICE} nodad\n",
                side.address_ipv6()
            );
        }
        lines += &format!("link set dev {DEVICE} up\n");
        namespace.configure(&lines)?;
        Ok(End { device, namespace })
    }

    /// How many packets the kernel dropped before they could be read.
    pub(super) fn missed(&self) -> Option<u64> {
        let told = self.namespace.device_statistics(DEVICE).ok()?;
        told[0]["stats64"]["tx"]["dropped"].as_u64()
    }
}

/// Whether ends with that MTU have addresses of IPv6.
pub(super) fn has_ipv6(mtu: u32) -> bool {
    mtu >= IPV6_LEAST_MTU && Path::new("/proc/net/if_inet6").exists()
}

/// Makes both, and removes first what killed runs have left.
///
/// # Errors
///
/// Where a right or a program is missing; nothing is left behind then.
pub(super) fn make(mtu: u32) -> Result<[End; 2], Problem> {
    rights::check()?;
    for name in remove_leftovers() {
        eprintln!("lab: removed {name}, left behind by a killed run");
    }
    Ok([End::make(Side::A, mtu)?, End::make(Side::B, mtu)?])
}
