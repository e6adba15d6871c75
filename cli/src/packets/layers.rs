//! The headers of a packet, from the outside inward, as far as it goes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use stackwright::ax25;
use stackwright::ax25::header::{Addresses, ControlField, LinksHeard, Modulus};
use stackwright::catalogue::{CatalogueEntry, PROTOCOLS};
use stackwright::compress::{self, LinkHosts, RuleSet};
use stackwright::dsr;
use stackwright::kiss::{self, KissType};
use stackwright::wire::capture::{Cooked, Cooked2, LinkType};
use stackwright::wire::internet::{Ethernet, Ipv4, Ipv6, Tcp, Udp};
use stackwright::wire::syntax::{Found, Step, walk};
use stackwright::wire::{Header, dissect};

/// Octets in a word of 32 bits, in which IPv4 and TCP count their headers.
const WORD: usize = 4;

/// The most octets that a datagram of UDP has in a packet of Ethernet.
const ETHERNET_MOST: usize = 1472;

/// AX.25's protocol identifier of IPv4 (v2.2 §3.4).
const AX25_IPV4: u64 = 0xcc;

/// A packet, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Layers<'a> {
    pub(crate) found: Vec<Found<'a>>,
    /// Whence and whither, where the packet says so.
    pub(crate) ends: Option<[String; 2]>,
    /// The kind of the packet in a word or two, where its link has kinds.
    pub(crate) kind: Option<String>,
    /// The ports of UDP, the receiver's first.
    ports: Option<[u16; 2]>,
    /// What no header explains.
    pub(crate) payload: &'a [u8],
    /// What is odd about it, in sentences.
    pub(crate) remarks: Vec<String>,
}

/// The kind of an AX.25 frame as its specification writes it, with its numbers and its P or F bit.
pub(crate) fn kind(control: ControlField) -> String {
    let (numbers, poll) = match control {
        ControlField::Information { sent, received, poll } => {
            (format!(" N(S)={sent} N(R)={received}"), poll)
        }
        ControlField::Supervisory { received, poll, .. } => (format!(" N(R)={received}"), poll),
        ControlField::Unnumbered { poll, .. } => (String::new(), poll),
    };
    format!("{}{numbers}{}", control.name(), if poll { " P/F" } else { "" })
}

/// Tells which of the rules that every station has made a packet shorter, and by how much.
fn compressed(octets: &[u8], hosts: LinkHosts) -> String {
    let rules = RuleSet::built_in();
    let name = octets.first().and_then(|first| rules.name(first >> 4));
    match (name, rules.expand(octets, octets.len(), hosts)) {
        (Some(name), Some(header)) => {
            let (short, long) = (header.replaces, header.octets.len());
            format!("rule {name}: {short} octets stand for {long} of headers")
        }
        _ => "a beacon of rules, or a packet by other rules".into(),
    }
}

/// Which protocol is above those of the network.
pub(crate) struct Above<'a> {
    /// This one, whatever the packets say.
    pub(crate) chosen: Option<&'static CatalogueEntry>,
    /// Those that are found at ports of UDP.
    pub(crate) ports: &'a [(u16, &'static CatalogueEntry)],
    /// The one that the interface names.
    pub(crate) described: Option<&'static CatalogueEntry>,
}

impl Above<'_> {
    /// The protocol of a packet with these ports of UDP.
    fn find(&self, ports: Option<[u16; 2]>) -> Option<&'static CatalogueEntry> {
        let mut ports = ports.into_iter().flatten();
        let known =
            |port| self.ports.iter().find(|(known, _)| *known == port).map(|(_, entry)| *entry);
        let listed = |port| PROTOCOLS.iter().find(|entry| entry.port == Some(port));
        let said = self.chosen.or_else(|| ports.clone().find_map(known)).or(self.described);
        said.or_else(|| ports.find_map(listed))
    }
}

