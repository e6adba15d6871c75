//! Nothing is allocated in the steady state: the header is written before the message, and read
//! where it lies.

#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only allocations are counted")]
mod count;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
};
use stackwright_contract::{Address, Handle, PathLimits};
use stackwright_ip::{Config, Ip, Point};
use stackwright_simulator::LoneStack;
use stackwright_wire::{BufferTree, Message as _, Pool};

type End = LoneStack<Over<Ip<BufferTree>, Point<BufferTree>>>;

const NAME: Handle = Handle { index: 0, generation: 0 };
const AMPLE: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
const LENGTH: usize = 1000;

/// Returns an end that has an association with its peer.
fn end(own: [u8; 4], peer: [u8; 4]) -> End {
    let mut end = End::new(Over::new(Ip::new(Config::host(own.into(), 24)), Point::default()), 1);
    end.up(PathLimits::of_longest(1500), AMPLE);
    let remote = Address::InternetProtocol { host: peer.into(), protocol: 17 }.into();
    let (association, local, credit) = (NAME, None, AMPLE);
    end.ask(DatagramsRequest::Open { association, remote, local, credit });
    end
}

/// Sends messages, and has the other end take them. Returns how many arrive.
fn exchange(pool: &Pool<BufferTree>, from: &mut End, to: &mut End) -> usize {
    for _ in 0..16 {
        from.send(NAME, BufferTree::from_block(pool.take(), 64, 64 + LENGTH));
    }
    for word in from.said.down.drain(..) {
        if let FramesRequest::Send { batch, .. } = word {
            to.tell(FramesIndication::Delivered { port: 0, batch });
        }
    }
    let mut messages = 0;
    for word in to.said.up.drain(..) {
        if let DatagramsIndication::Delivered { batch, .. } = word {
            messages += batch.count();
            batch.into_octets().reclaim(pool);
        }
    }
    messages
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let (mut one, mut other) =
        (end([10, 0, 0, 1], [10, 0, 0, 2]), end([10, 0, 0, 2], [10, 0, 0, 1]));
    let (pool, mut messages) = (Pool::new(2048, 64), 0);
    let mut rounds = |rounds: usize| {
        for _ in 0..rounds {
            messages += exchange(&pool, &mut one, &mut other);
            messages += exchange(&pool, &mut other, &mut one);
        }
    };
    rounds(40); // credit has come back once
    assert_eq!(count::allocations(|| rounds(1000)), 0);
    assert_eq!(messages, 2 * 16_640);
    assert_eq!(one.cx.dropped_count() + other.cx.dropped_count(), 0);
}
