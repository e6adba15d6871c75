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

/// `PACKET_ADD_MEMBERSHIP`, `PACKET_VNET_HDR` and `PACKET_IGNORE_OUTGOING` of linux/if_packet.h.
const ADD_MEMBERSHIP: c_int = 1;
const VIRTIO_HEADER: c_int = 15;
const IGNORE_OUTGOING: c_int = 23;

/// Opens a socket for the Ethernet frames of an interface that arrive from outside, whomever they
/// are for, with the header of virtio before each.
///
/// # Errors
/// The kernel's.
pub(super) fn open(interface: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    // Of no protocol, so that nothing arrives before it is bound.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let index = name_to_index(&socket, interface)?;
    let on: c_int = 1;
    set(&socket, VIRTIO_HEADER, on)?;
    set(&socket, IGNORE_OUTGOING, on)?;
    // SAFETY: integers, of which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as _;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = c_int::try_from(index).map_err(|_| io::ErrorKind::NotFound)?;
    // The stack above is a station of its own, with an address of its own.
    set(
        &socket,
        ADD_MEMBERSHIP,
        libc::packet_mreq {
            mr_ifindex: address.sll_ifindex,
            mr_type: libc::PACKET_MR_PROMISC as _,
            mr_alen: 0,
            mr_address: [0; 8],
        },
    )?;
    // SAFETY: the address is a `sockaddr_ll` of the length that is stated, and outlives the call,
    // which only reads it.
    let bound = unsafe {
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length)
    };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

fn set<T: Copy>(socket: &OwnedFd, option: c_int, value: T) -> io::Result<()> {
    // SAFETY: the options read an integer or a `packet_mreq` of the length that is stated, which
    // outlives the call.
    let set = unsafe {
        let length = size_of::<T>() as libc::socklen_t;
        let value = ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, length)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
