//! The catalogue of protocols: one line each.

use stackwright_compose::graph::ProtocolRegistry;
use stackwright_contract::words::{Port, Speaks};
use stackwright_contract::{Facts, Nothing, Protocol, Service};
use stackwright_transport::{Configuration, rules};
use stackwright_wire::syntax::{Layout, Step};
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::multicast::{
    GroupDatagrams, GroupMessages, ReliableMulticast, UnacknowledgedMulticast,
};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Bulk, BulkData, Connection, Isochronous, IsochronousStream, Messages,
    Octets, Stream, Transaction, Unacknowledged, UnacknowledgedDatagram,
};

/// A protocol of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueEntry {
    /// What the rule book checks.
    pub facts: Facts,
    /// The name of the service that it provides.
    pub provides: &'static str,
    /// The name of the service that it uses.
    pub uses: &'static str,
    /// Its purpose, in one sentence.
    pub purpose: &'static str,
    /// The parts of its packets; empty where it speaks in lines of text.
    pub syntax: &'static [Step],
    /// Its default UDP port.
    pub port: Option<u16>,
    /// The policies of a transport with slots, in the order of
    /// [`SLOTS`](stackwright_transport::SLOTS), and the membership if there is one; else empty.
    pub policies: &'static [rules::Facts],
    ports: fn() -> [Vec<Port>; 2],
}

impl CatalogueEntry {
    /// Returns the names of the services that it provides, and of those that it uses, where it may
    /// have several neighbours.
    pub fn services(&self) -> [Vec<&'static str>; 2] {
        names((self.ports)())
    }

    /// Sets the name of a protocol of which this is one role.
    const fn called(self, name: &'static str) -> Self {
        CatalogueEntry { facts: Facts { name, ..self.facts }, ..self }
    }

    /// Sets the parts of its packets.
    const fn with_syntax(self, syntax: &'static [Step]) -> Self {
        CatalogueEntry { syntax, ..self }
    }

    /// Sets its default UDP port.
    const fn at_port(self, port: u16) -> Self {
        CatalogueEntry { port: Some(port), ..self }
    }

    /// Sets its policies to those of `C`.
    const fn with_policies<C: Configuration>(self) -> Self {
        CatalogueEntry { policies: C::PARTS, ..self }
    }
}

/// Returns the protocol of that name.
pub fn find(name: &str) -> Option<&'static CatalogueEntry> {
    PROTOCOLS.iter().find(|entry| entry.facts.name == name)
}

