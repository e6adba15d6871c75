//! Toy layers, and a message that goes down and up through stacks and graphs of them. The
//! instruction gate, the benchmark of composition and the lab measure by them what a crossing
//! costs.

#![forbid(unsafe_code)]

mod filters;

pub use filters::{Dropper, Tally, Xor};
use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::ask::{Ask, Question, ask_behind_header};
use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{
    Context, Facts, Handle, IndicationTo, Instant, Outlet, Protocol, RequestOf, RequestTo, Service,
};
use stackwright_wire::{Message, SingleBuffer};

/// The payload of the message, in octets.
pub const PAYLOAD: usize = 100;
/// Room for the headers of eight layers.
const HEADROOM: usize = 128;
const NAME: Handle = Handle { index: 0, generation: 0 };

/// A layer with a header of `HEADER` octets, of which the first four are a number.
///
/// It is written in both of the ways that a layer may be: with two exits, one for payload and one
/// for every other word; or with one, through which the altered word leaves. The compiler rather
/// inlines what is called from one place.
#[derive(Default)]
pub struct Layer<const HEADER: usize, const EXITS: usize> {
    number: u32,
}

impl<const HEADER: usize, const EXITS: usize> Layer<HEADER, EXITS> {
    #[inline]
    fn wrap(&mut self, message: &mut SingleBuffer) {
        self.number = self.number.wrapping_add(1);
        let header = message.push_front(HEADER);
        header.fill(0);
        header[..4].copy_from_slice(&self.number.to_be_bytes());
    }
}

#[inline]
fn unwrap(message: &mut SingleBuffer, header: usize) -> bool {
    let whole = message.front(header).is_some();
    if whole {
        message.advance(header);
    }
    whole
}

impl<const HEADER: usize, const EXITS: usize> Protocol for Layer<HEADER, EXITS> {
    const FACTS: Facts = Facts { header_room: HEADER, ..Facts::named("Layer") };
    type Provides = Datagrams<SingleBuffer>;
    type Uses = Datagrams<SingleBuffer>;

    #[inline]
    fn handle_request(
        &mut self,
        _: &Context,
        mut request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if EXITS == 2 {
            match request {
                DatagramsRequest::Send { association, batch: mut messages, properties } => {
                    self.wrap(messages.single_mut());
                    out.request(DatagramsRequest::Send {
                        association,
                        batch: messages,
                        properties,
                    });
                }
                other => out.request(other),
            }
            return;
        }
        if let DatagramsRequest::Send { batch: messages, .. } = &mut request {
            self.wrap(messages.single_mut());
        }
        out.request(request);
    }

    #[inline]
    fn handle_indication(
        &mut self,
        _: &Context,
        mut indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if EXITS == 2 {
            match indication {
                DatagramsIndication::Delivered { association, batch: mut messages, properties } => {
                    if unwrap(messages.single_mut(), HEADER) {
                        out.indicate(DatagramsIndication::Delivered {
                            association,
                            batch: messages,
                            properties,
                        });
                    }
                }
                other => out.indicate(other),
            }
            return;
        }
        if let DatagramsIndication::Delivered { batch: messages, .. } = &mut indication
            && !unwrap(messages.single_mut(), HEADER)
        {
            return;
        }
        out.indicate(indication);
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        ask_behind_header::<SingleBuffer, _>(HEADER, about, question, below);
    }
}

/// Puts a layer over `lower`.
pub fn over<const HEADER: usize, const EXITS: usize, L>(lower: L) -> Over<Layer<HEADER, EXITS>, L>
where
    L: Protocol<Provides = Datagrams<SingleBuffer>>,
{
    Over::new(Layer::default(), lower)
}

/// Layers in a graph: each behind a box, each word as a word of any service.
pub type Woven = Graph<SingleBuffer, Datagrams<SingleBuffer>, Datagrams<SingleBuffer>>;

