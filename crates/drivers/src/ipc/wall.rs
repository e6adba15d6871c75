//! Both sides around one stack, without a socket and a process between them: for tests.

use std::collections::VecDeque;
use std::env;
use std::ops::Deref;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Batches, Context, Either, Facts, Guarantees, Handle, IndicationOf, IndicationTo, Instant,
    NameAbove, Outlet, Participant, PathLimits, Protocol, RequestOf,
};
use stackwright_wire::Message;

use super::word::Crossing;
use super::{Near, Quota, StackHost};

const HERE: Participant = Participant::OTHER_END;

/// A stack as an application has it whose stack is in a server. Each word crosses as octets, at
/// once.
pub struct Wall<T: Crossing, S> {
    sides: Option<Box<Sides<T>>>,
    stack: S,
}

struct Sides<T: Crossing> {
    near: Near<T>,
    host: StackHost<T>,
    /// The names of the line, of the application and of the host.
    lines: [Option<Handle>; 2],
    to_near: VecDeque<StreamsIndication<T::Message>>,
    to_host: VecDeque<Either<AssociationIndication<T>, StreamsIndication<T::Message>>>,
    to_stack: VecDeque<AssociationRequest<T>>,
}

/// What a part says: up, and down.
struct Said<P: Protocol>(Vec<IndicationOf<P>>, Vec<RequestOf<P>>);

impl<P: Protocol> Said<P> {
    fn by(act: impl FnOnce(&mut Self)) -> Self {
        let mut said = Said(Vec::new(), Vec::new());
        act(&mut said);
        said
    }
}

impl<P: Protocol> Outlet<P> for Said<P> {
    fn indicate(&mut self, indication: IndicationOf<P>) {
        self.0.push(indication);
    }

    fn request(&mut self, request: RequestOf<P>) {
        self.1.push(request);
    }
}

impl<T: Crossing, S: Protocol<Provides = T>> Wall<T, S> {
    /// Puts a stack behind a wall.
    pub fn around(stack: S) -> Self {
        let (near, host) = (Near::default(), StackHost::new(Guarantees::ABSENT, Quota::default()));
        let (to_near, to_host, to_stack) = Default::default();
        let sides = Sides { near, host, lines: [None; 2], to_near, to_host, to_stack };
        Wall { sides: Some(Box::new(sides)), stack }
    }

    /// Puts a stack behind a wall where the environment says `PLACEMENT=server`, and else behind
    /// none.
    pub fn placed(stack: S) -> Self {
        match env::var("PLACEMENT").as_deref() {
            Ok("server") => Self::around(stack),
            _ => Wall { sides: None, stack },
        }
    }
}

impl<T: Crossing, S> Deref for Wall<T, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stack
    }
}

impl<T: Crossing> Sides<T> {
    fn near<S>(
        &mut self,
        out: &mut impl Outlet<Wall<T, S>>,
        act: impl FnOnce(&mut Near<T>, &mut Said<Near<T>>),
    ) where
        S: Protocol<Provides = T>,
    {
        let said = Said::by(|said| act(&mut self.near, said));
        said.0.into_iter().for_each(|word| out.indicate(word));
        for request in said.1 {
            if let StreamsRequest::Open { association, .. } = request {
                self.lines[0] = Some(association);
                let [near, host] = self.lines.map(|line| line.expect("both are there"));
                self.to_near.push_back(opened(near));
                self.to_host.push_back(Either::Right(opened(host)));
            } else {
                self.to_host.extend(across(request, self.lines[1]).map(Either::Right));
            }
        }
    }

    fn host(&mut self, act: impl FnOnce(&mut StackHost<T>, &mut Said<StackHost<T>>)) {
        for request in Said::by(|said| act(&mut self.host, said)).1 {
            match request {
                Either::Left(request) => self.to_stack.push_back(request),
                Either::Right(StreamsRequest::Listen { listener, .. }) => {
                    let word = StreamsIndication::Listening { listener, local: HERE };
                    self.to_host.push_back(Either::Right(word));
                }
                Either::Right(StreamsRequest::Await { association, .. }) => {
                    self.lines[1].get_or_insert(association);
                }
                Either::Right(request) => self.to_near.extend(across(request, self.lines[0])),
            }
        }
    }
}

impl<T: Crossing, S: Protocol<Provides = T>> Wall<T, S> {
    /// Has the stack act, and hands on what it says.
    fn stack(&mut self, out: &mut impl Outlet<Self>, act: impl FnOnce(&mut S, &mut Said<S>)) {
        let said = Said::by(|said| act(&mut self.stack, said));
        match &mut self.sides {
            Some(sides) => sides.to_host.extend(said.0.into_iter().map(Either::Left)),
            None => said.0.into_iter().for_each(|word| out.indicate(word)),
        }
        said.1.into_iter().for_each(|request| out.request(request));
    }

    /// Has everything cross that was said.
    fn settle(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(sides) = &mut self.sides {
            if let Some(word) = sides.to_stack.pop_front() {
                self.stack(out, |stack, said| stack.handle_request(cx, word, said));
            } else if let Some(word) = sides.to_host.pop_front() {
                sides.host(|host, said| host.handle_indication(cx, word, said));
            } else if let Some(word) = sides.to_near.pop_front() {
                sides.near(out, |near, said| near.handle_indication(cx, word, said));
            } else if sides.host.wants_flush() {
                sides.host(|host, said| host.flush(cx, said));
            } else if sides.near.wants_flush() {
                sides.near(out, |near, said| near.flush(cx, said));
            } else {
                return;
            }
        }
    }
}

fn opened<M: Message>(association: Handle) -> StreamsIndication<M> {
    let (local, remote, credit) = (HERE, HERE, Credit::of_octets(100_000));
    let path = PathLimits::UNBOUNDED;
    StreamsIndication::Opened { association, local, remote, credit, path }
}

/// Returns what the other end of the line is told.
fn across<M: Message>(
    request: StreamsRequest<M>,
    there: Option<Handle>,
) -> Option<StreamsIndication<M>> {
    let association = there?;
    Some(match request {
        StreamsRequest::Send { batch, properties, .. } => {
            StreamsIndication::Delivered { association, batch, properties }
        }
        StreamsRequest::Credit { credit, .. } => StreamsIndication::Credit { association, credit },
        _ => panic!("a side gives the other one up"),
    })
}

impl<T: Crossing, S: Protocol<Provides = T>> Protocol for Wall<T, S> {
    const FACTS: Facts = Facts { reads_payload: true, ..S::FACTS };
    const BATCHES: Batches = S::BATCHES;
    type Provides = T;
    type Uses = S::Uses;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: AssociationRequest<T>,
        out: &mut impl Outlet<Self>,
    ) {
        self.settle(cx, out);
        match &mut self.sides {
            Some(sides) => sides.near(out, |near, said| near.handle_request(cx, request, said)),
            None => self.stack(out, |stack, said| stack.handle_request(cx, request, said)),
        }
        self.settle(cx, out);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.stack(out, |stack, said| stack.handle_indication(cx, word, said));
        self.settle(cx, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.stack(out, |stack, said| stack.handle_timeout(cx, said));
        self.settle(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.stack.next_deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.stack(out, |stack, said| stack.flush(cx, said));
        self.settle(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.stack.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.stack.may_exit()
    }

    fn ask(
        &self,
        about: NameAbove<Self>,
        question: &mut Question<'_>,
        below: &dyn Ask<Self::Uses>,
    ) {
        if self.sides.is_none() {
            self.stack.ask(about, question, below);
        }
    }
}
