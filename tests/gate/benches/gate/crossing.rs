//! A message down through all layers and up again: stacks, and the same layers as a graph.

use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Quality};
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{
    Context, Facts, Handle, IndicationTo, Instant, Outlet, Protocol, RequestOf, RequestTo, Service,
};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_wire::{Message, SingleBuffer};

const ROUNDS: u64 = 1024;
/// Octets of payload.
const PAYLOAD: usize = 100;
/// Room for the headers of eight layers.
const ROOM: usize = 128;
const NAME: Handle = Handle { index: 0, generation: 0 };

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("crossing/stack/2", ROUNDS, || Rounds::new(two())));
    figures.push(Figure::new("crossing/stack/4", ROUNDS, || Rounds::new(Over::new(two(), two()))));
    figures.push(Figure::new("crossing/stack/8", ROUNDS, || {
        Rounds::new(Over::new(two(), Over::new(two(), Over::new(two(), two()))))
    }));
    for layers in [2, 4, 8] {
        figures.push(Figure::new(format!("crossing/graph/{layers}"), ROUNDS, move || {
            Rounds::new(woven(layers))
        }));
    }
}

fn two() -> Over<Layer<5>, Layer<16>> {
    Over::new(Layer::default(), Layer::default())
}

/// A layer with a header of so many octets, of which the first four are a number.
#[derive(Default)]
struct Layer<const HEADER: usize> {
    number: u32,
}

impl<const HEADER: usize> Protocol for Layer<HEADER> {
    const FACTS: Facts = Facts { header_room: HEADER, ..Facts::named("Layer") };
    type Provides = Datagrams<SingleBuffer>;
    type Uses = Datagrams<SingleBuffer>;

    #[inline]
    fn handle_request(&mut self, _: &Context, mut request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if let DatagramsRequest::Send { messages, .. } = &mut request {
            let message = messages.single_mut();
            self.number = self.number.wrapping_add(1);
            let header = message.push_front(HEADER);
            header.fill(0);
            header[..4].copy_from_slice(&self.number.to_be_bytes());
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
        if let DatagramsIndication::Delivered { messages, .. } = &mut indication {
            let message = messages.single_mut();
            if message.front(HEADER).is_none() {
                return;
            }
            message.advance(HEADER);
        }
        out.indicate(indication);
    }
}

type Woven = Graph<SingleBuffer, Datagrams<SingleBuffer>, Datagrams<SingleBuffer>>;

fn woven(layers: usize) -> Woven {
    let mut builder = Builder::new().top("0");
    for number in 0..layers {
        let name = number.to_string();
        builder = if number % 2 == 0 {
            builder.protocol(&name, Layer::<5>::default())
        } else {
            builder.protocol(&name, Layer::<16>::default())
        };
        if number + 1 < layers {
            builder = builder.over(&(number + 1).to_string());
        }
    }
    builder.build().expect("layers of one kind fit on each other")
}

/// What is below: datagrams, which a graph has in a lane.
trait Below: Service {
    fn arrived(word: DatagramsIndication<SingleBuffer>) -> Self::Indication;
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
        if let DatagramsIndication::Delivered { messages, .. } = indication {
            self.message = Some(messages.into_single());
        }
    }

    #[inline]
    fn request(&mut self, request: RequestOf<P>) {
        if let DatagramsRequest::Send { messages, .. } = P::Uses::left(request) {
            self.message = Some(messages.into_single());
        }
    }
}

/// One message again and again.
struct Rounds<P> {
    stack: P,
    cx: Context,
    ends: Ends,
}

impl<P> Rounds<P> {
    fn new(stack: P) -> Self {
        let message = SingleBuffer::with_headroom(ROOM, &[7; PAYLOAD]);
        Rounds { stack, cx: Context::new(1), ends: Ends { message: Some(message) } }
    }
}

impl<P: Protocol<Provides = Datagrams<SingleBuffer>, Uses: Below>> Subject for Rounds<P> {
    fn work(&mut self) -> u64 {
        let Rounds { stack, cx, ends } = self;
        let mut octets = 0;
        for round in 0..ROUNDS {
            cx.set_now(Instant::from_nanoseconds(round));
            let messages = ends.message.take().expect("what rose goes down again").into();
            stack.handle_request(
                cx,
                DatagramsRequest::Send { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            let messages = ends.message.take().expect("what falls arrives below").into();
            let word =
                DatagramsIndication::Delivered { association: NAME, messages, quality: Quality::default() };
            stack.handle_indication(cx, P::Uses::arrived(word), ends);
            octets += ends.message.as_ref().map_or(0, Message::len);
        }
        assert_eq!(octets, ROUNDS as usize * PAYLOAD, "every round ends with the payload");
        octets as u64
    }
}
