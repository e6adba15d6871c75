//! QUIC by the crate `s2n-quic`: one stream of one connection.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::connection::Error;
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::{io, tls::rustls};
use s2n_quic::stream::{self, BidirectionalStream};
use s2n_quic::{Client, Connection, Server as Endpoint};

use super::asynchronous::{self, Association, Connector, Listener, Opening};
use super::certificate::{self, Certificate};
use super::{Sent, Server, from_anywhere, udp_socket};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// Counts packets thought lost.
struct Losses(Arc<AtomicU64>);

impl Subscriber for Losses {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, _: &events::PacketLost) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Stream {
    connection: Connection,
    stream: BidirectionalStream,
    lost: Arc<AtomicU64>,
}

impl Association for Stream {
    async fn send(&mut self, message: &Bytes) -> Result<(), Problem> {
        self.stream.send(message.clone()).await.tried("sending")
    }

    async fn receive(&mut self) -> Result<usize, Problem> {
        match self.stream.receive().await {
            Ok(chunk) => Ok(chunk.map_or(0, |chunk| chunk.len())),
            Err(stream::Error::ConnectionError {
                error: Error::Application { .. } | Error::Closed { .. },
                ..
            }) => Ok(0),
            Err(error) => Err(error).tried("receiving"),
        }
    }

    fn retransmitted(&self) -> Option<u64> {
        Some(self.lost.load(Ordering::Relaxed))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.close(0_u32.into());
    }
}

fn limits(plan: &Plan) -> Result<Limits, Problem> {
    let limits = Limits::new();
    let Some(window) = plan.window else { return Ok(limits) };
    let set = || {
        limits
            .with_data_window(window.into())?
            .with_bidirectional_local_data_window(window.into())?
            .with_bidirectional_remote_data_window(window.into())?
            .with_max_send_buffer_size(window)
    };
    set().tried("the window")
}

/// One socket to receive and to send, as one that is given has to be shared.
fn sockets(plan: &Plan, socket: UdpSocket) -> Result<io::Default, Problem> {
    let build = || {
        // The path is known: to look for its MTU would only cost.
        io::tokio::Builder::default()
            .with_tx_socket(socket.try_clone()?)?
            .with_rx_socket(socket)?
            .with_max_mtu(plan.mtu)?
            .with_initial_mtu(plan.mtu)?
            .with_base_mtu(plan.mtu)?
            .build()
    };
    build().tried("sockets")
}

struct Accepting {
    endpoint: Endpoint,
    lost: Arc<AtomicU64>,
}

impl Listener for Accepting {
    type Association = Stream;

    async fn accept(&mut self) -> Result<Opening<Stream>, Problem> {
        let connection = self.endpoint.accept().await;
        let mut connection = connection.ok_or_else(|| Problem::new("the endpoint is closed"))?;
        let lost = Arc::clone(&self.lost);
        Ok(Box::pin(async move {
            let stream = connection.accept_bidirectional_stream().await.tried("accepting")?;
            let stream =
                stream.ok_or_else(|| Problem::new("the sender closed before it had sent"))?;
            Ok(Stream { connection, stream, lost })
        }))
    }

    async fn close(self) {}
}

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    let Certificate { certificate, key } = certificate::own()?;
    let tls = rustls::Server::builder()
        .with_certificate(vec![certificate.clone()], key.secret_der().to_vec());
    let tls = tls.and_then(|tls| tls.build()).tried("the certificate")?;
    let socket = udp_socket(SocketAddr::new(local, 0))?;
    let port = socket.local_addr().tried("listening")?.port();
    let lost = Arc::<AtomicU64>::default();
    let runtime = asynchronous::runtime()?;
    let endpoint = {
        let _entered = runtime.enter();
        let builder = Endpoint::builder().with_tls(tls).tried("the certificate")?;
        let builder = builder.with_io(sockets(plan, socket)?).tried("sockets")?;
        let builder = builder.with_event(Losses(Arc::clone(&lost))).tried("events")?;
        builder.with_limits(limits(plan)?).tried("limits")?.start().tried("an endpoint")?
    };
    let accepting = Accepting { endpoint, lost };
    let serve = move |plan: &Plan, tally: &Tally| {
        runtime.block_on(asynchronous::serve(accepting, plan, tally))
    };
    Ok(Server { port, certificate: Some(certificate), serve: Box::new(serve) })
}

struct Connecting {
    endpoint: Client,
    remote: SocketAddr,
    lost: Arc<AtomicU64>,
}

impl Connector for Connecting {
    type Association = Stream;

    async fn connect(&self) -> Result<Stream, Problem> {
        let connect = Connect::new(self.remote).with_server_name(certificate::NAME);
        let mut connection = self.endpoint.connect(connect).await.tried("connecting")?;
        let stream = connection.open_bidirectional_stream().await.tried("opening a stream")?;
        Ok(Stream { connection, stream, lost: Arc::clone(&self.lost) })
    }

    async fn close(&self) {
        // It fails only when the endpoint is already gone.
        let _ = self.endpoint.clone().wait_idle().await;
    }
}

pub(super) fn send(
    plan: &Plan,
    remote: SocketAddr,
    certificate: Option<Vec<u8>>,
    course: &Course,
) -> Result<Sent, Problem> {
    let tls = rustls::Client::builder().with_certificate(certificate::of_the_other(certificate)?);
    let tls = tls.and_then(|tls| tls.build()).tried("the certificate")?;
    let socket = udp_socket(from_anywhere(remote))?;
    let limits = limits(plan)?;
    asynchronous::runtime()?.block_on(async {
        let lost = Arc::<AtomicU64>::default();
        let builder = Client::builder().with_tls(tls).tried("the certificate")?;
        let builder = builder.with_io(sockets(plan, socket)?).tried("sockets")?;
        let builder = builder.with_event(Losses(Arc::clone(&lost))).tried("events")?;
        let endpoint = builder.with_limits(limits).tried("limits")?.start().tried("an endpoint")?;
        asynchronous::send(Connecting { endpoint, remote, lost }, plan, course).await
    })
}
