//! The header behind IPv4's, and its options (RFC 4728 §6), read and written.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_wire::Header;

/// The number of DSR (IANA).
pub(crate) const PROTOCOL: u8 = 48;
/// What a header names that no other follows (RFC 4728 §6.1).
pub(crate) const NOTHING: u8 = 59;
/// Options of one packet that are read; nobody needs more.
const OPTIONS_MOST: usize = 8;

pub(crate) const REQUEST: u8 = 1;
pub(crate) const REPLY: u8 = 2;
const ERROR: u8 = 3;
const ACKNOWLEDGEMENT: u8 = 32;
pub(crate) const SOURCE_ROUTE: u8 = 96;
const ACK_REQUEST: u8 = 160;
const PAD1: u8 = 224;
/// The kind of route error that is used: a node does not answer (RFC 4728 §6.4.1).
const UNREACHABLE: u8 = 1;

/// The fixed part of the header (RFC 4728 §6.1).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DsrFront {
    /// The next protocol, as in IPv4's header; 59: nothing follows.
    pub next_header: u8,
    /// Whether it is the header of a flow's packet, which is not spoken here.
    pub flow: bool,
    /// Sent as zero, ignored when received.
    #[bits(7)]
    pub rsvd: u8,
    /// Octets of the options that follow.
    pub length: u16,
}

/// The front of each option but Pad1 (RFC 4728 §6).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct DsrOptionFront {
    /// 1 is a route request, 2 a reply, 3 an error, 32 an acknowledgement, 96 a source route, 160
    /// asks for an acknowledgement.
    pub option: u8,
    /// Octets that follow.
    pub octets: u8,
}

/// What a source route says before its list (RFC 4728 §6.7).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub(crate) struct RouteFront {
    /// The list begins with who put it there.
    pub first_external: bool,
    /// The list ends with a router.
    pub last_external: bool,
    /// Nothing.
    #[bits(4)]
    pub rsvd: u8,
    /// How often it was salvaged.
    #[bits(4)]
    pub salvage: u8,
    /// How many of the list have not been visited.
    #[bits(6)]
    pub left: u8,
}

/// The route that a packet takes (RFC 4728 §6.7).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct SourceRoute {
    /// Whether the list begins with who put it there, because that is not the packet's source.
    pub(crate) first_external: bool,
    /// Whether the list ends with a router to where the packet goes.
    pub(crate) last_external: bool,
    /// How often it was salvaged.
    pub(crate) salvage: u8,
    /// How many of the list have not been visited.
    pub(crate) left: u8,
    pub(crate) list: Vec<Ipv4Addr>,
}

impl SourceRoute {
    /// Returns which of the list was visited last. `None`: none was, as where it began.
    pub(crate) fn visited(&self) -> Option<usize> {
        self.list.len().checked_sub(usize::from(self.left) + 1)
    }

    /// Returns the station to visit next; `None`: it is where the packet goes.
    pub(crate) fn next(&self) -> Option<Ipv4Addr> {
        let place = self.list.len().checked_sub(self.left.into())?;
        self.list.get(place).copied()
    }

    /// Returns the stations from where it began to `place`, which is not included.
    pub(crate) fn until(&self, source: Ipv4Addr, place: usize) -> Vec<Ipv4Addr> {
        let origin = (!self.first_external).then_some(source);
        origin.into_iter().chain(self.list[..place.min(self.list.len())].iter().copied()).collect()
    }
}

/// An option that is understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Opt {
    Request {
        id: u16,
        target: Ipv4Addr,
        list: Vec<Ipv4Addr>,
    },
    /// The list ends with the target.
    Reply {
        list: Vec<Ipv4Addr>,
    },
    /// `source` could not reach `unreachable`, and tells `destination`.
    Error {
        salvage: u8,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        unreachable: Ipv4Addr,
    },
    Acknowledgement {
        id: u16,
        source: Ipv4Addr,
        destination: Ipv4Addr,
    },
    Route(SourceRoute),
    AckRequest {
        id: u16,
    },
}

fn address(octets: &[u8]) -> Option<Ipv4Addr> {
    octets.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets))
}

/// Returns the addresses of a list, all of which are hosts' (RFC 4728 §8.1.4: none of a group).
fn list(octets: &[u8]) -> Result<Vec<Ipv4Addr>, &'static str> {
    let (addresses, []) = octets.as_chunks::<4>() else {
        return Err("a list of addresses that is cut off");
    };
    let list: Vec<_> = addresses.iter().map(|octets| Ipv4Addr::from(*octets)).collect();
    if list.iter().all(|host| is_host(*host)) {
        Ok(list)
    } else {
        Err("a route by an address that is no host's")
    }
}

