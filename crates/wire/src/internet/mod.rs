//! The headers of the Internet's protocols: the only place where their layouts are written.
//!
//! | file | what |
//! | --- | --- |
//! | here | the layouts |
//! | `extensions.rs` | options of IPv4, extension headers of IPv6 |
//! | `ndp.rs` | the messages of IPv6 neighbour discovery |
//! | `hardware.rs` | addresses of Ethernet's kind: as text, and those of groups |
//! | `pseudo.rs` | what the checks of transports cover besides their own octets |
//! | `segments.rs` | the headers of a super-packet's segments |

mod extensions;
mod hardware;
mod ndp;
mod pseudo;
mod segments;

pub use extensions::{Extension, ExtensionOptions, Extensions, InternetOption, Ipv4Options};
pub use hardware::{group_address, hardware_address, is_group};
pub use ndp::{NdpOption, NdpOptions, Neighbor, RouterAdvertisement};
pub use pseudo::pseudo_header;
pub use segments::{complete_ipv4, pseudo_header_of, segment_headers};

use crate::Header;

/// An IPv4 header without options (RFC 791 §3.1).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Ipv4 {
    /// Format of the header.
    #[bits(4)]
    #[fixed(4)]
    pub version: (),
    /// Length of the header in words of 32 bits; options follow where it is more than 5.
    #[bits(4)]
    pub ihl: u8,
    /// Differentiated services code point (RFC 2474 §3), once the type of service.
    #[bits(6)]
    pub dscp: u8,
    /// Explicit congestion notification (RFC 3168 §5).
    #[bits(2)]
    pub ecn: u8,
    /// Octets of header and data.
    pub total_length: u16,
    /// Tells which fragments belong together.
    pub identification: u16,
    /// Must be zero.
    #[bits(1)]
    #[fixed(0)]
    pub reserved: (),
    /// Don't fragment.
    pub df: bool,
    /// More fragments.
    pub mf: bool,
    /// Where the fragment belongs, in units of 8 octets.
    #[bits(13)]
    pub fragment_offset: u16,
    /// Time to live: hops, in practice (RFC 1812 §5.3.1).
    pub ttl: u8,
    /// The next protocol: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Internet check over the header.
    pub checksum: u16,
    /// The source.
    pub source: [u8; 4],
    /// The destination.
    pub destination: [u8; 4],
}

/// An IPv6 header (RFC 8200 §3).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Ipv6 {
    /// Format of the header.
    #[bits(4)]
    #[fixed(6)]
    pub version: (),
    /// Differentiated services and congestion notification (RFC 8200 §7).
    pub traffic_class: u8,
    /// Names a flow of packets (RFC 8200 §6).
    #[bits(20)]
    pub flow_label: u32,
    /// Octets that follow this header.
    pub payload_length: u16,
    /// The next protocol: 6 is TCP, 17 is UDP.
    pub next_header: u8,
    /// Hops to live.
    pub hop_limit: u8,
    /// The source.
    pub source: [u8; 16],
    /// The destination.
    pub destination: [u8; 16],
}

/// A UDP header (RFC 768).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Octets of header and data.
    pub length: u16,
    /// Internet check over a pseudo header, this header and the data; zero where there is none.
    pub checksum: u16,
}

/// A TCP header without options (RFC 9293 §3.1).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// The number of the first octet of the data; of the SYN, where there is one.
    pub sequence_number: u32,
    /// The number that is expected next, where `ack` is set.
    pub acknowledgment_number: u32,
    /// Length of the header in words of 32 bits; options follow where it is more than 5.
    #[bits(4)]
    pub data_offset: u8,
    /// Sent as zero, ignored when received.
    #[bits(4)]
    pub rsrvd: u8,
    /// Congestion window reduced (RFC 3168 §6.1).
    pub cwr: bool,
    /// ECN echo (RFC 3168 §6.1).
    pub ece: bool,
    /// The urgent pointer means something.
    pub urg: bool,
    /// The acknowledgement number means something.
    pub ack: bool,
    /// Push.
    pub psh: bool,
    /// Resets the connection.
    pub rst: bool,
    /// Synchronises sequence numbers.
    pub syn: bool,
    /// The sender has finished.
    pub fin: bool,
    /// The receive window in octets, from the acknowledged one on.
    pub window: u16,
    /// Internet check over a pseudo header, this header and the data.
    pub checksum: u16,
    /// From the sequence number to the end of the urgent octets, where `urg` is set.
    pub urgent_pointer: u16,
}

/// An Ethernet header without tags (IEEE 802.3 §3.1.1).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Ethernet {
    /// The destination.
    pub destination: [u8; 6],
    /// The source.
    pub source: [u8; 6],
    /// The next protocol: 0x800 is IPv4, 0x86dd is IPv6; up to 1500 it is a length.
    pub ether_type: u16,
}

/// The header of an ICMP message, of either version (RFC 792, RFC 4443 §2.1).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Icmp {
    /// What it is: of IPv4, an echo request is 8 and its reply 0; of IPv6, 128 and 129.
    pub icmp_type: u8,
    /// Which of several of its type.
    pub code: u8,
    /// Internet check over the message; of IPv6, over a pseudo header too.
    pub checksum: u16,
    /// What the type says: an echo's identifier and number, the MTU of a link, a pointer.
    pub rest: u32,
}

/// An ARP packet for IPv4 on Ethernet (RFC 826).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Arp {
    /// Ethernet.
    #[bits(16)]
    #[fixed(1)]
    pub hardware: (),
    /// IPv4.
    #[bits(16)]
    #[fixed(0x800)]
    pub protocol: (),
    /// Octets of a hardware address.
    #[bits(8)]
    #[fixed(6)]
    pub hardware_length: (),
    /// Octets of a protocol address.
    #[bits(8)]
    #[fixed(4)]
    pub protocol_length: (),
    /// A request is 1, a reply 2.
    pub operation: u16,
    /// The sender's hardware address.
    pub sender: [u8; 6],
    /// The sender's protocol address.
    pub sender_host: [u8; 4],
    /// The hardware address that is asked for, or that asked.
    pub target: [u8; 6],
    /// The protocol address that is asked for, or that asked.
    pub target_host: [u8; 4],
}

/// An ARP packet for IPv4 on AX.25, whose addresses are call signs as in a frame.
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Ax25Arp {
    /// AX.25.
    #[bits(16)]
    #[fixed(3)]
    pub hardware: (),
    /// IPv4, by its protocol identifier (AX.25 v2.2 §3.4).
    #[bits(16)]
    #[fixed(0xcc)]
    pub protocol: (),
    /// Octets of a hardware address.
    #[bits(8)]
    #[fixed(7)]
    pub hardware_length: (),
    /// Octets of a protocol address.
    #[bits(8)]
    #[fixed(4)]
    pub protocol_length: (),
    /// A request is 1, a reply 2.
    pub operation: u16,
    /// The sender's call sign.
    pub sender: [u8; 7],
    /// The sender's protocol address.
    pub sender_host: [u8; 4],
    /// The call sign that asked; zeros in a request.
    pub target: [u8; 7],
    /// The protocol address that is asked for, or that asked.
    pub target_host: [u8; 4],
}
