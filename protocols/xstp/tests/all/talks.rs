//! Connections on bad links: what is promised is kept, and any judge may be exchanged.

use core::num::NonZeroU64;

use stackwright_base::PortPair;
use stackwright_compose::Over;
use stackwright_contract::services::Credit;
use stackwright_policies::acknowledgement::{GapAtOnce, OnRequest};
use stackwright_policies::{congestion, rate, recovery};
use stackwright_simulator::SimulatedHosts;
use stackwright_transport::words::{MILLISECOND, SECOND};
use stackwright_transport::{Boxed, Exchange, IntoPart, SlotPart, Slots, slots};
use stackwright_trial::Promise;
use stackwright_trial::setting::{M, have_the_same_trace, may_be_exchanged, talks, withstands};
use stackwright_trial::streams::streams;
use stackwright_xstp::{Config, PROTOCOL, Xstp, XstpFormat, XstpHeader, XstpHost, policies};

const RATE: NonZeroU64 = NonZeroU64::new(500_000).unwrap();

/// The settings of packet radio, in haste.
const CONFIG: Config = Config {
    packet: 178,
    window: 64,
    rate: Some((RATE, 2000)),
    poll: 150 * MILLISECOND,
    poll_packets: 16,
    patience: SECOND,
    silence: 60 * SECOND,
    again: 500 * MILLISECOND,
    tries: 60,
    ends: 60,
    ..Config::new()
};

/// One end; the first numbers wrap soon.
fn end(side: usize) -> Slots<Xstp<M>> {
    let ports = [2000, 3000];
    let ports = PortPair { own: ports[side], peer: ports[1 - side] };
    policies(XstpFormat::new(&CONFIG, ports, u32::MAX - 6 - side as u32), &CONFIG)
}

#[test]
fn streams_end_by_halves_or_with_a_code_and_are_refused_with_one() {
    let config = Config { send: Credit::of_octets(8 << 10), ..CONFIG };
    streams(
        0,
        |last| XstpHost::new(config, last.into()),
        |host, below| Over::new(SimulatedHosts::new(host, PROTOCOL), below),
    );
}

#[test]
fn octets_arrive_in_order() {
    talks(end, Promise::Octets);
}

/// One side takes eight packets at a time: the other knows that from the beginning.
#[test]
fn octets_arrive_where_windows_differ() {
    talks(
        |side| {
            let config = Config { window: [8, 64][side], ..CONFIG };
            let ports = [2000, 3000];
            let ports = PortPair { own: ports[side], peer: ports[1 - side] };
            policies(XstpFormat::new(&config, ports, side as u32), &config)
        },
        Promise::Octets,
    );
}

#[test]
fn octets_withstand_what_befalls_any_packet() {
    withstands(end, Promise::Octets);
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    have_the_same_trace(end, |side| end(side).boxed(), Promise::Octets);
}

/// The nth of each, in turn.
fn exchange(slots: &mut Slots<Boxed<M, XstpHeader>>, nth: usize) {
    let recovery: SlotPart<dyn slots::Recovery> = match nth % 3 {
        0 => recovery::GoBackN.part(),
        1 => recovery::SelectiveRepeat::new().inquiries(1).part(),
        _ => recovery::SelectiveRepeat::new().part(),
    };
    let acknowledgement: SlotPart<dyn slots::Acknowledgement> = match nth % 2 {
        0 => OnRequest::<true>::new().part(),
        _ => GapAtOnce::new(OnRequest::<true>::new()).part(),
    };
    let congestion: SlotPart<dyn slots::Congestion> = match nth % 4 {
        0 => congestion::NewReno::new(178).part(),
        1 => congestion::Cubic::new(178).part(),
        2 => congestion::Probing::new(178).part(),
        _ => congestion::Absent.part(),
    };
    let rate: SlotPart<dyn slots::Rate> = match nth % 2 {
        0 => rate::Absent.part(),
        _ => rate::Paced::new(RATE, 1000).part(),
    };
    let done = slots.exchange(recovery).map(|_| ());
    let done = done.and_then(|()| slots.exchange(acknowledgement).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(congestion).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(rate).map(|_| ()));
    assert!(done.is_ok(), "{}", done.unwrap_err().explain().as_str());
}

#[test]
fn judges_are_exchanged_while_data_flow() {
    may_be_exchanged(|side| end(side).boxed(), exchange, Promise::Octets);
}
