//! The TNCs of a station as one: the first is port 0 of what stands above, the second port 1.
//!
//! Each has a line of its own, and the rules of the air hold for each: its rate, its share of the
//! time, its identification. Frames, marks and credit stay on their port.

use std::sync::atomic::Ordering::Relaxed;

use stackwright::ax25::{AirRules, Transmitted};
use stackwright::compose::Over;
use stackwright::compress::Compress;
use stackwright::contract::ask::{Ask, NothingBelow, Question};
use stackwright::contract::services::{Credit, Frames, FramesIndication, FramesRequest};
use stackwright::contract::{
    Both, Context, Either, Facts, IndicationTo, Instant, Outlet, Protocol, RequestOf, RequestTo,
    Service as _, earliest,
};
use stackwright_drivers::Readiness;

use super::log::Acting;
use crate::stacks::Message;
use crate::tnc::TncFrames;

/// The most TNCs of a station.
pub(super) const TNCS_MOST: usize = 2;

/// What each may deliver before it was handled. It comes back with each frame.
const AT_ONCE: Credit = Credit { octets: 64 << 10, messages: 64 };

const NAME: &str = "tncs";

/// The rules of the air over a TNC, and short headers between both.
type RuledTnc = Over<AirRules<Message>, Over<Compress<Message>, TncFrames>>;

/// A TNC and its port, which is another one above.
pub(super) struct PortTnc {
    /// As the file calls it.
    pub(super) name: String,
    pub(super) tnc: RuledTnc,
    /// The port of the TNC that is used.
    pub(super) port: u8,
}

/// The TNCs of a station.
pub(super) struct Tncs {
    first: PortTnc,
    second: Option<PortTnc>,
    /// Credit of the layer above.
    credit: Credit,
    /// Which are up.
    are_up: [bool; TNCS_MOST],
    /// Which of them acts, for who is told of its line.
    acting: Acting,
}

impl Tncs {
    pub(super) const fn new(first: PortTnc, second: Option<PortTnc>, acting: Acting) -> Self {
        Tncs { first, second, credit: Credit::NONE, are_up: [false; TNCS_MOST], acting }
    }

    fn each(&self) -> impl Iterator<Item = &RuledTnc> {
        [Some(&self.first), self.second.as_ref()].into_iter().flatten().map(|there| &there.tnc)
    }

    /// Returns what all have transmitted.
    pub(super) fn transmitted(&self) -> Transmitted {
        self.each().map(|tnc| tnc.upper.transmitted()).fold(Transmitted::default(), |sum, its| {
            Transmitted { frames: sum.frames + its.frames, air: sum.air + its.air }
        })
    }

    /// Takes them out of KISS, where the file says so.
    pub(super) fn leave(&mut self) {
        let all = [Some(&mut self.first), self.second.as_mut()];
        all.into_iter().flatten().for_each(|there| there.tnc.lower.lower.leave());
    }

    /// Has the TNC that is port `nth` above do something, and tells what it says.
    fn with(
        &mut self,
        nth: u8,
        cx: &Context,
        out: &mut dyn Outlet<Self>,
        act: impl FnOnce(&mut RuledTnc, &mut Told<'_>),
    ) {
        let Tncs { first, second, credit, are_up, acting } = self;
        acting.store(nth, Relaxed);
        let there = if nth == 0 { Some(first) } else { second.as_mut() };
        let Some(PortTnc { name, tnc, port }) = there else { return };
        let mut told =
            Told { cx, name, nth, port: *port, credit, are_up, spent: Credit::NONE, out };
        act(tnc, &mut told);
        // What was delivered makes room for the next.
        while told.spent != Credit::NONE {
            let credit = core::mem::replace(&mut told.spent, Credit::NONE);
            tnc.handle_request(cx, FramesRequest::Credit { credit }, &mut told);
        }
    }
}

/// What a TNC says, in the words of its port above.
struct Told<'a> {
    cx: &'a Context,
    name: &'a str,
    nth: u8,
    port: u8,
    credit: &'a mut Credit,
    are_up: &'a mut [bool; TNCS_MOST],
    /// What is to be given to the TNC.
    spent: Credit,
    out: &'a mut dyn Outlet<Tncs>,
}

