//! What a generated base costs: a protocol on one against the same work written by hand.
//!
//! ```text
//! cargo bench -p stackwright-base --bench layer
//! ```
//!
//! A round is everything that one message causes in each direction: it is sent, room comes back;
//! one is delivered, room is given. 16 associations take turns on one association below.
//! Instructions are counted, and exact.

mod by_hand;
#[path = "../../../compose/benches/crossing/count.rs"]
mod count;
#[path = "../../tests/all/conformance/ports.rs"]
mod ports;

use std::net::SocketAddr;
use std::process::ExitCode;

use by_hand::ByHand;
use ports::{Label, Ports};
use stackwright_base::{Features, Layer, events, map, opening, session};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Handle, Outlet, Participant, PathLimits, Protocol};
use stackwright_wire::{Header, Message, SingleBuffer};

/// The kind of map on both sides.
pub(crate) type Maps = map::ChainedHashCached;

type Selected =
    Features<SingleBuffer, session::Present<Maps>, events::Absent, opening::ActivePassive>;

const ASSOCIATIONS: u32 = 16;
const PAYLOAD: usize = 100;
const ROOM: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };
/// At most this ratio of instructions.
const MOST: f64 = 1.02;

/// What is above and below: it keeps what comes out.
#[derive(Default)]
struct Ends {
    lower: Option<Handle>,
    fallen: Option<SingleBuffer>,
    risen: Option<SingleBuffer>,
    /// Octets of room that were given, either way: what nobody looked at would not be done.
    given: usize,
}

impl<P> Outlet<P> for Ends
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    #[inline]
    fn indicate(&mut self, indication: DatagramsIndication<SingleBuffer>) {
        match indication {
            DatagramsIndication::Delivered { batch: messages, .. } => {
                self.risen = Some(messages.into_single())
            }
            DatagramsIndication::Credit { credit, .. } => self.given += credit.octets,
            _ => {}
        }
    }

    #[inline]
    fn request(&mut self, request: DatagramsRequest<SingleBuffer>) {
        match request {
            DatagramsRequest::Send { batch: messages, .. } => {
                self.fallen = Some(messages.into_single())
            }
            DatagramsRequest::Credit { credit, .. } => self.given += credit.octets,
            DatagramsRequest::Open { association, .. } => self.lower = Some(association),
            _ => {}
        }
    }
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn participant(port: u16) -> Participant {
    SocketAddr::from(([10, 0, 0, 1], port)).into()
}

/// Opens the associations; gives the name below.
fn opened<P>(protocol: &mut P, cx: &Context, ends: &mut Ends) -> Handle
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    for index in 0..ASSOCIATIONS {
        let remote = participant(9);
        protocol.handle_request(
            cx,
            DatagramsRequest::Open { association: name(index), remote, credit: ROOM, local: None },
            ends,
        );
    }
    let association = ends.lower.expect("one is opened below");
    let (local, remote, credit) = (participant(7), participant(7), ROOM);
    protocol.handle_indication(
        cx,
        DatagramsIndication::Opened {
            association,
            local,
            remote,
            credit,
            path: PathLimits::UNBOUNDED,
        },
        ends,
    );
    association
}

/// So many rounds; gives how many octets moved, and were made room for.
#[inline(never)]
fn rounds<P>(mut protocol: P, rounds: u64) -> usize
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    let (cx, mut ends) = (Context::new(1), Ends::default());
    let below = opened(&mut protocol, &cx, &mut ends);
    let mut message = SingleBuffer::with_headroom(64, &[b'x'; PAYLOAD]);
    let mut octets = 0;
    for round in 0..rounds {
        // By fours, so that the cache of one entry is hit as often as not.
        let index = (round / 4 % u64::from(ASSOCIATIONS)) as u32;
        let association = name(index);
        protocol.handle_request(
            &cx,
            DatagramsRequest::Send {
                association,
                batch: message.into(),
                properties: MessageProperties::default(),
            },
            &mut ends,
        );
        let mut echo = ends.fallen.take().expect("it goes down");
        let credit = Credit { octets: echo.len(), messages: 1 };
        protocol.handle_indication(
            &cx,
            DatagramsIndication::Credit { association: below, credit },
            &mut ends,
        );
        // What went down comes back from the other side.
        let Label { source, destination } = echo.pull().expect("a label");
        echo.push(&Label { source: destination, destination: source });
        protocol.handle_indication(
            &cx,
            DatagramsIndication::Delivered {
                association: below,
                batch: echo.into(),
                properties: MessageProperties::default(),
            },
            &mut ends,
        );
        message = ends.risen.take().expect("it goes up");
        let credit = Credit { octets: message.len(), messages: 1 };
        protocol.handle_request(&cx, DatagramsRequest::Credit { association, credit }, &mut ends);
        octets += message.len();
    }
    octets + ends.given
}

fn subject(which: &str, count: u64) -> usize {
    match which {
        "generated" => rounds(Layer::new(Ports::<Selected>::default(), 1), count),
        "by hand" => rounds(ByHand::default(), count),
        _ => panic!("there is no {which}"),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [count::ALONE, which, number] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        std::hint::black_box(subject(which, number.parse().expect("a number of rounds")));
        return ExitCode::SUCCESS;
    }
    assert_eq!(subject("generated", 1000), subject("by hand", 1000), "both move the same");
    let allocated = |which| {
        let (once, twice) = (
            count::allocations(|| assert!(subject(which, 1000) > 0)),
            count::allocations(|| assert!(subject(which, 2000) > 0)),
        );
        (twice - once) as f64 / 1000.0
    };
    println!(
        "allocations a round: generated {}, by hand {}",
        allocated("generated"),
        allocated("by hand")
    );
    let counted = ["generated", "by hand"].map(|which| count::instructions(which, 4096));
    let [Some(generated), Some(by_hand)] = counted else {
        println!("instructions were not counted: there is no valgrind here");
        return ExitCode::SUCCESS;
    };
    let ratio = generated / by_hand;
    let met = ratio <= MOST && allocated("generated") == 0.0;
    println!(
        "instructions a round, headers of {} octets: generated {generated:.1}, by hand {by_hand:.1}",
        Label::LENGTH
    );
    println!("ratio {ratio:.3}, at most {MOST}: {}", if met { "met" } else { "MISSED" });
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
