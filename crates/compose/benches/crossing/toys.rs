//! Our toy layers: the work of the sketch's layers, in the contract.

use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Quality};
use stackwright_contract::words::InLane;
use stackwright_contract::{Context, Facts, IndicationTo, Instant, Outlet, Protocol, RequestTo};
use stackwright_wire::{Message, SingleBuffer};

use crate::{Ends, NAME, PAYLOAD, ROOM, Rounds};

/// A layer with a header of so many octets, of which the first four are a sequence number.
///
/// It is written in both of the ways that a layer may be: with two exits, as the sketch's are, one for payload and one for
/// every other word; or with one, through which the altered word leaves. What is called from one place the compiler
/// inlines more gladly.
#[derive(Default)]
struct Layer<const HEADER: usize, const EXITS: usize> {
    sequence: u32,
}

impl<const HEADER: usize, const EXITS: usize> Layer<HEADER, EXITS> {
    #[inline]
    fn wrap(&mut self, message: &mut SingleBuffer) {
        let mut header = [0; HEADER];
        self.sequence = self.sequence.wrapping_add(1);
        header[..4].copy_from_slice(&self.sequence.to_be_bytes());
        message.push_front(HEADER).copy_from_slice(&header);
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
    fn handle_request(&mut self, _: &Context, mut request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if EXITS == 2 {
            match request {
                DatagramsRequest::Send { association, mut messages, quality } => {
                    self.wrap(messages.single_mut());
                    out.request(DatagramsRequest::Send { association, messages, quality });
                }
                other => out.request(other),
            }
            return;
        }
        if let DatagramsRequest::Send { messages, .. } = &mut request {
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
                DatagramsIndication::Delivered { association, mut messages, quality } => {
                    if unwrap(messages.single_mut(), HEADER) {
                        out.indicate(DatagramsIndication::Delivered { association, messages, quality });
                    }
                }
                other => out.indicate(other),
            }
            return;
        }
        if let DatagramsIndication::Delivered { messages, .. } = &mut indication
            && !unwrap(messages.single_mut(), HEADER)
        {
            return;
        }
        out.indicate(indication);
    }
}

struct Subject<P> {
    stack: P,
    cx: Context,
    ends: Ends,
    tick: u64,
}

impl<P> Rounds for Subject<P>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    fn run(&mut self, rounds: u64) -> usize {
        let Subject { stack, cx, ends, tick } = self;
        let mut octets = 0;
        for _ in 0..rounds {
            *tick += 1;
            cx.set_now(Instant::from_nanoseconds(*tick));
            let messages = ends.risen.take().expect("what rose goes down again").into();
            stack.handle_request(
                cx,
                DatagramsRequest::Send { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            let messages = ends.fallen.take().expect("what goes down arrives below").into();
            stack.handle_indication(
                cx,
                DatagramsIndication::Delivered { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            octets += ends.risen.as_ref().map_or(0, Message::len);
        }
        octets
    }
}

fn subject<P>(stack: P) -> Box<dyn Rounds>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>> + 'static,
{
    let ends = Ends { fallen: None, risen: Some(SingleBuffer::with_headroom(ROOM, &[7; PAYLOAD])) };
    Box::new(Subject { stack, cx: Context::new(1), ends, tick: 0 })
}

type Two<const EXITS: usize, Below> = Over<Layer<5, EXITS>, Over<Layer<16, EXITS>, Below>>;
type TwoMore<const EXITS: usize, Below> = Over<Layer<20, EXITS>, Over<Layer<17, EXITS>, Below>>;

fn two<const EXITS: usize, B: Protocol<Provides = Datagrams<SingleBuffer>>>(below: B) -> Two<EXITS, B> {
    Over::new(Layer::default(), Over::new(Layer::default(), below))
}

fn two_more<const EXITS: usize, B: Protocol<Provides = Datagrams<SingleBuffer>>>(
    below: B,
) -> TwoMore<EXITS, B> {
    Over::new(Layer::default(), Over::new(Layer::default(), below))
}

fn last_two<const EXITS: usize>() -> Over<Layer<20, EXITS>, Layer<17, EXITS>> {
    Over::new(Layer::default(), Layer::default())
}

pub(crate) fn two_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    subject(Over::new(Layer::<5, EXITS>::default(), Layer::<16, EXITS>::default()))
}

pub(crate) fn four_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    subject(two::<EXITS, _>(last_two::<EXITS>()))
}

pub(crate) fn eight_layers<const EXITS: usize>() -> Box<dyn Rounds> {
    subject(two::<EXITS, _>(two_more::<EXITS, _>(two::<EXITS, _>(last_two::<EXITS>()))))
}

/// The same layers in a graph: each behind a box, each word as a word of any service.
struct Woven {
    builder: Builder<SingleBuffer, Datagrams<SingleBuffer>>,
    count: usize,
}

type ToyGraph = Graph<SingleBuffer, Datagrams<SingleBuffer>, Datagrams<SingleBuffer>>;

impl Woven {
    fn new() -> Self {
        Woven { builder: Builder::new().top("0"), count: 0 }
    }

