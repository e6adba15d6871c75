//! Judges are exchanged while data flow, and static and boxed policies are the same.

use core::num::NonZeroU64;

use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::words::{MILLISECOND, SECOND};
use stackwright_transport::{
    Boxed, Configuration, Exchange, IntoPart, Policies, SlotPart, Slots, configuration, slots,
};
use stackwright_trial::choices::M;
use stackwright_trial::format::Everything;
use stackwright_trial::{End, Promise, Talk, Trial, bad};

configuration! {
    /// What a transport of today selects.
    Modern<M> {
        Format: Everything<false, M>,
        Ordering: ordering::Total<M>,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Crc32c,
        Connection: connection::Handshake,
        Acknowledgement: acknowledgement::AckRanges,
        Inquiry: inquiry::TailProbe,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Cubic,
        Rate: rate::Paced,
        Lifetime: lifetime::Absent,
    }
}

const RATE: NonZeroU64 = NonZeroU64::new(200_000).unwrap();

fn modern(_: usize) -> Slots<Modern<M>> {
    Slots::from(Policies {
        format: Everything::new(),
        ordering: ordering::Total::new(),
        framing: framing::MessageEnd::new(1 << 20),
        integrity: integrity::Crc32c,
        connection: connection::Handshake::new(200 * MILLISECOND).tries(60),
        acknowledgement: acknowledgement::AckRanges::new(2, 10 * MILLISECOND),
        inquiry: inquiry::TailProbe::new(60),
        recovery: recovery::SelectiveRepeat::new().inquiries(1).reordering(Some(3)),
        rtt: rtt::Rfc6298::new(rtt::SampleSource::Units, 200 * MILLISECOND, 50 * MILLISECOND),
        flow: flow::CreditWindow::new(64),
        congestion: congestion::Cubic::new(500),
        rate: rate::Paced::new(RATE, 4000),
        lifetime: lifetime::Absent,
    })
}

fn boxed(side: usize) -> Slots<Boxed<M>> {
    modern(side).boxed()
}

fn talk() -> Talk {
    let promise = Promise::of(Modern::<M>::PARTS, false);
    assert_eq!(promise, Promise::InOrder);
    Talk { there: 24, back: 12, longest: 4000, promise, ..Talk::default() }
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    for seed in 0..50 {
        let one = Trial::new(modern, &bad(seed, true), seed).talk(&talk(), seed, |_, _| {});
        let other = Trial::new(boxed, &bad(seed, true), seed).talk(&talk(), seed, |_, _| {});
        assert!(one.is_ok(), "seed {seed}: {one:?}");
        assert_eq!(one, other, "seed {seed}");
    }
}

/// The nth of each, in turn. What the rule book refuses stays as it was.
fn exchange(slots: &mut Slots<Boxed<M>>, nth: usize) -> usize {
    let recovery: [fn() -> SlotPart<dyn slots::Recovery>; 5] = [
        || recovery::RackTlp::new(60 * SECOND).part(),
        || recovery::IndividualTimeout::new(60 * SECOND).part(),
        || recovery::SelectiveRepeat::new().part(),
        || recovery::GoBackN.part(),
        || recovery::Absent.part(), // not under total order
    ];
    let congestion: [fn() -> SlotPart<dyn slots::Congestion>; 6] = [
        || congestion::Absent.part(),
        || congestion::Aimd::new(500).part(),
        || congestion::NewReno::new(500).part(),
        || congestion::Cubic::new(500).part(),
        || congestion::Probing::new(500).part(),
        || congestion::Bbr::new(500).part(),
    ];
    let acknowledgement: [fn() -> SlotPart<dyn slots::Acknowledgement>; 4] = [
        || acknowledgement::Cumulative::new(2, 10 * MILLISECOND).part(),
        || acknowledgement::AckRanges::new(1, 0).part(),
        || {
            acknowledgement::GapAtOnce::new(acknowledgement::AckRanges::new(4, 20 * MILLISECOND))
                .part()
        },
        || acknowledgement::OnRequest::<true>::new().part(), // a tail probe wants more
    ];
    let rtt: [fn() -> SlotPart<dyn slots::Rtt>; 3] = [
        || rtt::Fixed(150 * MILLISECOND).part(),
        || rtt::Srtt::new(rtt::SampleSource::Units, 200 * MILLISECOND, 50 * MILLISECOND).part(),
        || {
            rtt::Rfc6298::new(rtt::SampleSource::Answers, 200 * MILLISECOND, 50 * MILLISECOND)
                .part()
        },
    ];
    let rate: [fn() -> SlotPart<dyn slots::Rate>; 3] = [
        || rate::Absent.part(),
        || rate::Paced::new(RATE, 1000).part(),
        || rate::PacedByCongestion::new().part(), // where somebody says how fast
    ];
    [
        slots.exchange(recovery[nth % 4]()).is_err(),
        slots.exchange(congestion[nth % 6]()).is_err(),
        slots.exchange(acknowledgement[nth % 4]()).is_err(),
        slots.exchange(rtt[nth % 3]()).is_err(),
        slots.exchange(rate[nth % 3]()).is_err(),
    ]
    .into_iter()
    .filter(|refused| *refused)
    .count()
}

#[test]
fn judges_that_change_every_ten_packets_change_nothing_that_is_delivered() {
    let (mut exchanges, mut refused) = (0, 0);
    for seed in 0..500 {
        let mut trial = Trial::new(boxed, &bad(seed, true), seed);
        let mut sent = 0;
        let meddle = |end: &mut End<Boxed<M>>, packets: u64| {
            sent = packets;
            if packets.is_multiple_of(10) {
                exchanges += 5;
                refused += exchange(end.association.slots_mut(), packets as usize / 10);
            }
        };
        let outcome = trial.talk(&talk(), seed, meddle);
        assert!(outcome.is_ok(), "seed {seed}, {sent} packets: {outcome:?}, {:?}", trial.reasons());
    }
    assert!(refused > 0 && 3 * refused < exchanges, "{refused} of {exchanges} were refused");
}
