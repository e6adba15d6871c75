//! A stack without a world: who holds it is both of its neighbours, and sees each word.

use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsRequest, Frames, FramesIndication, FramesRequest,
};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, IndicationTo, Outlet, PathLimits, Protocol, RequestOf,
    RequestTo,
};
use stackwright_wire::Message;

use crate::octets_of;

/// A stack alone, and what it has said.
pub struct LoneStack<S: Protocol> {
    /// The stack.
    pub stack: S,
    /// Its clock, among others.
    pub cx: Context,
    /// What it has said, and nobody has taken yet.
    pub said: Said<S>,
}

/// What a stack has said in each direction.
pub struct Said<S: Protocol> {
    /// To the layer above.
    pub up: Vec<IndicationOf<S>>,
    /// To the layer below.
    pub down: Vec<RequestOf<S>>,
}

impl<S: Protocol> Outlet<S> for Said<S> {
    fn indicate(&mut self, indication: IndicationOf<S>) {
        self.up.push(indication);
    }

    fn request(&mut self, request: RequestOf<S>) {
        self.down.push(request);
    }
}

impl<S: Protocol> LoneStack<S> {
    /// Makes one at the start of time.
    pub fn new(stack: S, seed: u64) -> Self {
        let said = Said { up: Vec::new(), down: Vec::new() };
        let mut lone = LoneStack { stack, cx: Context::new(seed), said };
        lone.flush();
        lone
    }

    /// Says a word from above.
    pub fn ask(&mut self, request: RequestTo<S>) {
        self.stack.handle_request(&self.cx, request, &mut self.said);
        self.flush();
    }

    /// Says a word from below.
    pub fn tell(&mut self, indication: IndicationTo<S>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.said);
        self.flush();
    }

    fn flush(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.said);
        }
    }

    /// Takes those of the words that it has said upward of which `take` returns something, and
    /// forgets the others.
    pub fn told<T>(&mut self, take: impl FnMut(IndicationOf<S>) -> Option<T>) -> Vec<T> {
        self.said.up.drain(..).filter_map(take).collect()
    }

    /// Has time pass, with every deadline on the way.
    pub fn wait(&mut self, milliseconds: u64) {
        let until = self.cx.now() + Duration::from_millis(milliseconds);
        while let Some(at) = self.stack.next_deadline().filter(|at| *at <= until) {
            self.cx.set_now(at);
            self.stack.handle_timeout(&self.cx, &mut self.said);
        }
        self.cx.set_now(until);
    }
}

impl<M: Message, S: Protocol<Provides = Datagrams<M>, Uses = Frames<M>>> LoneStack<S> {
    /// Tells that the port is up, what it takes, and how much now.
    pub fn up(&mut self, path: PathLimits, credit: Credit) {
        self.tell(FramesIndication::State { port: 0, up: true });
        self.tell(FramesIndication::Changed { port: 0, path });
        self.tell(FramesIndication::Credit { port: 0, credit });
    }

    /// Delivers a frame.
    pub fn arrives(&mut self, frame: &[u8]) {
        let batch = M::with_headroom(64, frame).into();
        self.tell(FramesIndication::Delivered { port: 0, batch });
    }

    /// Sends a message, or several.
    pub fn send(&mut self, association: Handle, batch: impl Into<Batch<M>>) {
        let (batch, properties) = (batch.into(), Default::default());
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }

    /// Takes the frames that it has sent, and forgets what else it has said downward.
    pub fn sent(&mut self) -> Vec<Vec<u8>> {
        let sent = |word| match word {
            FramesRequest::Send { batch, .. } => Some(batch),
            FramesRequest::Credit { .. } => None,
        };
        self.said.down.drain(..).filter_map(sent).flatten().map(|frame| octets_of(&frame)).collect()
    }
}
