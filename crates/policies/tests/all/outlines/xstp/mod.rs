//! XSTP: SSCOP's machinery, and a sender that probes why something was lost.

mod format;
mod header;
mod ports;

use core::num::NonZeroU64;

use stackwright_policies::acknowledgement::{GapAtOnce, OnRequest};
use stackwright_policies::{
    congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering, rate, recovery,
    rtt,
};
use stackwright_transport::words::{MILLISECOND, SECOND};
use stackwright_transport::{
    Boxed, Exchange, IntoPart, Policies, SlotPart, Slots, configuration, slots,
};
use stackwright_trial::Promise;
use stackwright_trial::setting::{M, have_the_same_trace, may_be_exchanged, talks};
use stackwright_trial::streams::streams;

use format::Sixteen;
use ports::Ports;

configuration! {
    Xstp<M> {
        Format: Sixteen<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::Internet,
        Connection: connection::Handshake,
        Acknowledgement: GapAtOnce<OnRequest<true>>,
        Inquiry: inquiry::Polls,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Probing,
        Rate: rate::Paced,
        Lifetime: lifetime::Absent,
    }
}

const RATE: NonZeroU64 = NonZeroU64::new(500_000).unwrap();

/// Source, destination and protocol, which no packet holds; the length would follow.
const PSEUDO_HEADER: [u8; 10] = [10, 0, 0, 1, 10, 0, 0, 2, 0, 253];

fn end(side: usize) -> Slots<Xstp<M>> {
    let ports = [2000, 3000];
    connection(ports[side], ports[1 - side])
}

fn connection(here: u16, there: u16) -> Slots<Xstp<M>> {
    Slots::from(Policies {
        format: Sixteen::new(here, there),
        ordering: ordering::Total::new(),
        framing: framing::OctetStream,
        integrity: integrity::Internet::after(&PSEUDO_HEADER),
        connection: connection::Handshake::new(500 * MILLISECOND).tries(60),
        acknowledgement: GapAtOnce::new(OnRequest::new()),
        inquiry: inquiry::Polls::new(150 * MILLISECOND, 16, 60 * SECOND),
        recovery: recovery::SelectiveRepeat::new(),
        rtt: rtt::Rfc6298::new(rtt::SampleSource::Answers, SECOND, 20 * MILLISECOND),
        flow: flow::CreditWindow::new(64).asked_about(),
        congestion: congestion::Probing::new(178),
        rate: rate::Paced::new(RATE, 2000),
        lifetime: lifetime::Absent,
    })
}

#[test]
fn streams_end_by_halves_or_with_a_code_and_are_refused_with_one() {
    let refusal = 77;
    streams(refusal, |_| Ports::new(refusal));
}

#[test]
fn octets_arrive_in_order() {
    talks(end, Promise::Octets);
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    have_the_same_trace(end, |side| end(side).boxed(), Promise::Octets);
}

/// The nth of each, in turn.
fn exchange(slots: &mut Slots<Boxed<M>>, nth: usize) {
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