    fn layer<const HEADER: usize>(self, last: bool) -> Self {
        let Woven { mut builder, count } = self;
        builder = builder.protocol(&count.to_string(), Layer::<HEADER, 1>::default());
        if !last {
            builder = builder.over(&(count + 1).to_string());
        }
        Woven { builder, count: count + 1 }
    }

    fn four(self, last: bool) -> Self {
        self.layer::<5>(false).layer::<16>(false).layer::<20>(false).layer::<17>(last)
    }

    fn subject(self) -> Box<dyn Rounds> {
        let graph: ToyGraph = self.builder.build().expect("the same layers fit");
        let ends = Ends { fallen: None, risen: Some(SingleBuffer::with_headroom(ROOM, &[7; PAYLOAD])) };
        Box::new(WovenSubject { graph, cx: Context::new(1), ends, tick: 0 })
    }
}

struct WovenSubject {
    graph: ToyGraph,
    cx: Context,
    ends: Ends,
    tick: u64,
}

/// The same ends, around a graph.
struct Around<'a>(&'a mut Ends);

impl Outlet<ToyGraph> for Around<'_> {
    #[inline]
    fn indicate(&mut self, indication: DatagramsIndication<SingleBuffer>) {
        if let DatagramsIndication::Delivered { messages, .. } = indication {
            self.0.risen = Some(messages.into_single());
        }
    }

    #[inline]
    fn request(&mut self, request: InLane<DatagramsRequest<SingleBuffer>>) {
        if let DatagramsRequest::Send { messages, .. } = request.word {
            self.0.fallen = Some(messages.into_single());
        }
    }
}

impl Rounds for WovenSubject {
    fn run(&mut self, rounds: u64) -> usize {
        let WovenSubject { graph, cx, ends, tick } = self;
        let mut octets = 0;
        for _ in 0..rounds {
            *tick += 1;
            cx.set_now(Instant::from_nanoseconds(*tick));
            let messages = ends.risen.take().expect("what rose goes down again").into();
            let word = DatagramsRequest::Send { association: NAME, messages, quality: Quality::default() };
            graph.handle_request(cx, word, &mut Around(ends));
            let messages = ends.fallen.take().expect("what goes down arrives below").into();
            let word =
                DatagramsIndication::Delivered { association: NAME, messages, quality: Quality::default() };
            graph.handle_indication(cx, InLane { lane: 0, word }, &mut Around(ends));
            octets += ends.risen.as_ref().map_or(0, Message::len);
        }
        octets
    }
}

pub(crate) fn woven(layers: usize) -> Box<dyn Rounds> {
    match layers {
        2 => Woven::new().layer::<5>(false).layer::<16>(true).subject(),
        4 => Woven::new().four(true).subject(),
        _ => Woven::new().four(false).four(true).subject(),
    }
}
