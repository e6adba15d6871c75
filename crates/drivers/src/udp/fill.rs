//! Blocks that one system call fills: recvmmsg(2).
//!
//! It is called directly. The libraries clear the headers of as many datagrams as they may receive
//! with each call, and request the sender's address even where the socket is connected: that was a
//! fiftieth of an exchange of short messages.

use std::array;
use std::io::{Error, IoSliceMut};
use std::mem;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::ptr;
use std::slice;

use nix::libc;
use rustix::io::Errno;
use stackwright_contract::services::Ecn;
use stackwright_wire::Block;

use super::{BLOCKS, source};

/// What arrived in one block: datagrams of one peer, as the kernel has coalesced them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Came {
    pub(super) octets: usize,
    /// The length of each datagram in octets; the last may be shorter.
    pub(super) stride: usize,
    /// The ECN codepoint of each.
    pub(super) ecn: Ecn,
    /// The sender's address, if it was requested.
    pub(super) from: Option<SocketAddr>,
    /// The local address that it was sent to, without a port, if it was requested.
    pub(super) to: Option<SocketAddr>,
    /// Whether the datagrams or their control messages were truncated.
    pub(super) cut_off: bool,
}

/// Memory for an address of either family.
#[derive(Clone, Copy)]
#[repr(C)]
union Address {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// Memory for all control messages of a datagram (cmsg(3)): `UDP_GRO`, `IP_TOS` and `IPV6_TCLASS`
/// have 24 octets each, of which one datagram has two; `IP_PKTINFO` has 32, `IPV6_PKTINFO` 40.
type Notes = [u64; 16];

/// Fills the last of `blocks`, the very last first, at most as many as `came` has entries, and
/// describes in `came` what arrived in each; with the sender's address if `asks_who`. Returns how
/// many were filled.
///
/// # Errors
/// The kernel's error: [`Errno::AGAIN`] if there is no datagram.
#[allow(unsafe_code, reason = "named exception: recvmmsg")]
pub(super) fn fill<B: Block>(
    socket: &impl AsRawFd,
    blocks: &mut [B],
    came: &mut [Came],
    asks_who: bool,
) -> Result<usize, Errno> {
    let asks = came.len().min(blocks.len()).min(BLOCKS);
    let mut slices: [_; BLOCKS] = array::from_fn(|_| IoSliceMut::new(&mut []));
    for (slice, block) in slices.iter_mut().zip(blocks.iter_mut().rev()) {
        *slice = IoSliceMut::new(block);
    }
    // SAFETY: all of them are integers and pointers that are not followed: zero is one of their
    // values.
    let mut addresses: [Address; BLOCKS] = unsafe { mem::zeroed() };
    let mut notes: [Notes; BLOCKS] = [[0; _]; _];
    // SAFETY: as above.
    let mut headers: [libc::mmsghdr; BLOCKS] = unsafe { mem::zeroed() };
    let parts = slices.iter_mut().zip(&mut addresses).zip(&mut notes);
    for (header, ((slice, address), notes)) in headers.iter_mut().zip(parts) {
        let header = &mut header.msg_hdr;
        if asks_who {
            header.msg_name = ptr::from_mut(address).cast();
            header.msg_namelen = size_of::<Address>() as libc::socklen_t;
        }
        // It has the layout of an `iovec`, as its documentation says.
        header.msg_iov = ptr::from_mut(slice).cast();
        header.msg_iovlen = 1;
        header.msg_control = ptr::from_mut(notes).cast();
        header.msg_controllen = size_of::<Notes>() as _;
    }
    let filled = loop {
        let (socket, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: there are `asks` headers. Each points to one slice, one address and one buffer
        // for control messages, which outlive this call, are not shared, and have the stated
        // lengths. Slices point to blocks that are borrowed mutably, or are empty. The kernel
        // retains none of them.
        let filled = unsafe {
            libc::recvmmsg(socket, headers.as_mut_ptr(), asks as u32, flags as _, ptr::null_mut())
        };
        if let Ok(filled) = usize::try_from(filled) {
            break filled;
        }
        match Errno::from_io_error(&Error::last_os_error()) {
            Some(Errno::INTR) => {}
            other => return Err(other.unwrap_or(Errno::IO)),
        }
    };
    for (came, (header, address)) in
        came.iter_mut().zip(headers.iter().zip(&addresses)).take(filled)
    {
        let from = if asks_who { socket_address(address) } else { None };
        *came = Came { from, ..noted(header) };
    }
    Ok(filled)
}

/// Reads the control messages of a datagram.
#[inline]
#[allow(unsafe_code, reason = "named exception: recvmmsg")]
fn noted(header: &libc::mmsghdr) -> Came {
    let (octets, header) = (header.msg_len as usize, &header.msg_hdr);
    let cut_off = header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
    let mut came = Came { octets, stride: octets, cut_off, ..Came::default() };
    // SAFETY: the header is one that the kernel has written, and what it points to is alive: `fill`
    // calls while it is.
    let mut note = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or a control message that is within the buffer together with its header, by the
    // length that the kernel stated.
    while let Some(head) = unsafe { note.as_ref() } {
        // SAFETY: the same; only octets that it has are read.
        let data = unsafe {
            let octets: usize = head.cmsg_len as _;
            let octets = octets.saturating_sub(libc::CMSG_LEN(0) as usize);
            slice::from_raw_parts(libc::CMSG_DATA(note), octets)
        };
        let integer = data.first_chunk().map(|octets| libc::c_int::from_ne_bytes(*octets));
        match (head.cmsg_level, head.cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                came.ecn = data.first().map_or(came.ecn, |tos| Ecn::of_bits(*tos));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                came.ecn = integer.map_or(came.ecn, |class| Ecn::of_bits(class as u8));
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                came.stride =
                    integer.and_then(|stride| usize::try_from(stride).ok()).unwrap_or(octets);
            }
            // A socket for both families has both of a datagram of IPv4; this one is the second.
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => came.to = source::of_ipv4(data),
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => came.to = source::of_ipv6(data),
            _ => {}
        }
        // SAFETY: as for the first one.
        note = unsafe { libc::CMSG_NXTHDR(header, note) };
    }
    came
}

#[inline]
#[allow(unsafe_code, reason = "named exception: recvmmsg")]
fn socket_address(address: &Address) -> Option<SocketAddr> {
    // SAFETY: all variants are integers, all were zero, and the kernel has written some: whichever
    // is read has a value.
    unsafe {
        match i32::from(address.family) {
            libc::AF_INET => {
                let libc::sockaddr_in { sin_addr, sin_port, .. } = address.v4;
                let ip = sin_addr.s_addr.to_ne_bytes().into();
                Some(SocketAddrV4::new(ip, u16::from_be(sin_port)).into())
            }
            libc::AF_INET6 => {
                let libc::sockaddr_in6 {
                    sin6_addr, sin6_port, sin6_flowinfo, sin6_scope_id, ..
                } = address.v6;
                let (ip, port) = (Ipv6Addr::from(sin6_addr.s6_addr), u16::from_be(sin6_port));
                Some(SocketAddrV6::new(ip, port, sin6_flowinfo, sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::UdpSocket;

    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::{UdpGroSegment, UdpGsoSegment};
    use rustix::net::sockopt;
    use stackwright_wire::{BufferTree, Message};

    use super::*;

    type M = BufferTree;

    fn blocks<const N: usize>(octets: usize) -> [<M as Message>::Block; N] {
        [(); N].map(|()| vec![0; octets].into())
    }

    fn sockets(here: &str) -> io::Result<(UdpSocket, UdpSocket)> {
        let (one, other) = (UdpSocket::bind(here)?, UdpSocket::bind(here)?);
        one.connect(other.local_addr()?)?;
        Ok((one, other))
    }

    #[test]
    fn the_last_block_is_filled_first_and_who_sent_is_said_to_who_asks() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let (one, other) = sockets(here).unwrap();
            one.send(b"first").unwrap();
            one.send(b"second, and last").unwrap();
            let (mut empty, mut came) = (blocks::<3>(100), [Came::default(); 3]);
            assert_eq!(fill(&other, &mut empty, &mut came, true), Ok(2));
            let from = Some(one.local_addr().unwrap());
            let said = |octets| Came { octets, stride: octets, from, ..Came::default() };
            assert_eq!(came[..2], [said(5), said(16)]);
            assert_eq!(
                (&empty[2][..5], &empty[1][..16]),
                (&b"first"[..], &b"second, and last"[..])
            );
            assert_eq!(fill(&other, &mut empty, &mut came, true), Err(Errno::AGAIN));
            one.send(b"third").unwrap();
            assert_eq!(fill(&other, &mut empty, &mut came[..1], false), Ok(1));
            assert_eq!(came[0], Came { from: None, ..said(5) });
        }
    }

    #[test]
    fn what_is_said_beside_datagrams_is_heard_of_both_families() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let (one, other) = sockets(here).unwrap();
            if other.local_addr().unwrap().is_ipv4() {
                sockopt::set_ip_tos(&one, 3).unwrap();
                sockopt::set_ip_recvtos(&other, true).unwrap();
            } else {
                sockopt::set_ipv6_tclass(&one, 3).unwrap();
                sockopt::set_ipv6_recvtclass(&other, true).unwrap();
            }
            setsockopt(&other, UdpGroSegment, &true).unwrap();
            setsockopt(&one, UdpGsoSegment, &40).unwrap();
            one.send(&[7; 100]).unwrap();
            let (mut empty, mut came) = (blocks::<2>(100), [Came::default(); 2]);
            assert_eq!(fill(&other, &mut empty, &mut came, false), Ok(1));
            assert_eq!(came[0], Came { octets: 100, stride: 40, ecn: Ecn::Ce, ..Came::default() });
        }
    }

    #[test]
    fn what_is_cut_off_is_known() {
        let (one, other) = sockets("127.0.0.1:0").unwrap();
        one.send(&[7; 100]).unwrap();
        let (mut empty, mut came) = (blocks::<1>(60), [Came::default(); 1]);
        assert_eq!(fill(&other, &mut empty, &mut came, false), Ok(1));
        assert_eq!((came[0].octets, came[0].cut_off), (60, true));
    }
}
