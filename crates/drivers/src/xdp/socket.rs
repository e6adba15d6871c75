//! The socket of a queue: memory in chunks, and four rings by which they change hands.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpRingOffset, XdpUmemReg,
    XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with, sockopt,
};

use super::mapping::Mapping;
use super::program;
use crate::tun::{DeviceFeatures, FrameDevice, LENGTH, Offload, TunRead};

/// Octets of a chunk; of one that arrives the kernel leaves the first ones free.
const CHUNK: usize = 2048;
const FREE: usize = 256;
/// Chunks of each direction, and entries of each ring: so no ring is ever full.
const COUNT: u32 = 1024;
/// Octets of an entry with a length (`struct xdp_desc`), and without one.
const ENTRY: usize = 16;
const SHORT_ENTRY: usize = 8;

/// A ring, of which one side puts entries in and the other takes them out.
#[derive(Debug)]
struct Ring {
    mapping: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    /// Octets of an entry.
    size: usize,
}

impl Ring {
    fn map(socket: &OwnedFd, at: XdpRingOffset, size: usize, offset: u64) -> io::Result<Self> {
        let place = |at: u64| usize::try_from(at).map_err(io::Error::other);
        let (producer, consumer) = (place(at.producer)?, place(at.consumer)?);
        let entries = place(at.desc)?;
        let mapping = Mapping::of_ring(socket, entries + COUNT as usize * size, offset)?;
        Ok(Ring { mapping, producer, consumer, entries, size })
    }

    /// Puts an entry in: the place of a chunk in memory and, where entries have one, its length.
    fn put(&self, chunk: u64, length: u32) -> Option<()> {
        let producer = self.mapping.word(self.producer)?;
        let next = producer.load(Relaxed);
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&chunk.to_ne_bytes());
        entry[8..12].copy_from_slice(&length.to_ne_bytes());
        self.mapping.write(self.place(next), &entry[..self.size])?;
        producer.store(next.wrapping_add(1), Release);
        Some(())
    }

    /// Takes the next entry out, if there is one.
    fn take(&self) -> Option<(u64, u32)> {
        let consumer = self.mapping.word(self.consumer)?;
        let next = consumer.load(Relaxed);
        if self.mapping.word(self.producer)?.load(Acquire) == next {
            return None;
        }
        let mut entry = [0; ENTRY];
        self.mapping.read(self.place(next), &mut entry[..self.size])?;
        consumer.store(next.wrapping_add(1), Release);
        let [a, b, c, d, e, f, g, h, length @ .., _, _, _, _] = entry;
        Some((u64::from_ne_bytes([a, b, c, d, e, f, g, h]), u32::from_ne_bytes(length)))
    }

    fn place(&self, number: u32) -> usize {
        self.entries + (number % COUNT) as usize * self.size
    }
}

/// The socket of a queue.
#[derive(Debug)]
pub struct XdpSocket {
    _redirects: OwnedFd,
    socket: OwnedFd,
    memory: Mapping,
    receive: Ring,
    fill: Ring,
    send: Ring,
    completion: Ring,
    /// Chunks that may be written.
    free: Vec<u64>,
}

impl XdpSocket {
    /// Opens a queue, whose frames it has from now on.
    pub(super) fn open(interface: u32, queue: u32) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)?;
        let memory = Mapping::new(2 * COUNT as usize * CHUNK)?;
        let region = XdpUmemReg {
            addr: memory.address(),
            len: 2 * u64::from(COUNT) * CHUNK as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        sockopt::set_xdp_umem_reg(&socket, region)?;
        sockopt::set_xdp_umem_fill_ring_size(&socket, COUNT)?;
        sockopt::set_xdp_umem_completion_ring_size(&socket, COUNT)?;
        sockopt::set_xdp_rx_ring_size(&socket, COUNT)?;
        sockopt::set_xdp_tx_ring_size(&socket, COUNT)?;
        let at = sockopt::xdp_mmap_offsets(&socket)?;
        let receive = Ring::map(&socket, at.rx, ENTRY, XDP_PGOFF_RX_RING)?;
        let sends = Ring::map(&socket, at.tx, ENTRY, XDP_PGOFF_TX_RING)?;
        let fill = Ring::map(&socket, at.fr, SHORT_ENTRY, XDP_UMEM_PGOFF_FILL_RING)?;
        let completion = Ring::map(&socket, at.cr, SHORT_ENTRY, XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let chunks = |from: u32| (from..from + COUNT).map(|chunk| u64::from(chunk) * CHUNK as u64);
        chunks(0).try_for_each(|chunk| fill.put(chunk, 0)).ok_or(io::ErrorKind::InvalidData)?;
        // So that waiting for the socket sends what a full queue has left behind.
        let flags = SocketAddrXdpFlags::XDP_COPY | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        bind(&socket, &SocketAddrXdp::new(flags, interface, queue))?;
        let redirects = program::redirect(&socket, interface, queue)?;
        let free = chunks(COUNT).collect();
        Ok(XdpSocket {
            socket,
            _redirects: redirects,
            memory,
            receive,
            fill,
            send: sends,
            completion,
            free,
        })
    }
}

impl FrameDevice for XdpSocket {
    fn read(&mut self, into: &mut [u8], rest: &mut [u8]) -> io::Result<TunRead> {
        let Some((at, length)) = self.receive.take() else { return Ok(TunRead::Nothing) };
        let (place, length) = (at as usize, length as usize);
        let here = length.min(into.len());
        let rest = rest.get_mut(..length - here);
        let is_read = rest.and_then(|rest| {
            self.memory.read(place, &mut into[..here])?;
            self.memory.read(place + here, rest)
        });
        // The place is behind what the kernel leaves free.
        let _ = self.fill.put(at - at % CHUNK as u64, 0);
        // The layers above verify checks.
        let offload = Offload { valid: true, ..Offload::default() };
        Ok(if is_read.is_some() { TunRead::Frame(offload, length) } else { TunRead::Unknown })
    }

    fn write(&mut self, pieces: &[IoSlice<'_>]) -> Result<(), Errno> {
        while let Some((chunk, _)) = self.completion.take() {
            self.free.push(chunk);
        }
        // What is said before a frame concerns checks, which are complete.
        let octets = pieces.iter().map(|piece| piece.len()).sum::<usize>().saturating_sub(LENGTH);
        if octets > CHUNK {
            return Err(Errno::MSGSIZE);
        }
        // Frames may be lost, as on any link where more are sent than it takes.
        let chunk = self.free.pop().ok_or(Errno::NOBUFS)?;
        let (mut at, mut skipped) = (chunk as usize, LENGTH);
        for piece in pieces {
            let octets = &piece[skipped.min(piece.len())..];
            skipped -= piece.len() - octets.len();
            self.memory.write(at, octets).ok_or(Errno::MSGSIZE)?;
            at += octets.len();
        }
        let _ = self.send.put(chunk, octets as u32);
        match send(&self.socket, &[], SendFlags::DONTWAIT) {
            // They leave with the next one, or when there is room.
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS) => Ok(()),
            Err(why) => Err(why),
        }
    }

    fn features(&self) -> DeviceFeatures {
        DeviceFeatures { checks: false, segments: false, datagrams: false, longest: CHUNK - FREE }
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
