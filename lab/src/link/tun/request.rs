//! The two requests that TUN devices have no other way for.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_short};
use std::io;
use std::os::fd::OwnedFd;

use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};

/// `IFF_TUN | IFF_NO_PI | IFF_VNET_HDR` of `linux/if_tun.h`: IP packets, behind the header of
/// `offload.rs` only.
const FLAGS: c_short = 0x0001 | 0x1000 | 0x4000;
/// `TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6` of `linux/if_tun.h`. Without `TUN_F_TSO_ECN`, so that a
/// train never has a flag in its first segment that the others must not have.
const SEGMENTS: usize = 0x01 | 0x02 | 0x04;
/// `TUN_F_USO4 | TUN_F_USO6`.
const DATAGRAMS: usize = 0x20 | 0x40;

const SET_INTERFACE: Opcode = opcode::write::<c_int>(b'T', 202);
const SET_OFFLOAD: Opcode = opcode::write::<c_int>(b'T', 208);

/// `struct ifreq` as this request reads it: 40 octets on 64-bit systems, 32 on others; the larger
/// does for both.
#[repr(C)]
struct Interface {
    name: [u8; 16],
    flags: c_short,
    rest: [u8; 22],
}

/// Makes the device and gives it its name (`TUNSETIFF`).
///
/// # Errors
///
/// `InvalidInput` where the name has no 1 to 15 octets; else the kernel's.
pub(super) fn name(file: &OwnedFd, name: &str) -> io::Result<()> {
    let mut interface = Interface { name: [0; 16], flags: FLAGS, rest: [0; 22] };
    if name.is_empty() || name.len() > 15 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    interface.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, at most 40 octets: `Interface` has as
    // many, has its fields where `ifr_name` and `ifr_flags` are, and is valid for whatever octets
    // the kernel leaves in it. It outlives the call.
    unsafe { ioctl(file, Updater::<SET_INTERFACE, Interface>::new(&mut interface)) }?;
    Ok(())
}

/// Says which super-packets are taken (`TUNSETOFFLOAD`): those of TCP, and those of UDP where
/// `datagrams` is set.
///
/// # Errors
///
/// The kernel's, where it does not know one of them.
pub(super) fn offload(file: &OwnedFd, datagrams: bool) -> io::Result<()> {
    let value = if datagrams { SEGMENTS | DATAGRAMS } else { SEGMENTS };
    // SAFETY: the opcode is that of TUNSETOFFLOAD, which takes its argument as a number: no memory
    // is touched. Numbers that it does not know it refuses.
    unsafe { ioctl(file, IntegerSetter::<SET_OFFLOAD>::new_usize(value)) }?;
    Ok(())
}
