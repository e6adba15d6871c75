//! How many segments the kernel has sent again: it tells by a socket option that no safe library
//! has.
#![allow(unsafe_code)]

use std::mem::{self, MaybeUninit};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

use nix::libc::{self, c_void, socklen_t, tcp_info};

/// Segments of this association that left more than once; nothing where the kernel does not tell.
pub(super) fn segments(stream: &TcpStream) -> Option<u64> {
    let mut told = MaybeUninit::<tcp_info>::zeroed();
    let mut length = mem::size_of::<tcp_info>() as socklen_t;
    // SAFETY: the kernel writes at most `length` octets into `told`, which has as many, and says in
    // `length` how many.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            told.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    // SAFETY: all zeros is a valid `tcp_info`, which consists of integers, and so is whatever the
    // kernel wrote over them.
    let told = unsafe { told.assume_init() };
    let has_it =
        mem::offset_of!(tcp_info, tcpi_total_retrans) + size_of::<u32>() <= length as usize;
    (status == 0 && has_it).then_some(u64::from(told.tcpi_total_retrans))
}
