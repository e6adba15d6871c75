//! The bare shape that our stacks are measured against: outlets, a combinator and layers, and nothing besides.
//!
//! Its message is a vector and an index, its context an instant, its words are ours with that message. There are no
//! facts, no deadlines, no limit of turns. It stands here as it was first measured and must not be made slower.

use std::collections::VecDeque;

use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Quality};

use crate::{NAME, PAYLOAD, ROOM, Rounds};

#[derive(Clone, Copy)]
struct Instant(#[allow(dead_code, reason = "carried through the layers, asked by none")] u64);

trait Service {
    type Request;
    type Indication;
}

struct Datagrams;
type Request = DatagramsRequest<Message>;
type Indication = DatagramsIndication<Message>;

impl Service for Datagrams {
    type Request = Request;
    type Indication = Indication;
}

trait Protocol {
    type Provides: Service;
    type Uses: Service;
    fn handle_request(&mut self, now: Instant, request: RequestTo<Self>, out: &mut impl Outlet<Self>);
    fn handle_indication(
        &mut self,
        now: Instant,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    );
}

trait Outlet<P: Protocol + ?Sized> {
    fn indicate(&mut self, indication: IndicationOf<P>);
    fn request(&mut self, request: RequestOf<P>);
}

type RequestTo<P> = <<P as Protocol>::Provides as Service>::Request;
type IndicationTo<P> = <<P as Protocol>::Uses as Service>::Indication;
type RequestOf<P> = <<P as Protocol>::Uses as Service>::Request;
type IndicationOf<P> = <<P as Protocol>::Provides as Service>::Indication;

struct Over<U: Protocol, L: Protocol> {
    upper: U,
    lower: L,
    joint: Joint<U, L>,
}

struct Joint<U: Protocol, L: Protocol> {
    rising: VecDeque<IndicationOf<L>>,
    sinking: VecDeque<RequestOf<U>>,
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>> Over<U, L> {
    fn new(upper: U, lower: L) -> Self {
        Over { upper, lower, joint: Joint { rising: VecDeque::new(), sinking: VecDeque::new() } }
    }

    fn settle(&mut self, now: Instant, out: &mut impl Outlet<Self>) {
        loop {
            if let Some(indication) = self.joint.rising.pop_front() {
                let mut heard = UpperHeard { joint: &mut self.joint, out };
                self.upper.handle_indication(now, indication, &mut heard);
            } else if let Some(request) = self.joint.sinking.pop_front() {
                let mut heard = LowerHeard { joint: &mut self.joint, out };
                self.lower.handle_request(now, request, &mut heard);
            } else {
                return;
            }
        }
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>> Protocol for Over<U, L> {
    type Provides = U::Provides;
    type Uses = L::Uses;

    #[inline]
    fn handle_request(&mut self, now: Instant, request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        let Over { upper, lower, joint } = self;
        upper.handle_request(now, request, &mut UpperSpeaks { now, lower, joint, out });
        self.settle(now, out);
    }

    #[inline]
    fn handle_indication(
        &mut self,
        now: Instant,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let Over { upper, lower, joint } = self;
        lower.handle_indication(now, indication, &mut LowerSpeaks { now, upper, joint, out });
        self.settle(now, out);
    }
}

struct UpperSpeaks<'a, U: Protocol, L: Protocol, O> {
    now: Instant,
    lower: &'a mut L,
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
}

struct LowerHeard<'a, U: Protocol, L: Protocol, O> {
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
}

struct LowerSpeaks<'a, U: Protocol, L: Protocol, O> {
    now: Instant,
    upper: &'a mut U,
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
}

struct UpperHeard<'a, U: Protocol, L: Protocol, O> {
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<U>
    for UpperSpeaks<'_, U, L, O>
{
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<U>) {
        self.out.indicate(indication);
    }

    #[inline]
    fn request(&mut self, request: RequestOf<U>) {
        self.lower.handle_request(self.now, request, &mut LowerHeard { joint: self.joint, out: self.out });
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<L>
    for LowerHeard<'_, U, L, O>
{
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<L>) {
        self.joint.rising.push_back(indication);
    }

    #[inline]
    fn request(&mut self, request: RequestOf<L>) {
        self.out.request(request);
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<L>
    for LowerSpeaks<'_, U, L, O>
{
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<L>) {
        let mut heard = UpperHeard { joint: self.joint, out: self.out };
        self.upper.handle_indication(self.now, indication, &mut heard);
    }

    #[inline]
    fn request(&mut self, request: RequestOf<L>) {
        self.out.request(request);
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<U>
    for UpperHeard<'_, U, L, O>
{
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<U>) {
        self.out.indicate(indication);
    }

    #[inline]
    fn request(&mut self, request: RequestOf<U>) {
        self.joint.sinking.push_back(request);
    }
}

struct Message {
    octets: Vec<u8>,
    start: usize,
}

impl Message {
    fn new(payload: &[u8]) -> Self {
        let mut octets = vec![0; ROOM];
        octets.extend_from_slice(payload);
        Message { octets, start: ROOM }
    }

    fn push_header(&mut self, header: &[u8]) {
        self.start -= header.len();
        self.octets[self.start..self.start + header.len()].copy_from_slice(header);
    }

    fn pull_header(&mut self, length: usize) -> Option<&[u8]> {
        let header = self.octets.get(self.start..self.start + length)?;
        self.start += length;
        Some(header)
    }

    fn len(&self) -> usize {
        self.octets.len() - self.start
    }
}

/// A layer with a header of so many octets, of which the first four are a sequence number.
#[derive(Default)]
struct Layer<const HEADER: usize> {
    sequence: u32,
}

impl<const HEADER: usize> Protocol for Layer<HEADER> {
    type Provides = Datagrams;
    type Uses = Datagrams;

    #[inline]
    fn handle_request(&mut self, _: Instant, request: Request, out: &mut impl Outlet<Self>) {
        match request {
            Request::Send { association, mut messages, quality } => {
                let mut header = [0; HEADER];
                self.sequence = self.sequence.wrapping_add(1);
                header[..4].copy_from_slice(&self.sequence.to_be_bytes());
                messages.single_mut().push_header(&header);
                out.request(Request::Send { association, messages, quality });
            }
            other => out.request(other),
        }
    }

    #[inline]
    fn handle_indication(&mut self, _: Instant, indication: Indication, out: &mut impl Outlet<Self>) {
        match indication {
            Indication::Delivered { association, mut messages, quality } => {
                if messages.single_mut().pull_header(HEADER).is_some() {
                    out.indicate(Indication::Delivered { association, messages, quality });
                }
            }
            other => out.indicate(other),
        }
    }
}

struct Ends {
    fallen: Option<Message>,
    risen: Option<Message>,
}

impl<P: Protocol<Provides = Datagrams, Uses = Datagrams>> Outlet<P> for Ends {
    fn indicate(&mut self, indication: Indication) {
        if let Indication::Delivered { messages, .. } = indication {
            self.risen = Some(messages.into_single());
        }
    }

    fn request(&mut self, request: Request) {
        if let Request::Send { messages, .. } = request {
            self.fallen = Some(messages.into_single());
        }
    }
}

struct Subject<P> {
    stack: P,
    ends: Ends,
    tick: u64,
}

impl<P: Protocol<Provides = Datagrams, Uses = Datagrams>> Rounds for Subject<P> {
    fn run(&mut self, rounds: u64) -> usize {
        let Subject { stack, ends, tick } = self;
        let mut octets = 0;
        for _ in 0..rounds {
            *tick += 1;
            let messages = ends.risen.take().expect("what rose goes down again").into();
            stack.handle_request(
                Instant(*tick),
                Request::Send { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            let messages = ends.fallen.take().expect("what goes down arrives below").into();
            stack.handle_indication(
                Instant(*tick),
                Indication::Delivered { association: NAME, messages, quality: Quality::default() },
                ends,
            );
            octets += ends.risen.as_ref().map_or(0, Message::len);
        }
        octets
    }
}

fn subject<P: Protocol<Provides = Datagrams, Uses = Datagrams> + 'static>(stack: P) -> Box<dyn Rounds> {
    let ends = Ends { fallen: None, risen: Some(Message::new(&[7; PAYLOAD])) };
    Box::new(Subject { stack, ends, tick: 0 })
}

type Two<Below> = Over<Layer<5>, Over<Layer<16>, Below>>;
type TwoMore<Below> = Over<Layer<20>, Over<Layer<17>, Below>>;

fn two<B: Protocol<Provides = Datagrams>>(below: B) -> Two<B> {
    Over::new(Layer::default(), Over::new(Layer::default(), below))
}

fn two_more<B: Protocol<Provides = Datagrams>>(below: B) -> TwoMore<B> {
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
