//! Contexts on bad links: what a service promises is kept. `SEEDS=60 cargo test --release -p
//! stackwright-xtp talks` tries 18 000 seeds of each test.

use stackwright_contract::Participant;
use stackwright_policies::{acknowledgement, congestion, recovery, rtt};
use stackwright_transport::words::{MILLISECOND, SECOND};
use stackwright_transport::{Boxed, Exchange, IntoPart, SlotPart, Slots, slots};
use stackwright_trial::setting::{
    M, are_the_same_in_runs, bad, have_the_same_trace, may_be_exchanged, pass_narrow_paths, seeds,
    talk, talks, withstands,
};
use stackwright_trial::streams::streams;
use stackwright_trial::{Outcome, Promise, Trial};
use stackwright_xtp::header::{DiagnosticSegment, XtpPacket};
use stackwright_xtp::services::{
    BulkData, Connection, IsochronousStream, Messages, Octets, Stream, XtpService, context,
};
use stackwright_xtp::{Config, ContextKey, Contexts};

/// Short packets, so that messages have several. The peers are patient: on some of these links many
/// packets in a row are lost.
fn config(side: u8, linger: u64) -> Config {
    Config {
        packet: 600,
        window: 16 << 10,
        retries: 60,
        silence: 600 * SECOND,
        linger,
        ..Config::new([side; 16])
    }
}

/// So near that some inquiries reach the end of the numbers.
const NEAR_END: u32 = u32::MAX - 5;

fn remote() -> Participant {
    Participant::from(([10, 0, 0, 9], 7))
}

/// One end; the first opens.
fn end<S: XtpService>(side: usize) -> Slots<S::Configuration<M>> {
    end_asking::<S>(side, 0)
}

/// One end whose inquiries begin behind the number `sync`.
fn end_asking<S: XtpService>(side: usize, sync: u32) -> Slots<S::Configuration<M>> {
    let opener = 0x0123_4567_0000;
    let own = ContextKey { ours: true, number: opener + side as u64 };
    let config = Config { sync, ..config(side as u8, 600 * SECOND) };
    context::<M, S>(&config, Some(own), (side == 1).then_some(opener), remote())
}

#[test]
fn messages_arrive_in_order() {
    talks(end::<Connection>, Promise::InOrder);
}

/// One end with packets of the usual length.
fn long<S: XtpService>(side: usize) -> Slots<S::Configuration<M>> {
    let opener = 0x0123_4567_0000;
    let own = ContextKey { ours: true, number: opener + side as u64 };
    let config = Config::new([side as u8; 16]);
    context::<M, S>(&config, Some(own), (side == 1).then_some(opener), remote())
}

#[test]
fn everything_arrives_over_a_path_that_drops_long_packets() {
    pass_narrow_paths(long::<Connection>, Promise::InOrder);
    pass_narrow_paths(long::<Stream>, Promise::Octets);
    pass_narrow_paths(long::<BulkData>, Promise::Octets);
}

/// Go-back-N needs no spans.
#[test]
fn messages_arrive_in_order_with_go_back_n() {
    let go_back_n = |side| {
        let mut slots = end::<Connection>(side).boxed();
        let acknowledgement: SlotPart<dyn slots::Acknowledgement> =
            acknowledgement::OnRequest::<false>::new().part();
        let recovery: SlotPart<dyn slots::Recovery> = recovery::GoBackN.part();
        assert!(slots.exchange(recovery).is_ok() && slots.exchange(acknowledgement).is_ok());
        slots
    };
    talks(go_back_n, Promise::InOrder);
}

#[test]
fn octets_arrive_in_order() {
    talks(end::<Stream>, Promise::Octets);
}

#[test]
fn bulk_data_arrive_in_order() {
    talks(end::<BulkData>, Promise::Octets);
}

#[test]
fn isochronous_messages_rise() {
    talks(end::<IsochronousStream>, Promise::Rising);
}

#[test]
fn bulk_data_end_by_halves_or_with_a_code_and_are_refused_with_one() {
    let contexts =
        |last| Contexts::<M, BulkData>::new(Config { retries: 20, ..config(last, 60 * SECOND) });
    streams(DiagnosticSegment::NO_LISTENER, contexts, |_, below| below);
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    have_the_same_trace(
        end::<Connection>,
        |side| end::<Connection>(side).boxed(),
        Promise::InOrder,
    );
}

