//! KCP by the crate `tokio_kcp`: a port of KCP in C, each association with a socket and a task of
//! its own.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio_kcp::{KcpConfig, KcpListener, KcpNoDelayConfig, KcpStream};

use super::asynchronous::{self, Association, Connector, Listener, Opening};
use super::{Sent, Server, from_anywhere, udp_socket};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// The header of a segment.
const HEADER: u16 = 24;

/// Segments on their way, unless asked otherwise: see README.md.
const SEGMENTS: u16 = 1024;

fn configuration(plan: &Plan, address: IpAddr) -> KcpConfig {
    let datagram = plan.datagram(address);
    let asked = plan.window.map(|octets| octets / u32::from(datagram - HEADER));
    // KCP itself takes no receiving window below 128.
    let segments = asked.map_or(SEGMENTS, |asked| asked.clamp(128, u16::MAX.into()) as u16);
    KcpConfig {
        mtu: datagram.into(),
        nodelay: KcpNoDelayConfig::fastest(),
        wnd_size: (segments, segments),
        // It has no word for the end, so that those who are silent are forgotten: not before a run
        // is over.
        session_expire: Duration::from_secs(600),
        flush_write: true,
        // A bulk gathers acknowledgements until the next turn of the clock; a reply is awaited.
        flush_acks_input: plan.workload != Workload::Bulk,
        stream: true,
        allow_recv_empty_packet: false,
    }
}

struct Stream {
    stream: KcpStream,
    buffer: Vec<u8>,
}

impl Stream {
    fn new(stream: KcpStream, plan: &Plan) -> Self {
        let length = if plan.workload == Workload::Bulk { 64 << 10 } else { plan.size };
        Stream { stream, buffer: vec![0; length] }
    }
}

impl Association for Stream {
    async fn send(&mut self, message: &Bytes) -> Result<(), Problem> {
        self.stream.write_all(message).await.tried("sending")
    }

    async fn receive(&mut self) -> Result<usize, Problem> {
        self.stream.read(&mut self.buffer).await.tried("receiving")
    }
}

struct Accepting {
    listener: KcpListener,
    plan: Plan,
}

impl Listener for Accepting {
    type Association = Stream;

    async fn accept(&mut self) -> Result<Opening<Stream>, Problem> {
        let (stream, _) = self.listener.accept().await.tried("accepting")?;
        let stream = Stream::new(stream, &self.plan);
        Ok(Box::pin(async { Ok(stream) }))
    }

    async fn close(self) {}
}

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    let socket = udp_socket(SocketAddr::new(local, 0))?;
    socket.set_nonblocking(true).tried("without blocking")?;
    let port = socket.local_addr().tried("listening")?.port();
    let runtime = asynchronous::runtime()?;
    let listener = runtime.block_on(async {
        let socket = UdpSocket::from_std(socket).tried("a socket")?;
        KcpListener::from_socket(configuration(plan, local), socket).await.tried("listening")
    });
    let accepting = Accepting { listener: listener?, plan: plan.clone() };
    let serve = move |plan: &Plan, tally: &Tally| {
        runtime.block_on(asynchronous::serve(accepting, plan, tally))
    };
    Ok(Server { port, certificate: None, serve: Box::new(serve) })
}

struct Connecting {
    remote: SocketAddr,
    plan: Plan,
}

impl Connector for Connecting {
    type Association = Stream;

    async fn connect(&self) -> Result<Stream, Problem> {
        let socket = udp_socket(from_anywhere(self.remote))?;
        socket.set_nonblocking(true).tried("without blocking")?;
        let socket = UdpSocket::from_std(socket).tried("a socket")?;
        let configuration = configuration(&self.plan, self.remote.ip());
        let stream = KcpStream::connect_with_socket(&configuration, socket, self.remote).await;
        Ok(Stream::new(stream.tried("connecting")?, &self.plan))
    }

    async fn close(&self) {}
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    let connecting = Connecting { remote, plan: plan.clone() };
    asynchronous::runtime()?.block_on(asynchronous::send(connecting, plan, course))
}
