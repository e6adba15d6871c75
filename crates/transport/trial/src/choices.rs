//! Every policy of every slot.

use core::num::NonZeroU64;

use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::rules::Facts;
use stackwright_transport::words::{MILLISECOND, SECOND, Terms};
use stackwright_transport::{Boxed, IntoPart, Parts, SLOTS, SlotPart, Slots, slots};
use stackwright_wire::BufferTree;

use crate::format::Everything;

/// The kind of message of all trials.
pub type M = BufferTree;

/// Which policy of each slot, in the order of [`SLOTS`].
pub type Choice = [usize; SLOTS.len()];

/// How much both sides take, in packets.
const WINDOW: u64 = 64;

/// The octets of a packet, for those that reckon with it.
const PACKET: u64 = 500;

/// What a policy has to know of the others.
struct Setting {
    /// What both sides take, as the format counts.
    window: u64,
    /// What is measured: answers, where somebody asks.
    of: rtt::SampleSource,
}

impl Setting {
    fn of(choice: &Choice) -> Setting {
        let policy = |slot| choice[place(slot)];
        let window = [WINDOW, WINDOW * PACKET][policy("format")];
        let of = if policy("inquiry") == 0 {
            rtt::SampleSource::Units
        } else {
            rtt::SampleSource::Answers
        };
        Setting { window, of }
    }
}

/// For facts, which depend on none of it.
const SETTING: Setting = Setting { window: WINDOW, of: rtt::SampleSource::Units };

macro_rules! choices {
    (|$at:ident| $($slot:ident: $Slot:ty = [$($policy:expr),* $(,)?];)*) => {
        $(fn $slot() -> Vec<fn(&Setting) -> SlotPart<$Slot>> {
            #[allow(unused_variables, reason = "most take what comes")]
            let policies: Vec<fn(&Setting) -> SlotPart<$Slot>> = vec![$(|$at| ($policy).part()),*];
            policies
        })*

        /// What the rule book knows of each policy of each slot.
        pub fn facts() -> Vec<Vec<Facts>> {
            vec![$($slot().iter().map(|policy| *policy(&SETTING).facts()).collect()),*]
        }

        /// The policies of one end.
        pub fn parts(choice: &Choice) -> Parts<M> {
            let [$($slot),*] = *choice;
            let at = Setting::of(choice);
            Parts { $($slot: self::$slot()[$slot](&at)),* }
        }
    };
}

choices! { |at|
    format: dyn slots::Format<M, Front = ()> =
        [Everything::<false, M>::new(), Everything::<true, M>::new()];
    ordering: dyn slots::Ordering<M> =
        [ordering::Absent, ordering::Total::new(), ordering::Sequenced::default()];
    framing: dyn slots::Framing<M> = [
        framing::Fragments::new(1 << 16, 1 << 20).forgetting(framing::Forgetting::Lost(at.window)),
        framing::OctetStream,
        framing::MessageEnd::new(1 << 20),
    ];
    integrity: dyn slots::Integrity<M> =
        [integrity::Absent, integrity::Internet::new(), integrity::Crc32c, integrity::Cxor];
    connection: dyn slots::Connection = [
        connection::Agreed::default(),
        connection::TwoStage::new(200 * MILLISECOND).tries(60),
        connection::Implicit::new(600 * SECOND),
        connection::Handshake::new(200 * MILLISECOND).tries(60),
    ];
    acknowledgement: dyn slots::Acknowledgement = [
        acknowledgement::Absent,
        acknowledgement::PeriodicList::new(10 * MILLISECOND, 2),
        acknowledgement::Cumulative::new(2, 10 * MILLISECOND),
        acknowledgement::AckRanges::new(2, 10 * MILLISECOND),
        acknowledgement::OnRequest::<false>::new(),
        acknowledgement::OnRequest::<true>::new(),
        acknowledgement::GapAtOnce::new(acknowledgement::OnRequest::<true>::new()),
        acknowledgement::GapAtOnce::new(acknowledgement::Cumulative::new(2, 10 * MILLISECOND)),
    ];
    inquiry: dyn slots::Inquiry = [
        inquiry::Absent,
        inquiry::WindowEnd::new(60, 32),
        inquiry::Polls::new(50 * MILLISECOND, 8, 60 * SECOND),
        inquiry::TailProbe::new(60),
        inquiry::KeepAlive::new(inquiry::WindowEnd::new(60, 32), 20 * SECOND, 60 * SECOND),
        inquiry::AnyAnswer::new(inquiry::WindowEnd::new(60, at.window / 2)),
    ];
    recovery: dyn slots::Recovery = [
        recovery::Absent,
        recovery::IndividualTimeout::new(60 * SECOND),
        recovery::RackTlp::new(60 * SECOND),
        recovery::SelectiveRepeat::new().inquiries(1).reordering(Some(3)),
        recovery::GoBackN,
        recovery::LimitedRetransmissions::new(recovery::RackTlp::new(60 * SECOND), 1),
        recovery::LimitedRetransmissions::new(
            recovery::SelectiveRepeat::new().inquiries(1).reordering(Some(3)),
            2,
        ),
    ];
    rtt: dyn slots::Rtt = [
        rtt::Fixed(150 * MILLISECOND),
        rtt::Srtt::new(at.of, 200 * MILLISECOND, 50 * MILLISECOND),
        rtt::Rfc6298::new(at.of, 200 * MILLISECOND, 50 * MILLISECOND).at_most(2 * SECOND),
    ];
    flow: dyn slots::Flow = [
        flow::Absent,
        flow::CreditWindow::new(at.window),
        flow::Bounded::new(at.window),
        flow::Posted::new(at.window, PACKET),
    ];
    congestion: dyn slots::Congestion = [
        congestion::Absent,
        congestion::Aimd::new(PACKET),
        congestion::NewReno::new(PACKET),
        congestion::Cubic::new(PACKET),
        congestion::Bbr::new(PACKET),
        congestion::Probing::new(PACKET),
    ];
    rate: dyn slots::Rate = [
        rate::Absent,
        rate::Paced::new(NonZeroU64::new(100_000).unwrap(), 4000),
        rate::PacedByCongestion::new(),
        rate::PacedByTerms::new(Terms { rate: 100_000, burst: 4000 }, Terms { rate: 200_000, burst: 0 }),
    ];
    lifetime: dyn slots::Lifetime = [
        lifetime::Absent,
        lifetime::Timestamps::new(1_100_000_000_000_000),
        lifetime::Deadline,
    ];
}

/// The policies of one end.
///
/// # Panics
/// Where the rule book refuses them.
pub fn built(parts: Parts<M>) -> Slots<Boxed<M>> {
    parts.build().unwrap_or_else(|misfit| panic!("{}", misfit.explain().as_str()))
}

fn place(slot: &str) -> usize {
    SLOTS.iter().position(|other| *other == slot).expect("a slot")
}

/// The same selection, but for one slot, which has the policy called `name`.
///
/// # Panics
/// Where no policy of the slot is called so.
pub fn but(mut choice: Choice, slot: &str, name: &str) -> Choice {
    let named = facts()[place(slot)].iter().position(|facts| facts.name == name);
    choice[place(slot)] = named.unwrap_or_else(|| panic!("no policy is called {name}"));
    choice
}

/// In words.
pub fn names(choice: &Choice) -> String {
    parts(choice).facts().map(|facts| facts.name).join("; ")
}
