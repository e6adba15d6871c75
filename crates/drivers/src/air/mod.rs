//! A radio channel in real time, as [`Frames`]: a channel of the simulator that a clock drives, and
//! for each of its stations an adapter.
//!
//! ```text
//!   station 0      station 1      station 2        each with a driver and a thread of its own
//!    Air ──┐        Air ──┐        Air ──┐
//!          └──────────────┴──────────────┴── LiveChannel: Channel of the simulator, one clock
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | here | the adapter of a station |
//! | `live.rs` | the channel, which all stations share |
//!
//! The channel has no thread: the station whose turn it is moves it to the present, and wakes those
//! that heard a frame or whose frame has left. Time on the air passes `speed` times as fast as that
//! of the clock, and all chance follows from one seed.

mod live;

use std::sync::Arc;

use stackwright_contract::ask::{Ask, FrameTime, Longest, Question};
use stackwright_contract::services::{Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{
    Context, Facts, Guarantees, IndicationTo, Instant, Nothing, Outlet, Protocol,
};
use stackwright_wire::{Block as _, Message, Pool};

use crate::clock::Clock;
use live::Came;
pub use live::LiveChannel;

const NAME: &str = "air";

/// A station of a [`LiveChannel`]: frames on one port, which the TNC checks.
pub struct Air<M: Message> {
    live: LiveChannel,
    station: usize,
    /// That of the station's driver.
    clock: Clock,
    pool: Arc<Pool<M>>,
    /// Credit of the layer above.
    credit: Credit,
    begun: bool,
}

impl<M: Message> Air<M> {
    fn new(live: LiveChannel, station: usize, clock: Clock, pool: Arc<Pool<M>>) -> Self {
        Air { live, station, clock, pool, credit: Credit::NONE, begun: false }
    }

    /// Tells what came since the last time.
    fn tell(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(came) = self.live.take(self.station) {
            match came {
                Came::Left { octets, mark } => {
                    let credit = Credit { octets, messages: 1 };
                    out.indicate(FramesIndication::Credit { port: 0, credit });
                    if let Some(mark) = mark {
                        out.indicate(FramesIndication::Left { port: 0, mark });
                    }
                }
                Came::Frame(octets) => {
                    let cost = Credit { octets: octets.len(), messages: 1 };
                    if !self.credit.covers(cost) {
                        cx.dropped(NAME, "a frame for a layer above that does not read");
                        continue;
                    }
                    self.credit -= cost;
                    let block = self.pool.again(octets.len());
                    let mut block = block.unwrap_or_else(|| M::Block::zeroed(octets.len()));
                    block[..octets.len()].copy_from_slice(&octets);
                    let batch = M::from_block(block, 0, octets.len()).into();
                    out.indicate(FramesIndication::Delivered { port: 0, batch });
                }
            }
        }
    }
}

impl<M: Message> Protocol for Air<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::ORDERED
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::SENT),
        ..Facts::named(NAME)
    };
    type Provides = Frames<M>;
    type Uses = Nothing;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => {
                let cost = batch.cost();
                let message = batch.into_single();
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                message.reclaim(&self.pool);
                let now = self.live.time(&self.clock, cx.now());
                if port == 0 && self.live.send(now, self.station, &octets, mark) {
                    return;
                }
                cx.dropped(NAME, "a frame that is too long, or of a port that is not there");
                out.indicate(FramesIndication::Credit { port, credit: cost });
                if let Some(mark) = mark {
                    out.indicate(FramesIndication::Left { port, mark });
                }
            }
            FramesRequest::Credit { credit } => self.credit += credit,
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        never: IndicationTo<Self>,
        _out: &mut impl Outlet<Self>,
    ) {
        match never {}
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.live.advance(self.live.time(&self.clock, cx.now()), self.station);
        self.tell(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.live.next_deadline().map(|at| self.live.deadline(&self.clock, at))
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if !std::mem::replace(&mut self.begun, true) {
            out.indicate(FramesIndication::State { port: 0, up: true });
            let credit = self.live.room();
            out.indicate(FramesIndication::Credit { port: 0, credit });
        }
        self.tell(cx, out);
    }

    fn wants_flush(&self) -> bool {
        !self.begun || self.live.has_news(self.station)
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, _below: &dyn Ask<Nothing>) {
        question
            .answer::<Longest>(|_| Some(self.live.longest()))
            .answer::<FrameTime>(|_| Some(self.live.frame_time()));
    }
}
