//! Addresses to measure: which transport, and where.

use std::net::SocketAddr;

use stackwright::catalogue;

use crate::address::{self, Address};
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
    /// Messages of a Connection of XTP over UDP.
    Xtp,
    /// Messages, each behind its length, over streams of XTP over UDP.
    StreamXtp,
    /// Transactions of XTP over UDP: each association is a request and its answer.
    TransactionXtp,
    /// Acknowledged datagrams of XTP over UDP.
    AcknowledgedXtp,
    /// Unacknowledged datagrams of XTP over UDP: an association has one direction.
    UnacknowledgedXtp,
    /// Messages, each behind its length, over XTP's bulk data over UDP.
    BulkXtp,
    /// An isochronous stream of XTP over UDP: nothing brings back what is lost.
    IsochronousXtp,
    /// Messages of a Connection of XTP over IP, as protocol 36.
    XtpIp,
    /// Messages, each behind its length, over XSTP over IP, as protocol 253.
    Xstp,
    /// Messages over a transport that is tailored to them, over UDP.
    Tailored,
    /// Messages over a protocol of the catalogue of which a file says all, by its name.
    Listed(&'static str),
}

impl Transport {
    pub(super) const ALL: [Transport; 14] = [
        Transport::Artp,
        Transport::Udp,
        Transport::Tcp,
        Transport::OrderedArtp,
        Transport::Xtp,
        Transport::StreamXtp,
        Transport::TransactionXtp,
        Transport::AcknowledgedXtp,
        Transport::UnacknowledgedXtp,
        Transport::BulkXtp,
        Transport::IsochronousXtp,
        Transport::XtpIp,
        Transport::Xstp,
        Transport::Tailored,
    ];

    /// Finds what an address begins with: one of the above, or else a protocol of the catalogue.
    fn find(scheme: &str) -> Option<Self> {
        let known = Transport::ALL.into_iter().find(|transport| transport.scheme() == scheme);
        known.or_else(|| {
            between(scheme)?;
            let described = stackwright_parts::described(|| 0);
            let name = described.iter().map(|(name, ..)| name).find(|name| *name == scheme);
            name.map(Transport::Listed)
        })
    }

    /// How an address begins.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Transport::Artp => "artp",
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::OrderedArtp => "ordered+artp",
            Transport::Xtp => "xtp",
            Transport::StreamXtp => "stream+xtp",
            Transport::TransactionXtp => "transaction+xtp",
            Transport::AcknowledgedXtp => "acknowledged+xtp",
            Transport::UnacknowledgedXtp => "unacknowledged+xtp",
            Transport::BulkXtp => "bulk+xtp",
            Transport::IsochronousXtp => "isochronous+xtp",
            Transport::XtpIp => "xtp+ip",
            Transport::Xstp => "xstp",
            Transport::Tailored => "tailored",
            Transport::Listed(name) => name,
        }
    }

    /// Whether it is XTP, with any service.
    pub(crate) fn is_xtp(self) -> bool {
        !matches!(self, Transport::Listed(_)) && self.scheme().contains("xtp")
    }
}

/// Returns what stands above a protocol of the catalogue where it is measured, and the adapter
/// below it.
pub(super) fn between(name: &str) -> Option<(Option<&'static str>, &'static str)> {
    let entry = catalogue::find(name)?;
    let above = match entry.provides {
        "Datagrams" => None,
        "Streams" => Some("framed"),
        _ => return None,
    };
    match entry.uses {
        "Datagrams" => Some((above, "udp")),
        "Streams" => Some((above, "tcp")),
        _ => None,
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
        let wrong = |why| Problem::Measured { url: address::without_password(text), why };
        let whole = if text.contains("://") { text.to_owned() } else { format!("artp://{text}") };
        let url = Address::parse(&whole).map_err(wrong)?;
        let transport = Transport::find(&url.scheme);
        let transport = transport.ok_or_else(|| wrong("the transport is unknown"))?;
        if !matches!(url.path, "" | "/") || url.user.or(url.password).is_some() {
            return Err(wrong("only a host and a port are allowed"));
        }
        if transport == Transport::XtpIp && url.port.is_some() {
            return Err(wrong("IP has no ports: leave out the port"));
        }
        let addresses = address::resolve(&url.host, url.port.unwrap_or(PORT))?;
        Ok(Place { transport, address: addresses[0] })
    }

    /// Whether several may receive there.
    pub(crate) fn is_group(&self) -> bool {
        self.address.ip().is_multicast()
    }

    /// As it is said.
    pub(crate) fn url(&self) -> String {
        match self.transport {
            // IP has no ports.
            Transport::XtpIp if self.address.is_ipv4() => {
                format!("{}://{}", self.transport.scheme(), self.address.ip())
            }
            Transport::XtpIp => format!("{}://[{}]", self.transport.scheme(), self.address.ip()),
            _ => format!("{}://{}", self.transport.scheme(), self.address),
        }
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
        assert_eq!(read("xtp+ip://127.0.0.2/").as_deref(), Some("xtp+ip://127.0.0.2"));
        assert_eq!(read("xtp+ip://[::1]").as_deref(), Some("xtp+ip://[::1]"));
        assert_eq!(read("xstp://127.0.0.1").as_deref(), Some("xstp://127.0.0.1:4330"));
        assert_eq!(read("stop-and-wait://[::1]:9").as_deref(), Some("stop-and-wait://[::1]:9"));
        assert_eq!(read("[fe80::1%252]").as_deref(), Some("artp://[fe80::1%2]:4330"));
        for wrong in [
            "quic://127.0.0.1",
            // It needs secrets, and provides files.
            "tls://127.0.0.1",
            "copy://127.0.0.1",
            "xtp+ip://127.0.0.1:7",
            "tcp://",
            "udp://127.0.0.1/path",
            "udp://127.0.0.1?a",
            "artp://me@127.0.0.1",
            "artp://:secret@127.0.0.1",
            "artp:/h",
            "::1",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
