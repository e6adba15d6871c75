//! Captures: what crossed a boundary, written so that Wireshark opens it.
//!
//! | file | what |
//! | --- | --- |
//! | `pcapng.rs` | the file: a section, an interface for each boundary, a block for each packet |
//! | `frame.rs` | how a word becomes a packet: headers in front of its payload |
//! | `cooked.rs` | headers that captures have in place of a link's own |
//!
//! Nothing here writes a file: a [`Capture`] keeps octets in memory until the caller takes them.
//!
//! ```
//! use stackwright_wire::capture::{Capture, Ends, Frame, LinkType, PacketDirection, Payload};
//!
//! let mut capture = Capture::new("example");
//! let boundary = capture.interface("udp", "datagrams of the resolver", LinkType::RAW);
//! let ends = Ends::between("192.0.2.1:4000".parse().unwrap(), "192.0.2.53:53".parse().unwrap());
//! let frame = Frame::datagram(ends, Payload::from(&b"question"[..])).expect("it is short enough");
//! let (time, direction) = (1_000_000_000, PacketDirection::Outbound);
//! capture.packet(boundary, time, direction, &frame, Some("the first try"));
//! let octets = capture.take();
//! assert_eq!(octets.len() % 4, 0);
//! ```

mod cooked;
mod frame;
mod payload;
mod pcapng;

pub use cooked::{Cooked, Cooked2};
pub use frame::{Control, Ends, Frame, TcpSegment};
pub use payload::Payload;
pub use pcapng::{Capture, InterfaceId, LinkType, PacketDirection};