const fn entry<P>(purpose: &'static str) -> CatalogueEntry
where
    P: Protocol<Provides: Speaks<BufferTree, Nothing>, Uses: Speaks<BufferTree, Nothing>>,
{
    CatalogueEntry {
        facts: P::FACTS,
        provides: <P::Provides as Service>::NAME,
        uses: <P::Uses as Service>::NAME,
        purpose,
        syntax: &[],
        port: None,
        policies: &[],
        ports: ports::<P, BufferTree, Nothing>,
    }
}

/// Returns the names of the services that a protocol provides, and of those that it uses.
pub fn services<P, M: Message, B: Service>() -> [Vec<&'static str>; 2]
where
    P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>>,
{
    names(ports::<P, M, B>())
}

fn ports<P, M: Message, B: Service>() -> [Vec<Port>; 2]
where
    P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>>,
{
    let (mut provides, mut uses) = (Vec::new(), Vec::new());
    P::Provides::ports(&mut provides);
    P::Uses::ports(&mut uses);
    [provides, uses]
}

fn names(ports: [Vec<Port>; 2]) -> [Vec<&'static str>; 2] {
    ports.map(|ports| ports.into_iter().map(|port| port.service).collect())
}

/// Turns the list below into a table of facts, and a registry of the protocols that a file
/// describes.
macro_rules! catalogue {
    ($(
        $protocol:ty: $purpose:literal
            $(.$with:ident $(::<$of:ty>)? ($($value:expr),*))* $(=> $described:path)?,
    )*) => {
        type M = BufferTree;

        /// All protocols, in the order of their names.
        pub const PROTOCOLS: &[CatalogueEntry] =
            &[$(entry::<$protocol>($purpose)$(.$with$(::<$of>)?($($value),*))*),*];

        /// Returns the protocols that a file describes completely, to be put into described stacks.
        /// A program adds its adapters, and the protocols that need an address, an account or a
        /// secret. Each protocol that is made is given a random `number`.
        pub fn registry<M, B>(number: impl Fn() -> u64 + Clone + 'static) -> ProtocolRegistry<M, B>
        where
            M: Message + 'static,
            B: Service + 'static,
        {
            let registry = ProtocolRegistry::new();
            $($(let registry = registry.describe::<$protocol>($purpose, $described(), number.clone());)?)*
            registry
        }
    };
}

catalogue! {
    stackwright_agw::Agw<M>: "programs share the links of a packet radio station"
        .with_syntax(stackwright_agw::SYNTAX),
    stackwright_artp::Layer<M>: "reliable datagrams of any size, in no order"
        .with_syntax(stackwright_artp::SYNTAX)
        .at_port(stackwright_artp::PORT)
        .with_policies::<stackwright_artp::Artp<M>>(),
    stackwright_ax25::Ax25<M>: "links and unnumbered frames of packet radio"
        .with_syntax(stackwright_ax25::SYNTAX)
        => stackwright_ax25::described,
    stackwright_axudp::Axudp<M>: "frames of AX.25 over UDP" => stackwright_axudp::described,
    stackwright_compress::Compress<M>: "short headers between stations of packet radio that have the same rules"
        => stackwright_compress::described,
    stackwright_copy::Copy<M>: "copies files from one place to another" => stackwright_copy::described,
    stackwright_dsr::Dsr<M>: "routes found by asking, between stations that relay for each other"
        .with_syntax(stackwright_dsr::SYNTAX)
        => stackwright_dsr::described,
    stackwright_ethernet::EthernetDatagrams<M>: "datagrams between the stations of an Ethernet link"
        .with_syntax(stackwright_ethernet::SYNTAX)
        => stackwright_ethernet::described,
    stackwright_framed::Framed<M>: "messages over a stream"
        .with_syntax(&[Step::Header(Layout::of::<stackwright_framed::Length>())])
        => stackwright_framed::described,
    stackwright_ftp::Client<M>: "files that lie on an FTP server",
    stackwright_ftp::Server<M>: "serves files to FTP clients",
    stackwright_group::Mesh<M>: "groups of processes over datagrams"
        .with_syntax(stackwright_group::SYNTAX)
        => stackwright_group::described::mesh,
    stackwright_group::MicroLayer<M, stackwright_group::CausalOrder<M>>: "messages of a group after those that their senders had, when they sent them"
        => stackwright_group::described::causal,
    stackwright_group::MicroLayer<M, stackwright_group::Detector>: "a member of a group that was silent for too long is suspected"
        => stackwright_group::described::detector,
    stackwright_group::MicroLayer<M, stackwright_group::CastFragments<M>>: "messages of a group that are longer than a packet"
        => stackwright_group::described::fragments,
    stackwright_group::MicroLayer<M, stackwright_group::Views<M>>: "who is in a group: views by ballots, and the same messages from one to the next"
        => stackwright_group::described::membership,
    stackwright_group::MicroLayer<M, stackwright_group::Nak<M>>: "messages to all of a group, each sender's in order, repeated until all have them"
        => stackwright_group::described::nak,
    stackwright_group::MicroLayer<M, stackwright_group::PartitionedViews<M>>: "views in each part of a divided group"
        => stackwright_group::described::parts,
    stackwright_group::MicroLayer<M, stackwright_group::RingDetector>: "each member of a large group asks three others whether they live"
        => stackwright_group::described::ring,
    stackwright_group::MicroLayer<M, stackwright_group::SafeDelivery<M>>: "messages of a group that a quorum has, so that they outlive whoever vanishes"
        => stackwright_group::described::safe,
    stackwright_group::MicroLayer<M, stackwright_group::GroupSeal>: "a group whose members have a key, and hear nobody else"
        => stackwright_group::described::seal,
    stackwright_group::MicroLayer<M, stackwright_group::StateTransfer<M>>: "the state of a group for a member that joins"
        => stackwright_group::described::state,
    stackwright_group::MicroLayer<M, stackwright_group::TotalOrder<M>>: "one order of a group's messages at all members"
        => stackwright_group::described::total,
    stackwright_ip::Ip<M>: "packets of hosts, over the neighbours of their links"
        => stackwright_ip::described,
    stackwright_jis::ClientLayer<M>: "pictures as pieces that arrive in any order"
        .called("jis")
        .with_syntax(JIS)
        .at_port(stackwright_jis::PORT),
    stackwright_kiss::Kiss<M>: "frames of a TNC over a line of octets"
        .with_syntax(stackwright_kiss::SYNTAX)
        => stackwright_kiss::described,
    stackwright_kiss::Hub<M>: "several programs share one TNC",
    stackwright_merged::Merged<M>: "several streams on one association"
        .with_syntax(&[Step::Header(Layout::of::<stackwright_merged::ChunkHeader>())])
        => stackwright_merged::described,
    stackwright_ordered::Ordered<M>: "streams over datagrams that arrive in any order"
        .with_syntax(&[Step::Header(Layout::of::<stackwright_ordered::OrderedHeader>())])
        => stackwright_ordered::described,
    stackwright_ip::Point<M>: "a link without addresses below IP, such as TUN"
        => stackwright_ip::described_point,
    stackwright_proxy::Proxy<M>: "streams through a SOCKS or HTTP proxy",
    stackwright_resolve::Resolve<M>: "next hops on one link, by ARP and neighbour discovery"
        .with_syntax(stackwright_resolve::SYNTAX)
        => stackwright_resolve::described,
    stackwright_ax25::AirRules<M>: "what a station transmits is its own, readable, and says whose it is"
        => stackwright_ax25::described_rules,
    stackwright_stop_and_wait::StopAndWait<M>: "one message at a time, sent again until it is acknowledged"
        .with_syntax(&[Step::Header(Layout::of::<stackwright_stop_and_wait::StopAndWaitHeader>())])
        => stackwright_stop_and_wait::described,
    stackwright_tailored::Layer<stackwright_tailored::Planned<M>>: "datagrams with the services that an application names"
        .with_syntax(stackwright_tailored::SYNTAX)
        .at_port(stackwright_tailored::PORT),
    stackwright_tcp::TcpLayer<M>: "reliable streams of octets, as all the Internet speaks"
        .with_syntax(stackwright_tcp::SYNTAX)
        .with_policies::<stackwright_tcp::Tcp<M>>()
        => stackwright_tcp::described,
    stackwright_tls::Tls<M>: "secure streams over streams, from the start or from a command on",
    stackwright_udp::Udp<M>: "datagrams between ports, over IP"
        .with_syntax(&[Step::Header(Layout::of::<stackwright_wire::internet::Udp>())])
        => stackwright_udp::described,
    stackwright_xstp::XstpLayer<M>: "reliable streams of octets over links that lose, and come and go"
        .with_syntax(stackwright_xstp::SYNTAX)
        .with_policies::<stackwright_xstp::Xstp<M>>()
        => stackwright_xstp::described,
    stackwright_xtp::Layer<M, Stream>:
        "reliable streams of octets, without congestion control"
        .with_syntax(stackwright_xtp::SYNTAX)
        .at_port(stackwright_xtp::PORT)
        .with_policies::<Octets<M>>(),
    stackwright_xtp::Layer<M, AcknowledgedDatagram>:
        "datagrams, each sent again until it is acknowledged"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Messages<M>>(),
    stackwright_xtp::Layer<M, BulkData>:
        "reliable streams of octets into the buffers of the receiver, at a rate that both sides say"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Bulk<M>>(),
    stackwright_xtp::Layer<M, Connection>:
        "reliable messages of any size, in order, without congestion control"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Messages<M>>(),
    stackwright_xtp::Layer<M, IsochronousStream>:
        "messages in order at a rate that both sides say; what is lost is not sent again"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Isochronous<M>>(),
    stackwright_xtp::multicast::GroupLayer<M, ReliableMulticast>:
        "reliable messages of any size to a group, in order, without congestion control"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<GroupMessages<M>>(),
    stackwright_xtp::Layer<M, Transaction>:
        "a request and its answer, of any size, as one association"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Messages<M>>(),
    stackwright_xtp::Layer<M, UnacknowledgedDatagram>:
        "datagrams that nobody acknowledges, without a handshake"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<Unacknowledged<M>>(),
    stackwright_xtp::multicast::GroupLayer<M, UnacknowledgedMulticast>:
        "datagrams to a group that nobody acknowledges"
        .with_syntax(stackwright_xtp::SYNTAX)
        .with_policies::<GroupDatagrams<M>>(),
}

/// JIS's ADUs in the packets of the transport below it.
const JIS: &[Step] = &stackwright_tailored::syntax_of(stackwright_jis::generated::SYNTAX);
