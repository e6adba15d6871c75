//! A packet socket: what neither library has safe calls for.
#![allow(unsafe_code, reason = "named exception: addresses and options of AF_PACKET")]

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use nix::libc;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// `PACKET_VNET_HDR` and `PACKET_IGNORE_OUTGOING` of linux/if_packet.h.
const VIRTIO_HEADER: c_int = 15;
const IGNORE_OUTGOING: c_int = 23;

/// Opens a socket for the Ethernet frames of an interface that arrive from outside, with the header
/// of virtio before each.
///
/// # Errors
/// The kernel's.
pub(super) fn open(interface: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    // Of no protocol, so that nothing arrives before it is bound.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let index = name_to_index(&socket, interface)?;
    set(&socket, VIRTIO_HEADER)?;
    set(&socket, IGNORE_OUTGOING)?;
    // SAFETY: integers, of which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as _;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = c_int::try_from(index).map_err(|_| io::ErrorKind::NotFound)?;
    // SAFETY: the address is a `sockaddr_ll` of the length that is stated, and outlives the call,
    // which only reads it.
    let bound = unsafe {
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length)
    };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

fn set(socket: &OwnedFd, option: c_int) -> io::Result<()> {
    let on: c_int = 1;
    // SAFETY: both options read an integer of the length that is stated, which outlives the call.
    let set = unsafe {
        let length = size_of::<c_int>() as libc::socklen_t;
        let on = ptr::from_ref(&on).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, on, length)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