/// Takes a packet apart: the headers that its link begins with, then what the protocol `above`
/// makes of the rest.
pub(crate) fn layers<'a>(
    link: Option<LinkType>,
    octets: &'a [u8],
    above: &Above<'_>,
    heard: &mut LinksHeard,
) -> Layers<'a> {
    let mut layers = Layers { payload: octets, ..Layers::default() };
    let Some(link) = link else {
        layers.remarks.push("the file does not name the interface".into());
        return layers;
    };
    let carries = match link {
        LinkType::ETHERNET => layers
            .header::<Ethernet>()
            .and_then(|header| layers.by_ether_type(u16::from_be_bytes([header[12], header[13]]))),
        LinkType::LINUX_SLL => layers
            .header::<Cooked>()
            .and_then(|header| layers.by_ether_type(u16::from_be_bytes([header[14], header[15]]))),
        LinkType::LINUX_SLL2 => layers
            .header::<Cooked2>()
            .and_then(|header| layers.by_ether_type(u16::from_be_bytes([header[0], header[1]]))),
        // Some systems number raw packets otherwise; two more numbers say which version it is.
        LinkType::RAW | LinkType(12 | 14 | 228 | 229) => layers.internet(),
        LinkType::AX25 => layers.ax25(0, heard),
        LinkType::AX25_KISS => layers.kiss(heard),
        LinkType(147..=162) => Some(()), // users' own
        LinkType(other) => {
            layers.remarks.push(format!("link type {other} is not supported"));
            None
        }
    };
    if let (Some(()), Some(above)) = (carries, above.find(layers.ports)) {
        layers.above(above);
    }
    layers
}