impl Outlet<RuledTnc> for Told<'_> {
    fn indicate(&mut self, word: FramesIndication<Message>) {
        let (ours, port) = (self.port, self.nth);
        let word = match word {
            FramesIndication::State { port: at, up } if at == ours => {
                let was_up = core::mem::replace(&mut self.are_up[usize::from(port)], up);
                if was_up != up {
                    let state = if up { "is there" } else { "is gone" };
                    self.cx.event(NAME, format_args!("{} {state}", self.name));
                }
                self.spent = if up { AT_ONCE } else { Credit::NONE };
                if self.are_up.iter().filter(|up| **up).count() == usize::from(up) {
                    *self.credit = Credit::NONE;
                }
                FramesIndication::State { port, up }
            }
            FramesIndication::Credit { port: at, credit } if at == ours => {
                FramesIndication::Credit { port, credit }
            }
            FramesIndication::Left { port: at, mark } if at == ours => {
                FramesIndication::Left { port, mark }
            }
            FramesIndication::Delivered { port: at, batch } => {
                let cost = batch.cost();
                self.spent += cost;
                if at != ours {
                    return self.cx.dropped(NAME, "a frame of a port that is not used");
                }
                if !self.credit.covers(cost) {
                    return self.cx.dropped(NAME, "a frame for a layer above that does not read");
                }
                *self.credit -= cost;
                FramesIndication::Delivered { port, batch }
            }
            // Of a port of the TNC that is not used.
            _ => return,
        };
        self.out.indicate(word);
    }

    fn request(&mut self, never: RequestOf<RuledTnc>) {
        match never {}
    }
}

impl Protocol for Tncs {
    const FACTS: Facts = Facts { name: NAME, ..RuledTnc::FACTS };
    type Provides = Frames<Message>;
    type Uses = Both<Readiness, Readiness>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Credit { credit } => self.credit += credit,
            FramesRequest::Send { port: nth, batch, mark } => {
                let is_there = nth == 0 || (nth == 1 && self.second.is_some());
                if !is_there {
                    cx.dropped(NAME, "a frame for a TNC that there is not");
                    let refused = FramesRequest::Send { port: nth, batch, mark };
                    let refund = Frames::<Message>::refund_request(&refused);
                    return refund.into_iter().flatten().for_each(|word| out.indicate(word));
                }
                self.with(nth, cx, out, |tnc, told| {
                    let port = told.port;
                    tnc.handle_request(cx, FramesRequest::Send { port, batch, mark }, told);
                });
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        ready: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let (nth, ready) = match ready {
            Either::Left(ready) => (0, ready),
            Either::Right(ready) => (1, ready),
        };
        self.with(nth, cx, out, |tnc, told| tnc.handle_indication(cx, ready, told));
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for nth in 0..TNCS_MOST as u8 {
            self.with(nth, cx, out, |tnc, told| tnc.handle_timeout(cx, told));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.each().fold(None, |next, tnc| earliest(next, tnc.next_deadline()))
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for nth in 0..TNCS_MOST as u8 {
            self.with(nth, cx, out, |tnc, told| tnc.flush(cx, told));
        }
    }

    fn wants_flush(&self) -> bool {
        self.each().any(Protocol::wants_flush)
    }

    fn may_exit(&self) -> bool {
        self.each().all(Protocol::may_exit)
    }

    fn ask(&self, nth: u8, question: &mut Question<'_>, _below: &dyn Ask<Self::Uses>) {
        let there = if nth == 0 { Some(&self.first) } else { self.second.as_ref() };
        if let Some(PortTnc { tnc, port, .. }) = there {
            // Below a TNC is nothing that is asked.
            tnc.ask(*port, question, &NothingBelow);
        }
    }
}
