//! A bulk of datagrams, without a word from the receiver: in batches that pass the kernel whole, or
//! one a call.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg, setsockopt,
    sockopt,
};

use super::super::{GLANCE, Sent};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// Datagrams of one batch: as many of 1472 octets as one send takes.
const SEGMENTS: usize = 44;

/// Batches of one call.
const BATCHES: usize = 4;

/// The longest that one send takes, and one receive gives.
const LONGEST: usize = 65_507;

pub(super) fn receive(socket: &UdpSocket, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    socket.set_read_timeout(Some(GLANCE)).tried("a time limit")?;
    if plan.plain {
        let mut buffer = vec![0; LONGEST];
        while !tally.is_over() {
            match socket.recv(&mut buffer) {
                Ok(length) => tally.count(length),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error).tried("receiving"),
            }
        }
        tally.wait_until_gone();
        return Ok(());
    }
    setsockopt(socket, sockopt::UdpGroSegment, &true).tried("coalescing")?;
    let mut buffers = vec![vec![0; 1 << 16]; BATCHES];
    // The length of a segment comes with each batch; a count of octets does not ask for it.
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCHES, None);
    while !tally.is_over() {
        let mut slices: Vec<_> =
            buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_WAITFORONE;
        match recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None) {
            Ok(received) => tally.count(received.map(|message| message.bytes).sum()),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error).tried("receiving"),
        }
    }
    tally.wait_until_gone();
    Ok(())
}

/// Sends until the receiver has counted enough: what is lost is made up for by what follows.
pub(super) fn send(
    socket: &UdpSocket,
    plan: &Plan,
    remote: SocketAddr,
    course: &Course,
) -> Result<Sent, Problem> {
    socket.set_write_timeout(Some(GLANCE)).tried("a time limit")?;
    let datagram = plan.datagram(remote.ip());
    let segments = if plan.plain { 1 } else { SEGMENTS.min(LONGEST / usize::from(datagram)) };
    let batch = vec![0x5a; segments * usize::from(datagram)];
    if plan.plain {
        while !course.is_over() {
            let sent = socket.send(&batch);
            heed(
                sent.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default())),
                course,
            )?;
        }
        return Ok(Sent::default());
    }
    let mut headers =
        MultiHeaders::<SockaddrStorage>::preallocate(BATCHES, Some(nix::cmsg_space!(u16)));
    let slices = [[IoSlice::new(&batch)]; BATCHES];
    while !course.is_over() {
        let segment = [ControlMessage::UdpGsoSegments(&datagram)];
        let sent = sendmmsg(
            socket.as_raw_fd(),
            &mut headers,
            slices.iter(),
            [None; BATCHES],
            segment,
            MsgFlags::empty(),
        );
        heed(sent.map(|_| 0), course)?;
    }
    Ok(Sent::default())
}

/// Only what will not pass by itself is an error.
fn heed(sent: Result<usize, Errno>, course: &Course) -> Result<(), Problem> {
    match sent {
        Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => Ok(()),
        // The receiver closes when it has counted.
        Err(_) if course.is_over() => Ok(()),
        Err(error) => Err(error).tried("sending"),
    }
}
