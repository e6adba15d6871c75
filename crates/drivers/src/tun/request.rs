//! The requests for which network devices have no other call.
#![allow(unsafe_code, reason = "named exception: ioctl")]

use std::ffi::{c_int, c_short};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::TunKind;

/// `IFF_NO_PI | IFF_VNET_HDR` of `linux/if_tun.h`: frames behind the header of `offload.rs` only.
const FLAGS: c_short = 0x1000 | 0x4000;
/// `TUN_F_CSUM` of `linux/if_tun.h`.
const CHECKS: usize = 0x01;
/// `TUN_F_TSO4 | TUN_F_TSO6`. Without `TUN_F_TSO_ECN`, so that a super-packet never has a flag in
/// its first segment that the others must not have.
const SEGMENTS: usize = 0x02 | 0x04;
/// `TUN_F_USO4 | TUN_F_USO6`.
const DATAGRAMS: usize = 0x20 | 0x40;

const SET_INTERFACE: Opcode = opcode::write::<c_int>(b'T', 202);
const SET_OFFLOAD: Opcode = opcode::write::<c_int>(b'T', 208);
/// `SIOCGIFMTU` and `SIOCGIFHWADDR` of `linux/sockios.h`.
const GET_MTU: Opcode = 0x8921;
const GET_ADDRESS: Opcode = 0x8927;

/// `struct ifreq` (netdevice(7)): a name, and a union of at most 24 octets that begins with what
/// the request is about.
#[repr(C)]
struct Interface {
    name: [u8; 16],
    value: Value,
}

/// The union, as octets: 40 octets in all on 64-bit systems, 32 on others; the larger does for
/// both.
#[repr(C, align(8))]
struct Value([u8; 24]);

impl Interface {
    /// # Errors
    /// `InvalidInput` where the name has no 1 to 15 octets.
    fn named(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() > 15 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut interface = Interface { name: [0; 16], value: Value([0; 24]) };
        interface.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(interface)
    }
}

/// Attaches to the device of that name, or makes it (`TUNSETIFF`).
///
/// # Errors
/// `InvalidInput` where the name has no 1 to 15 octets; else the kernel's.
pub(super) fn attach(file: impl AsFd, name: &str, kind: TunKind) -> io::Result<()> {
    let mut interface = Interface::named(name)?;
    let kind = match kind {
        TunKind::Tun => 1,
        TunKind::Tap => 2,
    };
    interface.value.0[..2].copy_from_slice(&(FLAGS | kind).to_ne_bytes());
    // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, at most 40 octets: `Interface` has as
    // many, has its fields where `ifr_name` and `ifr_flags` are, and is valid for whatever octets
    // the kernel leaves in it. It outlives the call.
    unsafe { ioctl(file, Updater::<SET_INTERFACE, Interface>::new(&mut interface)) }?;
    Ok(())
}

/// Says which packets are taken unfinished (`TUNSETOFFLOAD`): with `checks`, those
/// whose check is only begun; with `segments`, super-packets of TCP; with `datagrams`, those of UDP.
///
/// # Errors
/// The kernel's, where it does not know one of them.
pub(super) fn offload(
    file: impl AsFd,
    checks: bool,
    segments: bool,
    datagrams: bool,
) -> io::Result<()> {
    let asked = [(checks, CHECKS), (segments, SEGMENTS), (datagrams, DATAGRAMS)];
    let value = asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, flags)| flags).sum();
    // SAFETY: the opcode is that of TUNSETOFFLOAD, which takes its argument as a number: no memory
    // is touched. Numbers that it does not know it refuses.
    unsafe { ioctl(file, IntegerSetter::<SET_OFFLOAD>::new_usize(value)) }?;
    Ok(())
}

/// An interface of the network namespace in which this was made, to be asked about.
#[derive(Debug)]
pub(crate) struct Inquiry {
    name: String,
    /// Of any kind: it knows the namespace.
    socket: OwnedFd,
}

impl Inquiry {
    /// # Errors
    /// If the operating system has no more descriptors.
    pub(crate) fn about(name: &str) -> io::Result<Self> {
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Inquiry { name: name.to_owned(), socket })
    }

    /// Returns its MTU, in octets.
    ///
    /// # Errors
    /// The kernel's, where there is no such interface.
    pub(crate) fn mtu(&self) -> io::Result<u32> {
        let Value([a, b, c, d, ..]) = self.ask::<GET_MTU>()?;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }

    /// Returns its number.
    ///
    /// # Errors
    /// The kernel's, where there is no such interface.
    pub(crate) fn index(&self) -> io::Result<u32> {
        Ok(name_to_index(&self.socket, &self.name)?)
    }

    /// Returns its hardware address.
    ///
    /// # Errors
    /// The kernel's, where there is no such interface; `Unsupported` where it is not Ethernet.
    pub(crate) fn hardware_address(&self) -> io::Result<[u8; 6]> {
        let Value([kind, high, a, b, c, d, e, f, ..]) = self.ask::<GET_ADDRESS>()?;
        // ARPHRD_ETHER of linux/if_arp.h.
        if u16::from_ne_bytes([kind, high]) != 1 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok([a, b, c, d, e, f])
    }

    fn ask<const REQUEST: Opcode>(&self) -> io::Result<Value> {
        let mut interface = Interface::named(&self.name)?;
        // SAFETY: both requests read and write a `struct ifreq`, at most 40 octets: `Interface` has
        // as many, has the name where `ifr_name` is, and is valid for whatever octets the kernel
        // leaves in it. It outlives the call.
        unsafe { ioctl(&self.socket, Updater::<REQUEST, Interface>::new(&mut interface)) }?;
        Ok(interface.value)
    }
}
