//! QUIC by the crate `quinn`: one stream of one connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ReadError, RecvStream,
    SendStream, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

use super::asynchronous::{self, Association, Connector, Listener, Opening};
use super::certificate::{self, Certificate};
use super::{Sent, Server, from_anywhere, udp_socket};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

fn transport(plan: &Plan, address: IpAddr) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let datagram = plan.datagram(address);
    // The path is known: to look for its MTU would only cost.
    transport.initial_mtu(datagram).min_mtu(datagram).mtu_discovery_config(None);
    if let Some(window) = plan.window {
        transport.stream_receive_window(window.into()).send_window(window.into());
    }
    Arc::new(transport)
}

struct Stream {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
}

impl Association for Stream {
    async fn send(&mut self, message: &Bytes) -> Result<(), Problem> {
        self.send.write_chunk(message.clone()).await.tried("sending")
    }

    async fn receive(&mut self) -> Result<usize, Problem> {
        match self.receive.read_chunk(usize::MAX, true).await {
            Ok(chunk) => Ok(chunk.map_or(0, |chunk| chunk.bytes.len())),
            Err(ReadError::ConnectionLost(ConnectionError::ApplicationClosed(_))) => Ok(0),
            Err(error) => Err(error).tried("receiving"),
        }
    }

    fn retransmitted(&self) -> Option<u64> {
        Some(self.connection.stats().path.lost_packets)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(0), b"");
    }
}

struct Accepting(Endpoint);

impl Listener for Accepting {
    type Association = Stream;

    async fn accept(&mut self) -> Result<Opening<Stream>, Problem> {
        let incoming =
            self.0.accept().await.ok_or_else(|| Problem::new("the endpoint is closed"))?;
        Ok(Box::pin(async move {
            let connection = incoming.await.tried("accepting")?;
            let (send, receive) = connection.accept_bi().await.tried("accepting")?;
            Ok(Stream { connection, send, receive })
        }))
    }

    async fn close(self) {
        self.0.close(VarInt::from_u32(0), b"");
        self.0.wait_idle().await;
    }
}

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    let Certificate { certificate, key } = certificate::own()?;
    let chain = vec![CertificateDer::from(certificate.clone())];
    let mut configuration = ServerConfig::with_single_cert(chain, key).tried("the certificate")?;
    configuration.transport_config(transport(plan, local));
    let socket = udp_socket(SocketAddr::new(local, 0))?;
    let port = socket.local_addr().tried("listening")?.port();
    let runtime = asynchronous::runtime()?;
    let endpoint = {
        let _entered = runtime.enter();
        Endpoint::new(endpoint(plan, local)?, Some(configuration), socket, Arc::new(TokioRuntime))
    };
    let accepting = Accepting(endpoint.tried("an endpoint")?);
    let serve = move |plan: &Plan, tally: &Tally| {
        runtime.block_on(asynchronous::serve(accepting, plan, tally))
    };
    Ok(Server { port, certificate: Some(certificate), serve: Box::new(serve) })
}

fn endpoint(plan: &Plan, address: IpAddr) -> Result<EndpointConfig, Problem> {
    let mut configuration = EndpointConfig::default();
    configuration.max_udp_payload_size(plan.datagram(address)).tried("the longest datagram")?;
    Ok(configuration)
}

struct Connecting {
    endpoint: Endpoint,
    remote: SocketAddr,
}

impl Connector for Connecting {
    type Association = Stream;

    async fn connect(&self) -> Result<Stream, Problem> {
        let connecting =
            self.endpoint.connect(self.remote, certificate::NAME).tried("connecting")?;
        let connection = connecting.await.tried("connecting")?;
        let (send, receive) = connection.open_bi().await.tried("opening a stream")?;
        Ok(Stream { connection, send, receive })
    }

    async fn close(&self) {
        self.endpoint.wait_idle().await;
    }
}

pub(super) fn send(
    plan: &Plan,
    remote: SocketAddr,
    certificate: Option<Vec<u8>>,
    course: &Course,
) -> Result<Sent, Problem> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(certificate::of_the_other(certificate)?))
        .tried("the certificate")?;
    let mut configuration =
        ClientConfig::with_root_certificates(Arc::new(roots)).tried("the certificate")?;
    configuration.transport_config(transport(plan, remote.ip()));
    let socket = udp_socket(from_anywhere(remote))?;
    asynchronous::runtime()?.block_on(async {
        let endpoint = endpoint(plan, remote.ip())?;
        let endpoint = Endpoint::new(endpoint, None, socket, Arc::new(TokioRuntime));
        let mut endpoint = endpoint.tried("an endpoint")?;
        endpoint.set_default_client_config(configuration);
        asynchronous::send(Connecting { endpoint, remote }, plan, course).await
    })
}
