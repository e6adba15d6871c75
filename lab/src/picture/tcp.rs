//! The same picture by TCP, in the simulator: the bodies of its ADUs one behind the other in a
//! stream, each with its length before it.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle, Instant, Protocol};
use stackwright_jis::jpeg::{BODY_MOST, JpegFlaw, Picture, PieceHead, pieces};
use stackwright_simulator::{
    Application, Asks, Conditions, SimulatedDatagrams, SimulatedHosts, World,
};
use stackwright_tcp::{Config, layer};
use stackwright_wire::Message;

use crate::table::Arrived;
use crate::transport::M;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const CREDIT: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };
/// The protocol number (RFC 9293 §3.1).
const TCP: u8 = 6;
/// What a packet of 1500 octets has room for behind an IPv4 header.
const SEGMENT: u16 = 1480;
/// The longest time of a picture.
const MOST: Duration = Duration::from_secs(3600);

/// Fetches `file` over this link.
///
/// # Errors
/// Returns a flaw of a file that is not baseline.
pub(super) fn arrive(link: &Conditions, file: &[u8], seed: u64) -> Result<Arrived, JpegFlaw> {
    let picture = Picture::read(file)?;
    let bodies = picture.split(BODY_MOST)?;
    let parts = [picture.quantisation(), picture.huffman()].into_iter();
    let (mut stream, mut ends) = (Vec::new(), Vec::new());
    for part in parts.chain(bodies.iter().map(Vec::as_slice)) {
        stream.extend((part.len() as u16).to_be_bytes());
        stream.extend(part);
        let heads = pieces(part).flatten().map(|(head, _)| head);
        // Tables have no pieces.
        let heads: Vec<PieceHead> = if ends.len() < 2 {
            Vec::new()
        } else {
            heads.filter(PieceHead::is_of_units).collect()
        };
        ends.push((stream.len(), heads));
    }
    let mut world = World::<M>::new(seed);
    world.network_mut().set_conditions(link.clone());
    let [here, there] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let stack = |address| {
        let hosts = SimulatedHosts::new(address, TCP);
        let below = Over::new(hosts, SimulatedDatagrams::new(address, CREDIT));
        let secret = u128::from(seed).to_be_bytes();
        let config = Config { segment: SEGMENT, ..Config::new(secret) };
        Over::new(layer::<M>(config, seed), below)
    };
    let server = world.add(
        here,
        stack(here),
        Serving { stream: stream.clone(), sent: 0, credit: 0, asked: false },
    );
    let received = Received::default();
    let client = world.add(there, stack(there), Asking(received.clone()));
    let local = SocketAddr::new(here, 80).into();
    world.ask(server, StreamsRequest::Listen { listener: LISTENER, local });
    let awaits =
        StreamsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: CREDIT };
    world.ask(server, awaits);
    let begin = world.now();
    let open = StreamsRequest::Open {
        association: ASSOCIATION,
        remote: local,
        local: None,
        credit: CREDIT,
    };
    world.ask(client, open);
    let all = |_: &World<M>| received.borrow().octets.len() >= stream.len();
    let _ = world.run_until(all, MOST);
    let done = world.now().since(begin);
    let received = received.borrow();
    let when = |end: usize| {
        let first = received.times.partition_point(|(until, _)| *until < end);
        received.times.get(first).map(|(_, time)| time.since(begin))
    };
    let arrivals = ends.into_iter().flat_map(|(end, heads)| {
        when(end)
            .into_iter()
            .flat_map(move |time| heads.clone().into_iter().map(move |head| (time, head)))
    });
    Ok(Arrived { arrivals: arrivals.collect(), done, whole: received.octets == stream })
}

/// What a client has received, and how many octets it had at which time.
type Received = Rc<RefCell<Stream>>;

#[derive(Default)]
struct Stream {
    octets: Vec<u8>,
    times: Vec<(usize, Instant)>,
}

/// Asks for the picture once it is open.
struct Asking(Received);

impl<P: Protocol<Provides = Streams<M>>> Application<P> for Asking {
    fn hear(&mut self, cx: &Context, told: StreamsIndication<M>, asks: &mut Asks<P>) {
        match told {
            StreamsIndication::Opened { association, .. } => {
                let batch = M::with_headroom(64, b"picture.jpg").into();
                asks.push_back(StreamsRequest::Send {
                    association,
                    batch,
                    properties: Default::default(),
                });
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                let mut received = self.0.borrow_mut();
                let credit = Credit::of_octets(batch.octets());
                for message in batch {
                    let from = received.octets.len();
                    received.octets.resize(from + message.len(), 0);
                    message.copy_to(&mut received.octets[from..]);
                }
                let until = received.octets.len();
                received.times.push((until, cx.now()));
                asks.push_back(StreamsRequest::Credit { association, credit });
            }
            _ => {}
        }
    }
}

/// Sends the stream as far as there is credit, once it was asked for.
struct Serving {
    stream: Vec<u8>,
    sent: usize,
    credit: usize,
    asked: bool,
}

impl<P: Protocol<Provides = Streams<M>>> Application<P> for Serving {
    fn hear(&mut self, _: &Context, told: StreamsIndication<M>, asks: &mut Asks<P>) {
        match told {
            StreamsIndication::Opened { credit, .. } | StreamsIndication::Credit { credit, .. } => {
                self.credit = self.credit.saturating_add(credit.octets);
            }
            StreamsIndication::Delivered { .. } => self.asked = true,
            _ => {}
        }
        let count = self.credit.min(self.stream.len() - self.sent);
        if self.asked && count > 0 {
            let batch = M::with_headroom(64, &self.stream[self.sent..][..count]).into();
            self.sent += count;
            self.credit -= count;
            asks.push_back(StreamsRequest::Send {
                association: ASSOCIATION,
                batch,
                properties: Default::default(),
            });
        }
    }
}
