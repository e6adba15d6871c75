//! What it costs to cross a layer: a static stack, and a graph of the same layers.

use std::hint::black_box;
use std::time::Instant as Clock;

use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Quality};
use stackwright_contract::words::InLane;
use stackwright_contract::{Context, Facts, Handle, IndicationTo, Outlet, Protocol, RequestTo};
use stackwright_wire::{Message, SingleBuffer};

use crate::problem::Problem;

const NAME: Handle = Handle { index: 0, generation: 0 };
const PAYLOAD: usize = 100;
const HEADROOM: usize = 128;
/// Rounds of one sample.
const ROUNDS: u32 = 8_192;

/// A layer with a header of so many octets, of which the first four are a number that goes up. It has two exits,
/// one for payload and one for every other word, as most layers are written.
#[derive(Default)]
struct Layer<const HEADER: usize> {
    number: u32,
}

impl<const HEADER: usize> Protocol for Layer<HEADER> {
    const FACTS: Facts = Facts { header_room: HEADER, ..Facts::named("layer") };
    type Provides = Datagrams<SingleBuffer>;
    type Uses = Datagrams<SingleBuffer>;

    #[inline]
    fn handle_request(&mut self, _: &Context, request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        match request {
            DatagramsRequest::Send { association, mut messages, quality } => {
                self.number = self.number.wrapping_add(1);
                let mut header = [0; HEADER];
                header[..4].copy_from_slice(&self.number.to_be_bytes());
                messages.single_mut().push_front(HEADER).copy_from_slice(&header);
                out.request(DatagramsRequest::Send { association, messages, quality });
            }
            other => out.request(other),
        }
    }

    #[inline]
    fn handle_indication(
        &mut self,
        _: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, mut messages, quality } => {
                let message = messages.single_mut();
                if message.front(HEADER).is_some() {
                    message.advance(HEADER);
                    out.indicate(DatagramsIndication::Delivered { association, messages, quality });
                }
            }
            other => out.indicate(other),
        }
    }
}

/// Something that sends messages down and up again.
pub(super) trait Rounds {
    /// Gives the seconds of one round.
    fn run(&mut self) -> Result<f64, Problem>;
}

/// What is above and below: it keeps the message that comes out.
#[derive(Default)]
struct Ends {
    fallen: Option<SingleBuffer>,
    risen: Option<SingleBuffer>,
}

impl Ends {
    fn new() -> Self {
        Ends { fallen: None, risen: Some(SingleBuffer::with_headroom(HEADROOM, &[7; PAYLOAD])) }
    }
}

impl<P> Outlet<P> for Ends
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    #[inline]
    fn indicate(&mut self, indication: DatagramsIndication<SingleBuffer>) {
        if let DatagramsIndication::Delivered { messages, .. } = indication {
            self.risen = Some(messages.into_single());
        }
    }

    #[inline]
    fn request(&mut self, request: DatagramsRequest<SingleBuffer>) {
        if let DatagramsRequest::Send { messages, .. } = request {
            self.fallen = Some(messages.into_single());
        }
    }
}

struct Fixed<P> {
    stack: P,
    cx: Context,
    ends: Ends,
}

impl<P> Rounds for Fixed<P>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>>,
{
    fn run(&mut self) -> Result<f64, Problem> {
        let Fixed { stack, cx, ends } = self;
        let begin = Clock::now();
        for _ in 0..ROUNDS {
            let messages = black_box(ends.risen.take()).ok_or_else(lost)?.into();
            stack.handle_request(
                cx,
                DatagramsRequest::Send { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            let messages = black_box(ends.fallen.take()).ok_or_else(lost)?.into();
            stack.handle_indication(
                cx,
                DatagramsIndication::Delivered { association: NAME, messages, quality: Quality::default() },
                ends,
            );
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(ROUNDS))
    }
}

fn lost() -> Problem {
    Problem::new("a stack has swallowed a message")
}

type Two = Over<Layer<20>, Layer<17>>;
type Four = Over<Layer<5>, Over<Layer<16>, Two>>;
type Eight = Over<Layer<5>, Over<Layer<16>, Over<Layer<20>, Over<Layer<17>, Four>>>>;

fn over<const HEADER: usize, L>(lower: L) -> Over<Layer<HEADER>, L>
where
    L: Protocol<Provides = Datagrams<SingleBuffer>>,
{
    Over::new(Layer::default(), lower)
}

fn two() -> Two {
    over(Layer::default())
}

fn four() -> Four {
    over(over(two()))
}

fn eight() -> Eight {
    over(over(over(over(four()))))
}

fn fixed_of<P>(stack: P) -> Box<dyn Rounds>
where
    P: Protocol<Provides = Datagrams<SingleBuffer>, Uses = Datagrams<SingleBuffer>> + 'static,
{
    Box::new(Fixed { stack, cx: Context::new(1), ends: Ends::new() })
}

/// So many layers as a static stack.
///
/// # Errors
/// Where there is no stack of so many.
pub(super) fn fixed(layers: usize) -> Result<Box<dyn Rounds>, Problem> {
    match layers {
        2 => Ok(fixed_of(two())),
        4 => Ok(fixed_of(four())),
        8 => Ok(fixed_of(eight())),
        _ => Err(Problem::usage(format!("there is no static stack of {layers} layers"))),
    }
}

type Woven = Graph<SingleBuffer, Datagrams<SingleBuffer>, Datagrams<SingleBuffer>>;

struct Weave {
    graph: Woven,
    cx: Context,
    ends: Ends,
}

/// The same ends around a graph.
struct Around<'a>(&'a mut Ends);

impl Outlet<Woven> for Around<'_> {
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

impl Rounds for Weave {
    fn run(&mut self) -> Result<f64, Problem> {
        let Weave { graph, cx, ends } = self;
        let begin = Clock::now();
        for _ in 0..ROUNDS {
            let messages = ends.risen.take().ok_or_else(lost)?.into();
            graph.handle_request(
                cx,
                DatagramsRequest::Send { association: NAME, messages, quality: Quality::default() },
                &mut Around(ends),
            );
            let messages = ends.fallen.take().ok_or_else(lost)?.into();
            let word =
                DatagramsIndication::Delivered { association: NAME, messages, quality: Quality::default() };
            graph.handle_indication(cx, InLane { lane: 0, word }, &mut Around(ends));
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(ROUNDS))
    }
}

/// So many of the same layers as a graph.
///
/// # Errors
/// Where they do not fit.
pub(super) fn woven(layers: usize) -> Result<Box<dyn Rounds>, Problem> {
    let mut builder = Builder::<SingleBuffer, Datagrams<SingleBuffer>>::new().top("0");
    for place in 0..layers {
        let name = place.to_string();
        // The last layers are those of the static stack.
        builder = match (place + 8 - layers) % 4 {
            0 => builder.protocol(&name, Layer::<5>::default()),
            1 => builder.protocol(&name, Layer::<16>::default()),
            2 => builder.protocol(&name, Layer::<20>::default()),
            _ => builder.protocol(&name, Layer::<17>::default()),
        };
        if place + 1 < layers {
            builder = builder.over(&(place + 1).to_string());
        }
    }
    let graph: Woven =
        builder.build().map_err(|why| Problem::new(format!("the layers do not fit: {why}")))?;
    Ok(Box::new(Weave { graph, cx: Context::new(1), ends: Ends::new() }))
}
