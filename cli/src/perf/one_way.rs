//! Where an association has one direction, the report comes on another, which the other side opens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use stackwright::contract::services::MessageProperties;
use stackwright::wire::Message as _;
use stackwright_endpoint::{Config, Error};
use stackwright_parts::Message;

use super::bulk::{AGAIN, PATIENCE, worded};
use super::place::Place;
use super::transport::{Association, Endpoint, Make};
use super::words::{Kind, Report, Word};

/// An endpoint that also hears what the server opens.
pub(super) fn bound(place: &Place, config: Config, make: &Make) -> Result<Endpoint, Error> {
    let any: IpAddr = match place.address.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Endpoint::bind(SocketAddr::new(any, 0), config, make.stacks())
}

/// What has arrived of `sent` messages: the end says at which port the report is expected.
pub(super) fn ask(
    endpoint: &mut Endpoint,
    association: &Association,
    sent: u64,
) -> Result<Report, Error> {
    let port = endpoint.local().map_or(0, |local| local.port()).to_be_bytes();
    let (mut patience, begin) = (AGAIN, Instant::now());
    while begin.elapsed() + patience < PATIENCE {
        endpoint.set_timeout(Some(patience));
        patience *= 2;
        association.send_message(worded(Kind::End, sent, &port), MessageProperties::default())?;
        let heard = endpoint.accept().and_then(|back| back.receive_message());
        let mut message = match heard {
            Ok((message, _)) => message,
            Err(error) if error.is_not_yet() => continue,
            Err(error) => return Err(error),
        };
        if let (Ok(Word { kind: Kind::Report, .. }), Ok(report)) = (message.pull(), message.pull())
        {
            return Ok(report);
        }
    }
    Err(Error::NotYet)
}

/// Sends a report to where the other side expects it.
pub(super) fn report(endpoint: &Endpoint, there: SocketAddr, report: Message) {
    // What is lost is asked for again.
    if let Ok(back) = endpoint.connect(there) {
        let _ = back.send_message(report, MessageProperties::default());
    }
}
