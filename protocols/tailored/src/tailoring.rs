//! Where the policies come from: types that a program names, or a plan that it makes.

use alloc::boxed::Box;

use stackwright_contract::Guarantees;
use stackwright_policies::integrity;
use stackwright_policies::profile::{Bounds, FromValues, Plan, PolicyValues};
use stackwright_transport::rules::{Component, Facts, Misfit, Property, given, promised};
use stackwright_transport::slots::{self, Format, Switching};
use stackwright_transport::{Boxed, Configuration, IntoPart, Policies, SLOTS, Slots};
use stackwright_wire::Message;

use crate::format::{PacketTerms, TailoredFormat};
use crate::header::{PacketCheck, TailoredHeader};

/// Where the policies of associations come from.
pub trait Tailoring: 'static {
    /// How messages are held.
    type Message: Message;
    /// The configuration.
    type Configuration: Configuration<
            Message = Self::Message,
            Format: Format<Self::Message, Front = TailoredHeader>,
        >;
    /// What is promised to the layer above, as far as it is known when the program is compiled.
    const GIVES: Guarantees;

    /// Returns what is promised to the layer above.
    fn gives(&self) -> Guarantees {
        Self::GIVES
    }

    /// Returns what the policies need to know beyond their types.
    fn values(&self) -> &PolicyValues;

    /// Calls `see` with the name of the policy in each slot that both sides must agree on.
    fn agreed(&self, see: &mut dyn FnMut(&'static str));

    /// Returns whether peers answer: what is lost is sent again.
    fn answers(&self) -> bool;

    /// Returns whether what was sent again a number of times is abandoned.
    fn abandons(&self) -> bool;

    /// Returns whether phases have services of their own.
    fn switches(&self) -> bool {
        <Self::Configuration as Configuration>::Switching::SWITCHES
    }

    /// Returns whether the two sides negotiate rules while data flow.
    fn negotiates(&self) -> bool {
        <Self::Configuration as Configuration>::Switching::NEGOTIATES
    }

    /// Returns the check of packets.
    fn check(&self) -> PacketCheck;

    /// Returns the check of packets that belong to no association.
    fn integrity(&self) -> &<Self::Configuration as Configuration>::Integrity;

    /// Makes the policies of an association.
    fn slots(&self, format: TailoredFormat<Self::Message>) -> Slots<Self::Configuration>;
}

/// The slots in which both sides must have the same policy. The others are a sender's own.
const AGREED: [&str; 6] =
    ["ordering", "framing", "integrity", "connection", "acknowledgement", "flow"];

/// Returns which check a policy makes.
fn check_of(integrity: &Facts) -> PacketCheck {
    const CRC: &str = integrity::Crc32c::FACTS.name;
    const CXOR: &str = integrity::Cxor::FACTS.name;
    match (integrity.gives.has(Property::CHECKS), integrity.name) {
        (false, _) => PacketCheck::Absent,
        (true, CRC) => PacketCheck::Crc32c,
        (true, CXOR) => PacketCheck::Cxor,
        (true, _) => PacketCheck::Internet,
    }
}

fn place(slot: &str) -> usize {
    SLOTS.iter().position(|other| *other == slot).unwrap_or(0)
}

/// Policies that a program names by a [configuration](stackwright_transport::configuration): what
/// is not named is not in it.
pub struct Named<C: Configuration> {
    values: PolicyValues,
    integrity: C::Integrity,
}

impl<C: Configuration<Integrity: FromValues>> Named<C> {
    /// Fills the configuration with `values`.
    pub fn new(values: PolicyValues) -> Self {
        Named { values, integrity: C::Integrity::from_values(&values) }
    }
}

impl<C> Tailoring for Named<C>
where
    C: Configuration<Format = TailoredFormat<<C as Configuration>::Message>>,
    C::Ordering: FromValues,
    C::Framing: FromValues,
    C::Integrity: FromValues,
    C::Connection: FromValues,
    C::Acknowledgement: FromValues,
    C::Inquiry: FromValues,
    C::Recovery: FromValues,
    C::Rtt: FromValues,
    C::Flow: FromValues,
    C::Congestion: FromValues,
    C::Rate: FromValues,
    C::Lifetime: FromValues,
    C::Switching: FromValues,
{
    type Message = C::Message;
    type Configuration = C;
    const GIVES: Guarantees = promised(C::PARTS);

    fn values(&self) -> &PolicyValues {
        &self.values
    }

    fn agreed(&self, see: &mut dyn FnMut(&'static str)) {
        AGREED.iter().for_each(|slot| see(C::PARTS[place(slot)].name));
    }

    fn answers(&self) -> bool {
        given(C::PARTS).has(Property::REPEATS)
    }

    fn abandons(&self) -> bool {
        given(C::PARTS).has(Property::ABANDONS)
    }

    fn check(&self) -> PacketCheck {
        check_of(&C::PARTS[place("integrity")])
    }

    fn integrity(&self) -> &C::Integrity {
        &self.integrity
    }

    fn slots(&self, format: TailoredFormat<C::Message>) -> Slots<C> {
        let values = &self.values;
        let switching = C::Switching::from_values(values);
        let slots = Slots::from(Policies {
            format,
            ordering: C::Ordering::from_values(values),
            framing: C::Framing::from_values(values),
            integrity: C::Integrity::from_values(values),
            connection: C::Connection::from_values(values),
            acknowledgement: C::Acknowledgement::from_values(values),
            inquiry: C::Inquiry::from_values(values),
            recovery: C::Recovery::from_values(values),
            rtt: C::Rtt::from_values(values),
            flow: C::Flow::from_values(values),
            congestion: C::Congestion::from_values(values),
            rate: C::Rate::from_values(values),
            lifetime: C::Lifetime::from_values(values),
        });
        slots.switching_by(switching)
    }
}

/// The policies of a plan, boxed: any that a program makes while it runs.
///
/// What is promised to the layer above is known only then: the rule book of a graph asks it, but a
/// stack that the compiler checks and that needs a promise must name a configuration.
///
/// With [`PlannedSwitching`](stackwright_policies::switching::PlannedSwitching) as `S`, it takes
/// plans whose services change while data flow as well; associations are larger for it.
pub struct Planned<M: Message, S: Switching + 'static = ()> {
    plan: Plan,
    values: PolicyValues,
    /// An association that never begins, to be asked.
    example: Slots<Boxed<M, TailoredHeader, S>>,
}

impl<M: Message, S: Switching + FromValues + 'static> Planned<M, S> {
    /// Takes the policies of a plan, within bounds.
    ///
    /// # Errors
    /// A rule that is broken, where the plan was made for another format, or switches and `S` does
    /// not.
    pub fn new(plan: Plan, bounds: &Bounds) -> Result<Self, Misfit> {
        let terms = PacketTerms::LEAST;
        let example = plan.build(TailoredFormat::<M>::calling(terms, 0).part(), bounds)?;
        let values = plan.values(bounds);
        Ok(Planned { plan, values, example })
    }

    /// Returns the facts of the policies, in the order of [`SLOTS`], and of the switching.
    pub fn facts(&self) -> &[Facts] {
        self.example.facts()
    }
}