/// Returns whether an address may be a station's.
pub(crate) fn is_host(host: Ipv4Addr) -> bool {
    let is_none = host.is_unspecified() || host.is_loopback() || host.octets()[0] >= 240;
    !is_none && !host.is_multicast()
}

/// Returns whether a station is in a list twice.
pub(crate) fn repeats(list: &[Ipv4Addr]) -> bool {
    list.iter().enumerate().any(|(place, host)| list[..place].contains(host))
}

/// Reads the options of a header. Others than those known are passed over by their length.
pub(crate) fn read_options(mut octets: &[u8]) -> Result<Vec<Opt>, &'static str> {
    const SHORT: &str = "an option that is cut off";
    let mut options = Vec::new();
    while let [kind, rest @ ..] = octets {
        if *kind == PAD1 {
            octets = rest;
            continue;
        }
        let (length, rest) = rest.split_first().ok_or(SHORT)?;
        let (data, rest) = rest.split_at_checked((*length).into()).ok_or(SHORT)?;
        octets = rest;
        let Some(option) = read_option(*kind, data)? else { continue };
        if options.len() == OPTIONS_MOST {
            return Err("more options than anybody needs");
        }
        options.push(option);
    }
    Ok(options)
}

fn read_option(kind: u8, data: &[u8]) -> Result<Option<Opt>, &'static str> {
    let word = |at: usize| data.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let host = |at: usize| data.get(at..).and_then(address);
    let read = || {
        Some(match kind {
            REQUEST => {
                let (id, target) = (word(0)?, host(2)?);
                list(&data[6..]).map(|list| Opt::Request { id, target, list })
            }
            REPLY => list(data.get(1..)?).map(|list| Opt::Reply { list }),
            ERROR if *data.first()? == UNREACHABLE => {
                let (source, destination, unreachable) = (host(2)?, host(6)?, host(10)?);
                Ok(Opt::Error { salvage: data[1] & 0xf, source, destination, unreachable })
            }
            ACKNOWLEDGEMENT => {
                Ok(Opt::Acknowledgement { id: word(0)?, source: host(2)?, destination: host(6)? })
            }
            SOURCE_ROUTE => {
                let RouteFront { first_external, last_external, salvage, left, .. } =
                    RouteFront::decode(data).ok()?;
                list(&data[2..]).map(|list| {
                    Opt::Route(SourceRoute { first_external, last_external, salvage, left, list })
                })
            }
            ACK_REQUEST => Ok(Opt::AckRequest { id: word(0)? }),
            _ => return None,
        })
    };
    let is_known = matches!(kind, REQUEST | REPLY | ACKNOWLEDGEMENT | SOURCE_ROUTE | ACK_REQUEST)
        || kind == ERROR && data.first().is_none_or(|kind| *kind == UNREACHABLE);
    match read() {
        Some(option) => option.map(Some),
        None if is_known => Err("an option shorter than its fields"),
        None => Ok(None),
    }
}

impl Opt {
    /// Appends it as it is on the link.
    pub(crate) fn write(&self, octets: &mut Vec<u8>) {
        let start = octets.len();
        let front = |kind: u8| [kind, 0];
        let append = |octets: &mut Vec<u8>, list: &[Ipv4Addr]| {
            list.iter().for_each(|host| octets.extend(host.octets()));
        };
        match self {
            Opt::Request { id, target, list } => {
                octets.extend(front(REQUEST));
                octets.extend(id.to_be_bytes());
                octets.extend(target.octets());
                append(octets, list);
            }
            Opt::Reply { list } => {
                octets.extend(front(REPLY));
                octets.push(0);
                append(octets, list);
            }
            Opt::Error { salvage, source, destination, unreachable } => {
                octets.extend(front(ERROR));
                octets.extend([UNREACHABLE, *salvage]);
                append(octets, &[*source, *destination, *unreachable]);
            }
            Opt::Acknowledgement { id, source, destination } => {
                octets.extend(front(ACKNOWLEDGEMENT));
                octets.extend(id.to_be_bytes());
                append(octets, &[*source, *destination]);
            }
            Opt::Route(route) => {
                octets.extend(front(SOURCE_ROUTE));
                let SourceRoute { first_external, last_external, salvage, left, .. } = *route;
                let front = RouteFront { first_external, last_external, rsvd: 0, salvage, left };
                octets.extend([0; RouteFront::LENGTH]);
                front.encode(&mut octets[start + 2..]);
                append(octets, &route.list);
            }
            Opt::AckRequest { id } => {
                octets.extend(front(ACK_REQUEST));
                octets.extend(id.to_be_bytes());
            }
        }
        octets[start + 1] = (octets.len() - start - 2) as u8;
    }
}
