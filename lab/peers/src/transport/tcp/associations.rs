//! Many associations of the kernel's TCP, on one thread, by readiness.

use std::net::{SocketAddr, TcpListener};

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::super::asynchronous::{self, Association, Connector, Listener, Opening};
use super::{Sent, socket};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

struct Stream {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Stream {
    fn new(stream: TcpStream, plan: &Plan) -> Self {
        Stream { stream, buffer: vec![0; plan.size] }
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
    listener: tokio::net::TcpListener,
    plan: Plan,
}

impl Listener for Accepting {
    type Association = Stream;

    async fn accept(&mut self) -> Result<Opening<Stream>, Problem> {
        let (stream, _) = self.listener.accept().await.tried("accepting")?;
        stream.set_nodelay(true).tried("without delay")?;
        let stream = Stream::new(stream, &self.plan);
        Ok(Box::pin(async { Ok(stream) }))
    }

    async fn close(self) {}
}

pub(super) fn serve(listener: TcpListener, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    listener.set_nonblocking(true).tried("without blocking")?;
    asynchronous::runtime()?.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).tried("a listener")?;
        asynchronous::serve(Accepting { listener, plan: plan.clone() }, plan, tally).await
    })
}

struct Connecting {
    remote: SocketAddr,
    plan: Plan,
}

impl Connector for Connecting {
    type Association = Stream;

    async fn connect(&self) -> Result<Stream, Problem> {
        let socket = socket(&self.plan, self.remote)?;
        socket.set_nonblocking(true).tried("without blocking")?;
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = socket.connect(self.remote).await.tried("connecting")?;
        Ok(Stream::new(stream, &self.plan))
    }

    async fn close(&self) {}
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    let connecting = Connecting { remote, plan: plan.clone() };
    asynchronous::runtime()?.block_on(asynchronous::send(connecting, plan, course))
}