impl<'a> Layers<'a> {
    /// Reads a header, and goes behind it.
    fn header<H: Header>(&mut self) -> Option<&'a [u8]> {
        let shown = dissect::<H>(self.payload).ok();
        let Some(shown) = shown else {
            let (there, wanted) = (self.payload.len(), H::LENGTH);
            self.remarks
                .push(format!("{} has {wanted} octets, of which {there} were captured", H::NAME));
            return None;
        };
        self.payload = &self.payload[H::LENGTH..];
        if let Err(malformed) = H::decode(shown.octets()) {
            self.remarks.push(format!("{} is malformed: {malformed}", H::NAME));
        }
        self.found.push(Found::Header(shown));
        Some(shown.octets())
    }

    /// Goes behind the options of a header of so many words; `fixed` octets of it were read.
    fn options(&mut self, name: &str, words: u8, fixed: usize) -> Option<()> {
        let length = usize::from(words) * WORD;
        let Some(options) = length.checked_sub(fixed) else {
            self.remarks.push(format!("{name} has an invalid length of {length} octets"));
            return None;
        };
        if options > self.payload.len() {
            self.remarks.push(format!("{name} has {options} octets of options, not all captured"));
            return None;
        }
        if options > 0 {
            self.remarks.push(format!("{name} has {options} octets of options"));
        }
        self.payload = &self.payload[options..];
        Some(())
    }

    fn by_ether_type(&mut self, kind: u16) -> Option<()> {
        match kind {
            0x0800 | 0x86dd => self.internet(),
            other => {
                self.remarks.push(format!("EtherType {other:#06x} is not supported"));
                None
            }
        }
    }

    /// A frame of KISS: one of data has a frame of AX.25 in it.
    fn kiss(&mut self, heard: &mut LinksHeard) -> Option<()> {
        if let Some(kind) = self.payload.first().filter(|kind| **kind & 0x0f == 0) {
            let port = kind >> 4;
            self.header::<KissType>()?;
            return self.ax25(port, heard);
        }
        self.walk(kiss::SYNTAX);
        None
    }

    fn ax25(&mut self, port: u8, heard: &mut LinksHeard) -> Option<()> {
        let (mut syntax, mut hosts) = (ax25::SYNTAX, None);
        if let Ok((addresses, length)) = Addresses::decode(self.payload) {
            let from_control = &self.payload[length..];
            let known = heard.hear(port, &addresses, from_control);
            let control = ControlField::decode(from_control, known.unwrap_or(Modulus::Eight));
            self.kind = control.ok().map(|(control, _)| {
                let is_unnumbered = matches!(control, ControlField::Unnumbered { .. });
                if known == Some(Modulus::Extended) && !is_unnumbered {
                    syntax = ax25::EXTENDED_SYNTAX;
                }
                // Its opening was not heard.
                let doubt = if known.is_none() { " modulo 8?" } else { "" };
                format!("{}{doubt}", kind(control))
            });
            // As other monitors write it: an asterisk is behind each that has repeated it.
            let Addresses { destination, source, path, .. } = addresses;
            hosts = Some(LinkHosts { source: source.host(), destination: destination.host() });
            let via = path
                .iter()
                .map(|(call, repeated)| format!(",{call}{}", if repeated { "*" } else { "" }));
            self.ends =
                Some([source.to_string(), format!("{destination}{}", via.collect::<String>())]);
        }
        self.walk(syntax);
        let Some(Found::Octets { name: "information", octets }) = self.found.last() else {
            return None;
        };
        let octets = *octets;
        self.found.pop();
        self.payload = octets;
        let pid = self.found.last().and_then(|found| match found {
            Found::Header(header) => header.value("pid"),
            Found::Octets { .. } => None,
        });
        match pid {
            Some(AX25_IPV4) => self.internet(),
            Some(pid) if pid == u64::from(compress::PID) => {
                self.remarks.push(compressed(octets, hosts?));
                None
            }
            _ => None,
        }
    }

    fn internet(&mut self) -> Option<()> {
        match self.payload.first().map(|first| first >> 4) {
            Some(4) => self.ipv4(),
            Some(6) => self.ipv6(),
            Some(version) => {
                self.remarks.push(format!("IP version {version} is not supported"));
                None
            }
            None => {
                self.remarks.push("nothing is here".into());
                None
            }
        }
    }

    fn ipv4(&mut self) -> Option<()> {
        let header = self.header::<Ipv4>()?;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let words = header[0] & 0x0f;
        let address = |at: usize| {
            Ipv4Addr::from([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let ends = [IpAddr::V4(address(12)), IpAddr::V4(address(16))];
        self.options("Ipv4", words, Ipv4::LENGTH)?;
        // A length of zero is written where the network card was to fill it in.
        if total > 0 {
            self.cut("Ipv4", total.saturating_sub(usize::from(words) * WORD));
        }
        let offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
        if offset > 0 {
            self.remarks.push("not the first fragment of its packet".into());
            return None;
        }
        self.transport(header[9], ends)
    }

    fn ipv6(&mut self) -> Option<()> {
        let header = self.header::<Ipv6>()?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let address = |at: usize| <[u8; 16]>::try_from(&header[at..at + 16]).map(Ipv6Addr::from);
        let ends = [IpAddr::V6(address(8).ok()?), IpAddr::V6(address(24).ok()?)];
        if length > 0 {
            self.cut("Ipv6", length);
        }
        self.transport(header[6], ends)
    }

    /// What is behind the packet is padding; what is missing is said.
    fn cut(&mut self, name: &str, length: usize) {
        match self.payload.get(..length) {
            Some(payload) => self.payload = payload,
            None => {
                let there = self.payload.len();
                self.remarks.push(format!(
                    "{name} carries {length} octets, of which {there} were captured"
                ));
            }
        }
    }

    /// DSR's header, and what it says is behind it.
    fn dsr(&mut self, ends: [IpAddr; 2]) -> Option<()> {
        let next = self.payload.first().copied()?;
        self.walk(dsr::HEADER_SYNTAX);
        let Some(Found::Octets { name: "payload", octets }) = self.found.last() else {
            return None;
        };
        let octets = *octets;
        self.found.pop();
        self.payload = octets;
        if next == 48 { None } else { self.transport(next, ends) }
    }

    fn transport(&mut self, protocol: u8, [source, destination]: [IpAddr; 2]) -> Option<()> {
        self.ends = Some([source.to_string(), destination.to_string()]);
        let header = match protocol {
            6 => self.header::<Tcp>()?,
            17 => self.header::<Udp>()?,
            36 => {
                self.walk(stackwright::xtp::SYNTAX);
                return None;
            }
            48 => return self.dsr([source, destination]),
            other => {
                self.remarks.push(format!("IP protocol {other} is not supported"));
                return None;
            }
        };
        let ports = [[header[0], header[1]], [header[2], header[3]]].map(u16::from_be_bytes);
        let end = |address, port| SocketAddr::new(address, port).to_string();
        self.ends = Some([end(source, ports[0]), end(destination, ports[1])]);
        if protocol == 6 {
            return self.options("Tcp", header[12] >> 4, Tcp::LENGTH);
        }
        self.ports = Some([ports[1], ports[0]]);
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        match length.checked_sub(Udp::LENGTH) {
            Some(length) => self.cut("Udp", length),
            None if length > 0 => {
                self.remarks.push("UDP's length is shorter than its header".into())
            }
            None => {} // a jumbogram (RFC 2675 §4)
        }
        if self.payload.len() > ETHERNET_MOST {
            let several = "longer than a packet of Ethernet: datagrams that left together \
                           (UDP_SEGMENT) are captured as one, of which the first is shown";
            self.remarks.push(several.into());
        }
        Some(())
    }

    /// What a protocol of ours says.
    fn above(&mut self, entry: &'static CatalogueEntry) {
        if self.payload.is_empty() {
            return;
        }
        self.walk(entry.syntax);
    }

    fn walk(&mut self, syntax: &[Step]) {
        let walk = walk(syntax, self.payload);
        self.found.extend(walk.found);
        self.payload = walk.rest;
        self.remarks.extend(walk.faults.iter().map(ToString::to_string));
    }
}