/// `Config::run` changes no packet.
#[test]
fn packets_that_leave_together_are_those_that_leave_alone() {
    are_the_same_in_runs(end::<Connection>, Promise::InOrder, 4);
    // With loss, the network's window is a few packets.
    are_the_same_in_runs(end::<Stream>, Promise::Octets, 14);
    are_the_same_in_runs(end::<BulkData>, Promise::Octets, 4);
}

/// The nth of each, in turn.
fn exchange(slots: &mut Slots<Boxed<M, XtpPacket>>, nth: usize) {
    let recovery: SlotPart<dyn slots::Recovery> = match nth % 3 {
        0 => recovery::GoBackN.part(),
        1 => recovery::SelectiveRepeat::new().inquiries(1).part(),
        _ => recovery::SelectiveRepeat::new().part(),
    };
    let acknowledgement: SlotPart<dyn slots::Acknowledgement> = match nth % 4 {
        0 => acknowledgement::OnRequest::<false>::new().part(),
        1 => acknowledgement::OnRequest::<true>::new().part(),
        2 => acknowledgement::GapAtOnce::new(acknowledgement::OnRequest::<true>::new()).part(),
        _ => acknowledgement::AckRanges::new(2, 20 * MILLISECOND).part(),
    };
    let congestion: SlotPart<dyn slots::Congestion> = match nth % 5 {
        0 => congestion::NewReno::new(500).part(),
        1 => congestion::Cubic::new(500).part(),
        2 => congestion::Probing::new(500).part(),
        3 => congestion::Aimd::new(500).part(),
        _ => congestion::Absent.part(),
    };
    let rtt: SlotPart<dyn slots::Rtt> = match nth % 2 {
        0 => rtt::Fixed(200 * MILLISECOND).part(),
        _ => rtt::Rfc6298::new(rtt::SampleSource::Answers, SECOND, 20 * MILLISECOND).part(),
    };
    let done = slots.exchange(recovery).map(|_| ());
    let done = done.and_then(|()| slots.exchange(acknowledgement).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(congestion).map(|_| ()));
    let done = done.and_then(|()| slots.exchange(rtt).map(|_| ()));
    assert!(done.is_ok(), "{}", done.unwrap_err().explain().as_str());
}

#[test]
fn judges_are_exchanged_while_data_flow() {
    may_be_exchanged(|side| end::<Connection>(side).boxed(), exchange, Promise::InOrder);
}

#[test]
fn streams_end_by_halves_or_with_a_code_and_are_refused_with_one() {
    let contexts =
        |last| Contexts::<M, Stream>::new(Config { retries: 20, ..config(last, 60 * SECOND) });
    streams(DiagnosticSegment::NO_LISTENER, contexts, |_, below| below);
}

/// The service is known by its policies alone.
#[test]
fn a_service_is_a_configuration() {
    let _: Slots<Messages<M>> = end::<Connection>(0);
    let _: Slots<Octets<M>> = end::<Stream>(0);
}

/// Both sides ask, and answer, over the end of their numbers, and nothing else changes.
#[test]
fn a_talk_is_the_same_while_numbers_of_inquiries_wrap() {
    for seed in seeds(300) {
        let [usual, wraps] = [0, NEAR_END].map(|sync| {
            let ends = |side| end_asking::<Connection>(side, sync);
            let outcome = Trial::new(ends, &bad(seed), seed).talk(
                &talk(seed, Promise::InOrder),
                seed,
                |_, _| {},
            );
            // What is on the wire differs by the numbers alone.
            outcome.map(|outcome| Outcome { trace: 0, ..outcome })
        });
        assert!(wraps.is_ok(), "seed {seed}: {wraps:?}");
        assert_eq!(usual, wraps, "seed {seed}");
    }
}

/// The end of the numbers is met within the first packets.
#[test]
fn messages_withstand_what_befalls_any_packet_while_numbers_of_inquiries_wrap() {
    withstands(|side| end_asking::<Connection>(side, NEAR_END), Promise::InOrder);
}

/// Whatever happens to one of the first 64 packets of each side, all octets arrive.
#[test]
fn octets_withstand_what_befalls_any_packet() {
    withstands(end::<Stream>, Promise::Octets);
}
