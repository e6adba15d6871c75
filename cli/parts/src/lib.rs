//! The parts of the program's stacks: every protocol, compiled once, as a node of graphs.
//!
//! A program that chooses its stacks at run time needs each protocol once, behind a pointer, and
//! not once for each stack that it stands in, or for each use of that. Here is where that one copy
//! is compiled: whoever builds a graph of [parts](Part) compiles none of it again.
#![forbid(unsafe_code)]

mod shown;

use stackwright::compose::graph::{Erased, Graph, Node, ProtocolRegistry};
use stackwright::compose::{Opaque, Over};
use stackwright::contract::services::{Datagrams, Streams};
use stackwright::contract::{Guarantees, Protocol};
use stackwright::copy::Copy;
use stackwright::dsr::Dsr;
use stackwright::framed::Framed;
use stackwright::ip::{Ip, Point};
use stackwright::merged::Merged;
use stackwright::ordered::Ordered;
use stackwright::policies::switching::PlannedSwitching;
use stackwright::proxy::Proxy;
use stackwright::resolve::Resolve;
use stackwright::tailored::configurations::{AnyOrder, Selective};
use stackwright::tailored::{Named, Planned};
use stackwright::tcp::TcpLayer;
use stackwright::wire::BufferTree;
use stackwright::xtp::multicast::{GroupLayer, ReliableMulticast};
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram,
};
use stackwright::{agw, artp, ax25, catalogue, ftp, kiss, tailored, tls, xstp, xtp};
use stackwright_drivers::Readiness;
use stackwright_drivers::files::Disk;
use stackwright_drivers::ip::Ip as Raw;
use stackwright_drivers::ipc::Near;
use stackwright_drivers::line::Line;
use stackwright_drivers::packet::PacketSocket;
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::tun::Tun;
use stackwright_drivers::udp::Udp;
use stackwright_drivers::unix::UnixStreams;
use stackwright_drivers::xdp::XdpQueue;

/// The kind of message of all these stacks: it holds regions of files, so that the kernel can send
/// them.
pub type Message = BufferTree;

/// A part, behind a pointer.
pub type Boxed = Box<dyn Node<Message, Readiness>>;

/// A stack of them that provides `T`.
pub type Stack<T> = Graph<Message, Readiness, T>;

/// The names of protocols, and how each is made.
pub type Registry = ProtocolRegistry<Message, Readiness>;

/// A protocol of which the program's stacks are built.
pub trait Part: Sized {
    /// Makes a node of it.
    fn boxed(self) -> Boxed;

    /// Returns what stands for it where a graph is only drawn and explained: nothing is opened.
    fn shown() -> Boxed;
}

macro_rules! parts {
    ($($protocol:ty),* $(,)?) => {
        $(impl Part for $protocol {
            fn boxed(self) -> Boxed {
                Box::new(Erased(self))
            }

            fn shown() -> Boxed {
                Box::new(shown::Shown::<Self>::new())
            }
        })*
    };
}

parts! {
    // Adapters.
    Disk<Message>,
    Raw<Message>,
    Line<Message>,
    PacketSocket<Message>,
    Tcp<Message>,
    Tun<Message>,
    Udp<Message>,
    XdpQueue<Message>,
    Over<Near<Datagrams<Message>>, UnixStreams<Message>>,
    Served,
    ServedStreams,
    // Protocols.
    Copy<Message>,
    Dsr<Message>,
    Framed<Message>,
    Ordered<Message>,
    Ip<Message>,
    Merged<Message>,
    Resolve<Message>,
    xstp::XstpLayer<Message>,
    Point<Message>,
    TcpLayer<Message>,
    agw::Agw<Message>,
    artp::Layer<Message>,
    ax25::Ax25<Message>,
    ftp::Client<Message>,
    ftp::Server<Message>,
    kiss::Hub<Message>,
    tailored::Layer<Named<AnyOrder<Message>>>,
    tailored::Layer<Planned<Message, PlannedSwitching>>,
    Proxy<Message>,
    tls::Tls<Message>,
    xtp::Layer<Message, AcknowledgedDatagram>,
    xtp::Layer<Message, BulkData>,
    xtp::Layer<Message, Connection>,
    xtp::Layer<Message, IsochronousStream>,
    xtp::Layer<Message, Stream>,
    xtp::Layer<Message, Transaction>,
    xtp::Layer<Message, UnacknowledgedDatagram>,
    GroupLayer<Message, ReliableMulticast>,
}

/// Returns the protocols that a file describes completely; each that is made is given a random
/// `number`.
pub fn described(number: fn() -> u64) -> Registry {
    catalogue::registry(number)
}

/// What a role of an image server needs of what it stands on.
const NEEDED: Guarantees = Guarantees::RELIABLE.and(Guarantees::ONCE).and(Guarantees::CHECKED);

/// Messages that all arrive as they were sent, once, in any order.
pub type Reliable = Opaque<Datagrams<Message>, Readiness, { NEEDED.bits() }>;

/// What ARTP promises.
pub const SERVED_GIVES: u16 = <artp::Layer<Message> as Protocol>::FACTS.gives.bits();

/// ARTP in a server.
pub type Served = Over<Near<Datagrams<Message>, SERVED_GIVES>, UnixStreams<Message>>;

/// What streams promise, whatever carries them; XTP's may be unchecked.
pub const STREAMS_GIVE: u16 =
    Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE).bits();

/// Streams of a server: TCP's, or those of a transport of ours.
pub type ServedStreams = Over<Near<Streams<Message>, STREAMS_GIVE>, UnixStreams<Message>>;

/// The transport of images in a server.
pub type ServedImages = Over<Near<Datagrams<Message>, { NEEDED.bits() }>, UnixStreams<Message>>;

/// Hides a transport that an application's specification selects.
pub fn selective(
    layer: tailored::Layer<Named<Selective<Message>>>,
    lower: Udp<Message>,
) -> Reliable {
    Opaque::new(Over::new(layer, lower))
}

/// Hides that it is in a server.
pub fn served(images: ServedImages) -> Reliable {
    Opaque::new(images)
}
