//! XTP 3.6 reconstructed: what a Connection promises is kept on bad links, over the end of its
//! numbers, too. `SEEDS=60 cargo test --release -p stackwright-xtp36r` tries 18 000 seeds of
//! each test.

use stackwright_contract::Participant;
use stackwright_policies::{acknowledgement, recovery};
use stackwright_transport::words::SECOND;
use stackwright_transport::{Exchange, IntoPart, SlotPart, Slots, slots};
use stackwright_trial::Promise;
use stackwright_trial::setting::{M, have_the_same_trace, talks, withstands};
use stackwright_xtp::{Config, ContextKey};
use stackwright_xtp36r::{Messages36r, connection};

const OPENER: u64 = 0x0123_4567;

/// One end; the first opens. Both count from `first`. The peers are patient: on some of these links
/// a few first packets in a row are lost.
fn end(side: usize, first: u32) -> Slots<Messages36r<M>> {
    let config = Config {
        packet: 600,
        window: 16 << 10,
        retries: 60,
        silence: 600 * SECOND,
        linger: 600 * SECOND,
        ..Config::new([side as u8; 16])
    };
    let own = ContextKey { ours: true, number: OPENER + side as u64 };
    let peer = (side == 1).then_some(OPENER);
    connection(&config, own, peer, Participant::from(([10, 0, 0, 9], 7)), first)
}

#[test]
fn messages_arrive_in_order() {
    talks(|side| end(side, 0), Promise::InOrder);
}

#[test]
fn messages_arrive_in_order_while_numbers_wrap() {
    talks(|side| end(side, u32::MAX - 4000), Promise::InOrder);
}

/// Their end is met within the first of them, too.
#[test]
fn messages_withstand_what_befalls_any_packet_while_numbers_wrap() {
    withstands(|side| end(side, u32::MAX - 4000), Promise::InOrder);
}

/// What the report leaves to further work.
#[test]
fn messages_arrive_in_order_with_go_back_n() {
    let go_back_n = |side| {
        let mut slots = end(side, 0).boxed();
        let acknowledgement: SlotPart<dyn slots::Acknowledgement> =
            acknowledgement::OnRequest::<false>::new().part();
        let recovery: SlotPart<dyn slots::Recovery> = recovery::GoBackN.part();
        assert!(slots.exchange(recovery).is_ok() && slots.exchange(acknowledgement).is_ok());
        slots
    };
    talks(go_back_n, Promise::InOrder);
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    have_the_same_trace(|side| end(side, 0), |side| end(side, 0).boxed(), Promise::InOrder);
}
