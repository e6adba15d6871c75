//! Our toy layers: the work of the sketch's layers, in the contract.

use stackwright_compose::Over;
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Facts, IndicationTo, Instant, Outlet, Protocol, RequestTo};
use stackwright_wire::{Message, SingleBuffer};

use crate::{Ends, NAME, PAYLOAD, ROOM, Rounds};

/// A layer with a header of so many octets, of which the first four are a sequence number.
///
/// It alters the word in place and has one exit, for the reason that stands in `stacks`. With the two exits of the
/// sketch's layers only the first few are inlined, and eight of them take about 1.3 times the sketch's time.
#[derive(Default)]
struct Layer<const HEADER: usize> {
    sequence: u32,
}

impl<const HEADER: usize> Protocol for Layer<HEADER> {
    const FACTS: Facts = Facts { header_room: HEADER, ..Facts::named("Layer") };
    type Provides = Datagrams<SingleBuffer>;
    type Uses = Datagrams<SingleBuffer>;

    #[inline]
    fn handle_request(&mut self, _: &Context, mut request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if let DatagramsRequest::Send { message, .. } = &mut request {
            let mut header = [0; HEADER];
            self.sequence = self.sequence.wrapping_add(1);
            header[..4].copy_from_slice(&self.sequence.to_be_bytes());
            message.push_front(HEADER).copy_from_slice(&header);
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
        if let DatagramsIndication::Delivered { message, .. } = &mut indication {
            if message.front(HEADER).is_none() {
                return;
            }
            message.advance(HEADER);
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
            let message = ends.risen.take().expect("what rose goes down again");
            stack.handle_request(cx, DatagramsRequest::Send { association: NAME, message }, ends);
            let message = ends.fallen.take().expect("what goes down arrives below");
            stack.handle_indication(cx, DatagramsIndication::Delivered { association: NAME, message }, ends);
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

type Two<Below> = Over<Layer<5>, Over<Layer<16>, Below>>;
type TwoMore<Below> = Over<Layer<20>, Over<Layer<17>, Below>>;

fn two<B: Protocol<Provides = Datagrams<SingleBuffer>>>(below: B) -> Two<B> {
    Over::new(Layer::default(), Over::new(Layer::default(), below))
}

fn two_more<B: Protocol<Provides = Datagrams<SingleBuffer>>>(below: B) -> TwoMore<B> {
    Over::new(Layer::default(), Over::new(Layer::default(), below))
}

fn last_two() -> Over<Layer<20>, Layer<17>> {
    Over::new(Layer::default(), Layer::default())
}

pub(crate) fn two_layers() -> Box<dyn Rounds> {
    subject(Over::new(Layer::<5>::default(), Layer::<16>::default()))
}

pub(crate) fn four_layers() -> Box<dyn Rounds> {
    subject(two(last_two()))
}

pub(crate) fn eight_layers() -> Box<dyn Rounds> {
    subject(two(two_more(two(last_two()))))
}