/// Layers with these headers as a graph, from the top.
///
/// # Panics
/// Where a header has neither 5, 16, 17 nor 20 octets.
pub fn woven<const EXITS: usize>(headers: &[usize]) -> Woven {
    let mut builder = Builder::new().top("0");
    for (place, header) in headers.iter().enumerate() {
        let name = place.to_string();
        builder = match header {
            5 => builder.protocol(&name, Layer::<5, EXITS>::default()),
            16 => builder.protocol(&name, Layer::<16, EXITS>::default()),
            17 => builder.protocol(&name, Layer::<17, EXITS>::default()),
            20 => builder.protocol(&name, Layer::<20, EXITS>::default()),
            _ => panic!("no layer has a header of {header} octets"),
        };
        if place + 1 < headers.len() {
            builder = builder.over(&(place + 1).to_string());
        }
    }
    builder.build().expect("layers of one kind fit on each other")
}

/// What is below: datagrams, which a graph has in a lane.
pub trait Below: Service {
    /// Returns a datagram as it comes from below.
    fn arrived(word: DatagramsIndication<SingleBuffer>) -> Self::Indication;
    /// Returns the datagram that goes down.
    fn left(word: Self::Request) -> DatagramsRequest<SingleBuffer>;
}

impl Below for Datagrams<SingleBuffer> {
    #[inline]
    fn arrived(word: DatagramsIndication<SingleBuffer>) -> Self::Indication {
        word
    }

    #[inline]
    fn left(word: Self::Request) -> DatagramsRequest<SingleBuffer> {
        word
    }
}

impl Below for Outside<Datagrams<SingleBuffer>> {
    #[inline]
    fn arrived(word: DatagramsIndication<SingleBuffer>) -> Self::Indication {
        InLane { lane: 0, word }
    }

    #[inline]
    fn left(word: Self::Request) -> DatagramsRequest<SingleBuffer> {
        word.word
    }
}

/// What is above and below: it keeps the message that comes out.
struct Ends {
    message: Option<SingleBuffer>,
}

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Outlet<P> for Ends {
    #[inline]
    fn indicate(&mut self, indication: DatagramsIndication<SingleBuffer>) {
        if let DatagramsIndication::Delivered { batch: messages, .. } = indication {
            self.message = Some(messages.into_single());
        }
    }

    #[inline]
    fn request(&mut self, request: RequestOf<P>) {
        if let DatagramsRequest::Send { batch: messages, .. } = P::Uses::left(request) {
            self.message = Some(messages.into_single());
        }
    }
}

/// One message that goes down and up again and again.
pub struct Rounds<P> {
    stack: P,
    cx: Context,
    ends: Ends,
}

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Rounds<P> {
    /// Sends it through this stack or graph.
    pub fn new(stack: P) -> Self {
        let message = SingleBuffer::with_headroom(HEADROOM, &[7; PAYLOAD]);
        Rounds { stack, cx: Context::new(1), ends: Ends { message: Some(message) } }
    }

    /// Goes `rounds` times and returns how many octets rose. At both ends, `pass` hands the message
    /// on; it may hide it from the optimizer.
    ///
    /// # Panics
    /// Where a layer swallows the message.
    #[inline]
    pub fn run(&mut self, rounds: u64, pass: impl Fn(SingleBuffer) -> SingleBuffer) -> usize {
        let Rounds { stack, cx, ends } = self;
        let mut octets = 0;
        for round in 0..rounds {
            cx.set_now(Instant::from_nanoseconds(round));
            let messages = pass(ends.message.take().expect("what rose goes down again")).into();
            let word = DatagramsRequest::Send {
                association: NAME,
                batch: messages,
                properties: MessageProperties::default(),
            };
            stack.handle_request(cx, word, ends);
            let messages = pass(ends.message.take().expect("what falls arrives below")).into();
            let word = DatagramsIndication::Delivered {
                association: NAME,
                batch: messages,
                properties: MessageProperties::default(),
            };
            stack.handle_indication(cx, P::Uses::arrived(word), ends);
            octets += ends.message.as_ref().map_or(0, Message::len);
        }
        octets
    }
}
