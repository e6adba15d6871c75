//! Bulk by smoltcp: one connection on the device `sm0`, with buffers of 1 MB.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::time::Instant;

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant as SmolInstant;
use smoltcp::wire::HardwareAddress;

use super::end::{InetWork, WRITE};

const BUFFER: usize = 1 << 20;

/// Sends or receives for this many seconds; returns what the receiver got, in Mb/s.
pub(super) fn bulk(remote: SocketAddr, work: InetWork, seconds: f64) -> io::Result<f64> {
    let SocketAddr::V4(remote) = remote else { return Err(io::Error::other("IPv4 only")) };
    let mut device = TunTapInterface::new("sm0", Medium::Ip)?;
    let config = Config::new(HardwareAddress::Ip);
    let mut interface = Interface::new(config, &mut device, SmolInstant::now());
    let own = "10.79.0.2/24".parse().map_err(|()| io::Error::other("an address"))?;
    let mut added = Ok(());
    interface.update_ip_addrs(|addresses| added = addresses.push(own));
    added.map_err(|_| io::Error::other("no room for an address"))?;
    let buffer = || SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_congestion_control(CongestionControl::Cubic);
    let own_port = fastrand::u16(49_152..);
    socket.connect(interface.context(), remote, own_port).map_err(io::Error::other)?;
    let mut sockets = SocketSet::new(Vec::new());
    let socket = sockets.add(socket);
    let mut said = vec![work as u8];
    said.extend(seconds.to_ne_bytes());
    let data = vec![7; WRITE];
    let (mut begin, mut octets, mut counted) = (None, 0, Vec::new());
    loop {
        let now = SmolInstant::now();
        interface.poll(now, &mut device, &mut sockets);
        let connection = sockets.get_mut::<Socket>(socket);
        if connection.may_send() {
            begin.get_or_insert_with(Instant::now);
        }
        let is_over = begin.is_some_and(|begin| begin.elapsed().as_secs_f64() >= seconds);
        if connection.can_send() {
            let sent = connection.send_slice(&said).map_err(io::Error::other)?;
            said.drain(..sent);
            let is_bulk = said.is_empty() && work == InetWork::Send && !is_over;
            while is_bulk && connection.send_slice(&data).map_err(io::Error::other)? > 0 {}
        }
        while connection.can_recv() {
            let keep = |data: &mut [u8]| {
                if work == InetWork::Send {
                    counted.extend_from_slice(data);
                }
                (data.len(), data.len() as u64)
            };
            octets += connection.recv(keep).map_err(io::Error::other)?;
        }
        if work == InetWork::Send
            && let Some(counted) = counted.first_chunk()
        {
            return Ok(8e-6 * u64::from_ne_bytes(*counted) as f64 / seconds);
        }
        if is_over && work != InetWork::Send {
            return Ok(8e-6 * octets as f64 / seconds);
        }
        let delay = interface.poll_delay(SmolInstant::now(), &sockets);
        wait(device.as_raw_fd(), delay)?;
    }
}
