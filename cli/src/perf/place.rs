//! Addresses to measure: which transport, and where.

use std::net::{SocketAddr, ToSocketAddrs};

use url::Url;

use crate::problem::Problem;

/// Where a server is when nobody says another port.
pub(crate) const PORT: u16 = stackwright::artp::PORT;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// Messages over ARTP over UDP.
    Artp,
    /// Messages over UDP: nothing brings back what is lost.
    Udp,
    /// Messages, each behind its length, over the kernel's TCP.
    Tcp,
    /// The same over streams over ARTP over UDP.
    OrderedArtp,
}

impl Transport {
    const ALL: [Transport; 4] = [Transport::Artp, Transport::Udp, Transport::Tcp, Transport::OrderedArtp];

    /// How an address begins.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Transport::Artp => "artp",
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::OrderedArtp => "ordered+artp",
        }
    }
}

/// A place where a server is, or shall be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
}

impl Place {
    /// Reads `artp://host:port`, and the like; an address alone is ARTP's.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = |why| Problem::Measured { url: text.into(), why };
        let whole = if text.contains("://") { text.to_owned() } else { format!("artp://{text}") };
        let url = Url::parse(&whole).map_err(|_| wrong("it cannot be read"))?;
        let transport = Transport::ALL.into_iter().find(|transport| transport.scheme() == url.scheme());
        let transport = transport.ok_or_else(|| wrong("there is no such transport"))?;
        if !matches!(url.path(), "" | "/") || !url.username().is_empty() || url.query().is_some() {
            return Err(wrong("there is nothing but a host and a port in it"));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let unknown = |why| Problem::Host { host: host.into(), why };
        let mut addresses = (host, url.port().unwrap_or(PORT)).to_socket_addrs().map_err(unknown)?;
        let address = addresses.next().ok_or_else(|| wrong("that host has no address"))?;
        Ok(Place { transport, address })
    }

    /// As it is said.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.transport.scheme(), self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text| Place::parse(text).map(|place| place.url()).ok();
        assert_eq!(read("artp://127.0.0.1").as_deref(), Some("artp://127.0.0.1:4330"));
        assert_eq!(read("127.0.0.1:7").as_deref(), Some("artp://127.0.0.1:7"));
        assert_eq!(read("ordered+artp://[::1]:9/").as_deref(), Some("ordered+artp://[::1]:9"));
        assert_eq!(read("tcp://127.0.0.1:80").as_deref(), Some("tcp://127.0.0.1:80"));
        for wrong in ["quic://127.0.0.1", "tcp://", "udp://127.0.0.1/path", "artp://me@127.0.0.1", "artp:/h"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