impl<M: Message, S: Switching + FromValues + 'static> Tailoring for Planned<M, S> {
    type Message = M;
    type Configuration = Boxed<M, TailoredHeader, S>;
    const GIVES: Guarantees = Guarantees::ONCE;

    fn gives(&self) -> Guarantees {
        promised(self.example.facts())
    }

    fn values(&self) -> &PolicyValues {
        &self.values
    }

    fn agreed(&self, see: &mut dyn FnMut(&'static str)) {
        AGREED.iter().for_each(|slot| see(self.example.facts()[place(slot)].name));
    }

    fn answers(&self) -> bool {
        given(self.example.facts()).has(Property::REPEATS)
    }

    fn abandons(&self) -> bool {
        given(self.example.facts()).has(Property::ABANDONS)
    }

    fn switches(&self) -> bool {
        self.plan.requirements().switches()
    }

    fn negotiates(&self) -> bool {
        self.plan.requirements().negotiates
    }

    fn check(&self) -> PacketCheck {
        check_of(&self.example.facts()[place("integrity")])
    }

    fn integrity(&self) -> &Box<dyn slots::Integrity<M>> {
        self.example.integrity()
    }

    fn slots(&self, format: TailoredFormat<M>) -> Slots<Self::Configuration> {
        let built = self.plan.build(format.part(), &self.values.bounds);
        built.unwrap_or_else(|misfit| unreachable!("it was built before: {misfit:?}"))
    }
}
