//! `--inet`: an own address on a device of this machine, where protocols of our own are.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A device, and the address that is ours there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Inet {
    /// The device's name.
    pub(crate) device: String,
    /// Whether its first queue is taken from the kernel.
    pub(crate) xdp: bool,
    pub(crate) network: Network,
}

/// An own address, and the length of the prefix that the link has in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    pub(crate) length: u8,
}

impl FromStr for Inet {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "write a device and an own address there that the system does not \
                             have, such as sw0=10.77.0.2/24, or xdp:eth1=10.77.0.2/24";
        let (device, network) = text.split_once('=').ok_or(WRONG)?;
        let network = network.parse().map_err(|()| WRONG)?;
        let own = device.strip_prefix("xdp:");
        let (device, xdp) = (own.unwrap_or(device), own.is_some());
        is_device(device).then(|| Inet { device: device.into(), xdp, network }).ok_or(WRONG)
    }
}

/// Returns whether a device of this machine may have that name.
pub(crate) fn is_device(name: &str) -> bool {
    (1..=15).contains(&name.len()) && !name.contains(['/', ' '])
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = text.split_once('/').ok_or(())?;
        let address: IpAddr = address.parse().map_err(drop)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.parse().ok().filter(|length| *length <= most).ok_or(())?;
        let is_host = !address.is_unspecified() && !address.is_multicast();
        if is_host { Ok(Network { address, length }) } else { Err(()) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_an_address_are_read() {
        let inet: Inet = "sw0=10.77.0.2/24".parse().expect("it is one");
        assert_eq!((&*inet.device, inet.xdp), ("sw0", false));
        let inet: Inet = "xdp:sw0=10.77.0.2/24".parse().expect("it is one");
        assert_eq!((&*inet.device, inet.xdp), ("sw0", true));
        assert_eq!(inet.network.to_string(), "10.77.0.2/24");
        let inet: Inet = "sw0=fd00::2/64".parse().expect("it is one");
        assert_eq!(inet.network.to_string(), "fd00::2/64");
        for text in [
            "sw0",
            "10.77.0.2/24",
            "sw0=10.77.0.2",
            "sw0=10.77.0.2/33",
            "=10.77.0.2/24",
            "a/b=10.77.0.2/24",
            "sw0=0.0.0.0/0",
            "sw0=224.0.0.1/4",
            "a-name-of-16-oct=10.77.0.2/24",
        ] {
            assert!(text.parse::<Inet>().is_err(), "{text}");
        }
    }
}
