//! Nothing is allocated in the steady state: what a station takes from the pool for a frame, it,
//! the layer below or the application gives back.

#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only allocations are counted")]
mod count;

use std::sync::Arc;

use stackwright_ax25::{Ax25, Config, FrameLength, LinkVersion};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Address, Context, Duration, Either, Handle, IndicationOf, Outlet, Participant, Protocol as _,
    RequestOf,
};
use stackwright_wire::{BufferTree, Message, Pool};

type Stack = Ax25<BufferTree>;

const NAME: Handle = Handle { index: 0, generation: 0 };
const LISTENER: Handle = Handle { index: 1, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
/// What one frame carries, and what is sent at once.
const LENGTH: usize = 64;
const BURST: usize = 4 * LENGTH;

/// What one station does: kept for its memory.
struct Words {
    frames: Vec<(BufferTree, Option<u16>)>,
    pool: Arc<Pool<BufferTree>>,
    octets: usize,
    credit: usize,
    datagrams: usize,
    opened: bool,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        match indication {
            Either::Left(StreamsIndication::Delivered { batch, .. }) => {
                self.octets += batch.octets();
                batch.into_octets().reclaim(&self.pool);
            }
            Either::Left(StreamsIndication::Credit { credit, .. }) => self.credit += credit.octets,
            Either::Left(StreamsIndication::Opened { .. }) => self.opened = true,
            Either::Right(DatagramsIndication::Delivered { batch, .. }) => {
                self.datagrams += 1;
                batch.into_octets().reclaim(&self.pool);
            }
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, mark, .. } = request {
            self.frames.push((batch.into_single(), mark));
        }
    }
}

struct End {
    stack: Stack,
    cx: Context,
    words: Words,
}

impl End {
    fn new(call: &str, version: LinkVersion, pool: &Arc<Pool<BufferTree>>) -> Self {
        let config = Config {
            version,
            window: 7,
            frame: FrameLength::Fixed(LENGTH as u16),
            ..Config::new(call.parse().expect("a call sign"))
        };
        let frames = Vec::with_capacity(64);
        let pool = Arc::clone(pool);
        let stack = Stack::sharing(config, Arc::clone(&pool));
        let words = Words { frames, pool, octets: 0, credit: 0, datagrams: 0, opened: false };
        let mut end = End { stack, cx: Context::new(1), words };
        end.indicate(FramesIndication::State { port: 0, up: true });
        end.indicate(FramesIndication::Credit { port: 0, credit: AMPLE });
        end
    }

    fn indicate(&mut self, indication: FramesIndication<BufferTree>) {
        self.stack.handle_indication(&self.cx, indication, &mut self.words);
    }

    fn flush(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.words);
        }
    }

    fn stream(&mut self, request: StreamsRequest<BufferTree>) {
        self.stack.handle_request(&self.cx, Either::Left(request), &mut self.words);
        self.flush();
    }

    fn datagrams(&mut self, request: DatagramsRequest<BufferTree>) {
        self.stack.handle_request(&self.cx, Either::Right(request), &mut self.words);
        self.flush();
    }

    /// A message in a block of the pool.
    fn message(&self, octets: usize) -> BufferTree {
        BufferTree::from_block(self.words.pool.take(), 100, 100 + octets)
    }
}

/// Carries what both have sent to the other, until both are silent; a second later each time.
fn exchange(one: &mut End, other: &mut End, carried: &mut Vec<(BufferTree, Option<u16>)>) {
    for _ in 0..100 {
        let silent = one.words.frames.is_empty() && other.words.frames.is_empty();
        for turn in 0..2 {
            let (from, to) =
                if turn == 0 { (&mut *one, &mut *other) } else { (&mut *other, &mut *one) };
            std::mem::swap(carried, &mut from.words.frames);
            for (frame, mark) in carried.drain(..) {
                to.indicate(FramesIndication::Delivered { port: 0, batch: frame.into() });
                if let Some(mark) = mark {
                    from.indicate(FramesIndication::Left { port: 0, mark });
                }
            }
            for end in [from, to] {
                end.cx.set_now(end.cx.now() + Duration::from_millis(500));
                end.stack.handle_timeout(&end.cx, &mut end.words);
                end.flush();
            }
        }
        if silent {
            return;
        }
    }
    panic!("they talk without end");
}

fn station(call: &str) -> Participant {
    let call = call.parse().expect("a call sign");
    Address::Station { call, pid: 0xf0, route: 0 }.into()
}

fn nothing_is_allocated(version: LinkVersion) {
    let pool = Arc::new(Pool::new(512, 64));
    let (mut one, mut other) = (End::new("A", version, &pool), End::new("B", version, &pool));
    let mut carried = Vec::with_capacity(64);
    let association = NAME;
    other.stream(StreamsRequest::Listen { listener: LISTENER, local: station("B") });
    other.stream(StreamsRequest::Await { listener: LISTENER, association, credit: AMPLE });
    let (remote, local, credit) = (station("B"), None, AMPLE);
    one.stream(StreamsRequest::Open { association, remote, local, credit });
    one.datagrams(DatagramsRequest::Open { association, remote, local, credit });
    other.datagrams(DatagramsRequest::Listen { listener: LISTENER, local: station("B") });
    other.datagrams(DatagramsRequest::Await { listener: LISTENER, association, credit });
    exchange(&mut one, &mut other, &mut carried);
    assert!(one.words.opened && other.words.opened);
    let mut rounds = |count: usize| {
        for _ in 0..count {
            for end in [&mut one, &mut other] {
                let (batch, properties) = (end.message(BURST).into(), Default::default());
                end.stream(StreamsRequest::Send { association, batch, properties });
            }
            let (batch, properties) = (one.message(LENGTH).into(), Default::default());
            one.datagrams(DatagramsRequest::Send { association, batch, properties });
            exchange(&mut one, &mut other, &mut carried);
        }
    };
    rounds(50);
    assert_eq!(count::allocations(|| rounds(500)), 0, "{version:?}");
    for end in [&one, &other] {
        assert_eq!((end.words.octets, end.words.credit), (550 * BURST, 550 * BURST));
    }
    assert_eq!(other.words.datagrams, 550);
}

// One test only: allocations of another one would be counted.
#[test]
fn no_frame_is_allocated() {
    nothing_is_allocated(LinkVersion::V20);
    nothing_is_allocated(LinkVersion::V22);
}
