//! Nothing is allocated in the steady state: the header is written before the message, and read
//! where it lies.

#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only allocations are counted")]
mod count;

use std::collections::VecDeque;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
    MessageProperties,
};
use stackwright_contract::{
    Address, Context, Handle, IndicationOf, Outlet, PathLimits, Protocol as _, RequestOf,
};
use stackwright_ip::{Config, Ip, Point};
use stackwright_wire::{BufferTree, Message as _, Pool};

type Stack = Over<Ip<BufferTree>, Point<BufferTree>>;

const NAME: Handle = Handle { index: 0, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
const LENGTH: usize = 1000;

/// What one end has said: kept for its memory.
struct Words {
    frames: VecDeque<Batch<BufferTree>>,
    pool: Pool<BufferTree>,
    messages: usize,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        if let DatagramsIndication::Delivered { batch, .. } = indication {
            self.messages += batch.count();
            batch.into_octets().reclaim(&self.pool);
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        if let FramesRequest::Send { batch, .. } = request {
            self.frames.push_back(batch);
        }
    }
}

struct End {
    stack: Stack,
    cx: Context,
    words: Words,
}

impl End {
    /// Returns an end that has an association with its peer.
    fn new(own: [u8; 4], peer: [u8; 4]) -> Self {
        let stack = Over::new(Ip::new(Config::host(own.into(), 24)), Point::default());
        let pool = Pool::new(2048, 64);
        let words = Words { frames: VecDeque::with_capacity(64), pool, messages: 0 };
        let mut end = End { stack, cx: Context::new(1), words };
        end.stack.flush(&end.cx, &mut end.words);
        for indication in [
            FramesIndication::State { port: 0, up: true },
            FramesIndication::Changed { port: 0, path: PathLimits::of_longest(1500) },
            FramesIndication::Credit { port: 0, credit: AMPLE },
        ] {
            end.stack.handle_indication(&end.cx, indication, &mut end.words);
        }
        let remote = Address::InternetProtocol { host: peer.into(), protocol: 17 }.into();
        let (association, local, credit) = (NAME, None, AMPLE);
        let open = DatagramsRequest::Open { association, remote, local, credit };
        end.stack.handle_request(&end.cx, open, &mut end.words);
        end
    }

    fn send(&mut self, messages: usize) {
        for _ in 0..messages {
            let message = BufferTree::from_block(self.words.pool.take(), 64, 64 + LENGTH);
            let (association, properties) = (NAME, MessageProperties::default());
            let send = DatagramsRequest::Send { association, batch: message.into(), properties };
            self.stack.handle_request(&self.cx, send, &mut self.words);
        }
    }

    fn take(&mut self, from: &mut End) {
        while let Some(batch) = from.words.frames.pop_front() {
            let delivered = FramesIndication::Delivered { port: 0, batch };
            self.stack.handle_indication(&self.cx, delivered, &mut self.words);
        }
    }
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let (mut one, mut other) =
        (End::new([10, 0, 0, 1], [10, 0, 0, 2]), End::new([10, 0, 0, 2], [10, 0, 0, 1]));
    let mut exchange = |rounds: usize| {
        for _ in 0..rounds {
            one.send(16);
            other.take(&mut one);
            other.send(16);
            one.take(&mut other);
        }
    };
    exchange(40); // credit has come back once
    assert_eq!(count::allocations(|| exchange(1000)), 0);
    assert_eq!((one.words.messages, other.words.messages), (16_640, 16_640));
    assert_eq!(one.cx.dropped_count() + other.cx.dropped_count(), 0);
}
