//! The proxy's side of SOCKS 5 (RFC 1928): without a login, and CONNECT alone.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::Ended;

use crate::socks::{CONNECT, IPV4, IPV6, NAME, NO_LOGIN, VERSION, push_address};

/// "No acceptable methods" (RFC 1928 §3).
const NO_METHOD: u8 = 0xff;

/// A client that has not been connected yet.
#[derive(Debug, Default)]
pub struct SocksServer {
    is_greeted: bool,
}

/// What a proxy does next for a client.
#[derive(Debug, PartialEq, Eq)]
pub enum SocksStep {
    /// More octets are needed: a request has at most 262.
    More,
    /// This is to be said now; what was heard behind it is to be heard again.
    Say(Vec<u8>),
    /// The client wants to be connected, and waits for a [`reply`](SocksServer::reply).
    Connect(SocksTarget),
    /// This is the last that is said.
    Refuse(Vec<u8>),
}

/// The peer that a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocksTarget {
    /// An address.
    Address(SocketAddr),
    /// A host's name, which the proxy looks up, and a port.
    Name(String, u16),
}

impl SocksServer {
    /// Takes what it understands from `heard`; what is behind a request is the peer's.
    pub fn hear(&mut self, heard: &mut Vec<u8>) -> SocksStep {
        if self.is_greeted { connect(heard) } else { self.greet(heard) }
    }

    fn greet(&mut self, heard: &mut Vec<u8>) -> SocksStep {
        match heard.as_slice() {
            [VERSION, count, methods @ ..] if methods.len() >= usize::from(*count) => {
                let methods = &methods[..usize::from(*count)];
                if !methods.contains(&NO_LOGIN) {
                    return SocksStep::Refuse(vec![VERSION, NO_METHOD]);
                }
                heard.drain(..2 + usize::from(heard[1]));
                self.is_greeted = true;
                SocksStep::Say(vec![VERSION, NO_LOGIN])
            }
            [] | [VERSION, ..] => SocksStep::More,
            _ => SocksStep::Refuse(Vec::new()),
        }
    }

    /// Returns the reply to CONNECT: the proxy's own address on the way to the peer, or why there
    /// is none (RFC 1928 §6).
    pub fn reply(outcome: Result<SocketAddr, Ended>) -> Vec<u8> {
        let own = outcome.unwrap_or_else(|_| SocketAddr::from(([0; 4], 0)));
        let code = match outcome {
            Ok(_) => 0,
            Err(Ended::Unreachable) => 4,
            Err(Ended::Refused(_)) => 5,
            Err(Ended::Expired) => 6,
            Err(_) => 1,
        };
        let mut said = vec![VERSION, code, 0];
        push_address(&mut said, own);
        said
    }
}

fn connect(heard: &mut Vec<u8>) -> SocksStep {
    let refuse = |code| SocksStep::Refuse(vec![VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
    let (command, kind, rest) = match heard.as_slice() {
        [VERSION, command, _, kind, rest @ ..] => (*command, *kind, rest),
        [] | [VERSION] | [VERSION, _] | [VERSION, _, _] => return SocksStep::More,
        _ => return SocksStep::Refuse(Vec::new()),
    };
    if command != CONNECT {
        return refuse(7); // command not supported
    }
    let (from, length) = match (kind, rest.first()) {
        (IPV4, _) => (0, 4),
        (IPV6, _) => (0, 16),
        (NAME, Some(length)) => (1, usize::from(*length)),
        (NAME, None) => return SocksStep::More,
        _ => return refuse(8), // address type not supported
    };
    let Some((host, [high, low, ..])) = rest[from..].split_at_checked(length) else {
        return SocksStep::More;
    };
    let port = u16::from_be_bytes([*high, *low]);
    let address = |host| SocksTarget::Address(SocketAddr::new(host, port));
    let target = match (kind, <[u8; 4]>::try_from(host), <[u8; 16]>::try_from(host)) {
        (IPV4, Ok(host), _) => address(host.into()),
        (IPV6, _, Ok(host)) => address(host.into()),
        _ => match String::from_utf8(host.to_vec()) {
            Ok(name) if !name.is_empty() => SocksTarget::Name(name, port),
            _ => return refuse(4), // host unreachable
        },
    };
    heard.drain(..4 + from + length + 2);
    SocksStep::Connect(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is heard octet by octet leads to the same as what is heard at once.
    fn hear(request: &[u8]) -> (Vec<SocksStep>, Vec<u8>) {
        let by_octets = [request.len().max(1), 1].map(|length| {
            let (mut server, mut heard, mut steps) = (SocksServer::default(), vec![], vec![]);
            for octets in request.chunks(length) {
                heard.extend_from_slice(octets);
                while !matches!(steps.last(), Some(SocksStep::Connect(_) | SocksStep::Refuse(_))) {
                    match server.hear(&mut heard) {
                        SocksStep::More => break,
                        step => steps.push(step),
                    }
                }
            }
            (steps, heard)
        });
        let [at_once, by_one] = by_octets;
        assert_eq!(at_once, by_one);
        at_once
    }

    #[test]
    fn a_client_is_connected_to_an_address_or_a_name() {
        let say = SocksStep::Say(vec![5, 0]);
        for (request, target) in [
            (
                &b"\x01\x0a\x00\x00\x07\x00\x50"[..],
                SocksTarget::Address(([10, 0, 0, 7], 80).into()),
            ),
            (&b"\x03\x04host\x00\x50"[..], SocksTarget::Name("host".into(), 80)),
        ] {
            let request = [b"\x05\x02\x02\x00\x05\x01\x00", request, b"GET"].concat();
            let (mut steps, behind) = hear(&request);
            assert_eq!(steps.pop(), Some(SocksStep::Connect(target)));
            assert_eq!((steps, &behind[..]), (vec![SocksStep::Say(vec![5, 0])], &b"GET"[..]));
        }
        let six = [&b"\x05\x01\x00\x05\x01\x00\x04"[..], &[0; 15], &[1, 0, 80]].concat();
        let target = SocksTarget::Address("[::1]:80".parse().expect("an address"));
        assert_eq!(hear(&six).0, [say, SocksStep::Connect(target)]);
    }

    #[test]
    fn all_else_is_refused() {
        let refused = |request: &[u8]| match hear(request).0.pop() {
            Some(SocksStep::Refuse(said)) => said.get(1).copied(),
            step => panic!("{step:?}"),
        };
        assert_eq!(refused(b"\x05\x01\x02"), Some(0xff), "a login alone is offered");
        assert_eq!(refused(b"GET / HTTP/1.1"), None);
        assert_eq!(refused(b"\x05\x01\x00\x05\x02\x00\x01"), Some(7), "BIND");
        assert_eq!(refused(b"\x05\x01\x00\x05\x03\x00\x01"), Some(7), "UDP");
        assert_eq!(refused(b"\x05\x01\x00\x05\x01\x00\x09\x00"), Some(8));
        assert_eq!(refused(b"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50"), Some(4), "no name");
    }

    #[test]
    fn a_reply_says_where_from_or_why_not() {
        let own = SocketAddr::from(([10, 0, 0, 2], 80));
        assert_eq!(SocksServer::reply(Ok(own)), [5, 0, 0, 1, 10, 0, 0, 2, 0, 80]);
        assert_eq!(SocksServer::reply(Err(Ended::Refused(0)))[1], 5);
    }
}
