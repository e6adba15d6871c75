//! One protocol over another.
//!
//! Each side is lent an outlet that calls straight into the other: data falls and rises in plain
//! nested calls. Only an answer that comes while the other side is still speaking waits in a queue,
//! so that no answer arrives before the handler that asked has returned.
//!
//! | outlet | its words for the neighbour | its words for the outside |
//! | --- | --- | --- |
//! | [`UpperSpeaks`] | run into the lower | straight out, upward |
//! | [`LowerHears`], called by the former | wait in `rising` | straight out, downward |
//! | [`LowerSpeaks`] | run into the upper | straight out, downward |
//! | [`UpperHears`], called by the former | wait in `sinking` | straight out, upward |
//!
//! Everything on the straight path is always inlined. These functions do nothing of their own; as
//! calls they would keep each word, and the message in it, in memory. For the same reason whether
//! there was an answer is a local truth, in `answered`: where a layer does not answer at once, the
//! compiler sees that there is nothing to settle.

use alloc::collections::VecDeque;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Context, Facts, IndicationOf, IndicationTo, Instant, Meets, NameAbove, Outlet,
    Protocol, RequestOf, RequestTo, earliest, hand_down, hand_up, rules,
};

/// The rounds of answers that two neighbours may exchange without a pause. A round is everything
/// that waited when it began, however many associations it is for: a crowd that answers at once is
/// one round. A backlog that is handed over message by message, as room for one after another comes
/// back, takes two rounds for each: it may have four million, as many as a thousand senders have in
/// flight. Only a dialogue that never ends reaches this bound.
pub(crate) const ROUNDS_MOST: usize = 1 << 23;

/// `U` over `L`.
#[derive(Debug)]
pub struct Over<U: Protocol, L: Protocol> {
    /// The upper neighbour.
    pub upper: U,
    /// The lower neighbour.
    pub lower: L,
    joint: Joint<U, L>,
}

/// What one side said while the other was still speaking. Nearly always empty.
struct Joint<U: Protocol, L: Protocol> {
    rising: VecDeque<IndicationOf<L>>,
    sinking: VecDeque<RequestOf<U>>,
}

impl<U: Protocol, L: Protocol> core::fmt::Debug for Joint<U, L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Joint({} rising, {} sinking)", self.rising.len(), self.sinking.len())
    }
}

impl<U: Protocol, L: Protocol> Over<U, L> {
    /// Asks the rule book about this joint; in a constant, a refusal is an error where the constant
    /// stands.
    ///
    /// # Panics
    /// With the refusal.
    #[track_caller]
    pub const fn fits()
    where
        // A bound of the function, not of the block: so the compiler says the sentence of `Meets`.
        L::Provides: Meets<U::Uses>,
    {
        if let Err(misfit) = rules::fits(&U::FACTS, &L::FACTS) {
            panic!("{}", misfit.explain().as_str());
        }
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>> Over<U, L> {
    /// Joins two neighbours. Does not compile where the rule book refuses.
    pub const fn new(upper: U, lower: L) -> Self {
        const { Self::fits() };
        Over { upper, lower, joint: Joint { rising: VecDeque::new(), sinking: VecDeque::new() } }
    }

    /// Delivers the answers that waited, and the answers to those, until both sides are silent.
    ///
    /// The outlets have the types of the straight path, so that no protocol is compiled a second
    /// time for its answers.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        for _round in 0..ROUNDS_MOST {
            let waiting = self.joint.rising.len() + self.joint.sinking.len();
            if waiting == 0 {
                return;
            }
            for _word in 0..waiting {
                let Over { upper, lower, joint } = self;
                if let Some(indication) = joint.rising.pop_front() {
                    let outlet = &mut UpperHears { joint, out, answered: false };
                    hand_up(upper, L::BATCHES.to_above, cx, indication, outlet);
                } else if let Some(request) = joint.sinking.pop_front() {
                    let outlet = &mut LowerHears { joint, out, answered: false };
                    hand_down(lower, U::BATCHES.to_below, cx, request, outlet);
                }
            }
        }
        panic!("`{}` and `{}` answer each other without end", U::FACTS.name, L::FACTS.name);
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>> Protocol for Over<U, L> {
    const FACTS: Facts = {
        Self::fits();
        rules::stacked(&U::FACTS, &L::FACTS)
    };
    const BATCHES: Batches = Batches::over(U::BATCHES, L::BATCHES);
    type Provides = U::Provides;
    type Uses = L::Uses;

    #[inline(always)]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let Over { upper, lower, joint } = self;
        let mut outlet = UpperSpeaks { cx, lower, joint, out, answered: false };
        upper.handle_request(cx, request, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
    }

    #[inline(always)]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let Over { upper, lower, joint } = self;
        let mut outlet = LowerSpeaks { cx, upper, joint, out, answered: false };
        lower.handle_indication(cx, indication, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let Over { upper, lower, joint } = self;
        let mut outlet = LowerSpeaks { cx, upper, joint, out, answered: false };
        lower.handle_timeout(cx, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
        let Over { upper, lower, joint } = self;
        let mut outlet = UpperSpeaks { cx, lower, joint, out, answered: false };
        upper.handle_timeout(cx, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.upper.next_deadline(), self.lower.next_deadline())
    }

    /// Flushes from the top down, once each: what the upper asks for now is what the lower sends
    /// now.
    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let Over { upper, lower, joint } = self;
        let mut outlet = UpperSpeaks { cx, lower, joint, out, answered: false };
        upper.flush(cx, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
        let Over { upper, lower, joint } = self;
        let mut outlet = LowerSpeaks { cx, upper, joint, out, answered: false };
        lower.flush(cx, &mut outlet);
        if outlet.answered {
            self.settle(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.upper.wants_flush() || self.lower.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.upper.may_exit() && self.lower.may_exit()
    }

    fn ask(&self, about: NameAbove<Self>, question: &mut Question<'_>, below: &dyn Ask<L::Uses>) {
        self.upper.ask(about, question, &Below { lower: &self.lower, below });
    }
}

/// A layer and what is below it, as the layer above asks it.
struct Below<'a, L: Protocol> {
    lower: &'a L,
    below: &'a dyn Ask<L::Uses>,
}

impl<L: Protocol> Ask<L::Provides> for Below<'_, L> {
    fn ask(&self, about: NameAbove<L>, question: &mut Question<'_>) {
        self.lower.ask(about, question, self.below);
    }
}

struct UpperSpeaks<'a, U: Protocol, L: Protocol, O> {
    cx: &'a Context,
    lower: &'a mut L,
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
    answered: bool,
}

struct LowerHears<'a, U: Protocol, L: Protocol, O> {
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
    answered: bool,
}

struct LowerSpeaks<'a, U: Protocol, L: Protocol, O> {
    cx: &'a Context,
    upper: &'a mut U,
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
    answered: bool,
}

struct UpperHears<'a, U: Protocol, L: Protocol, O> {
    joint: &'a mut Joint<U, L>,
    out: &'a mut O,
    answered: bool,
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<U>
    for UpperSpeaks<'_, U, L, O>
{
    #[inline(always)]
    fn indicate(&mut self, indication: IndicationOf<U>) {
        self.out.indicate(indication);
    }

    #[inline(always)]
    fn request(&mut self, request: RequestOf<U>) {
        let mut outlet = LowerHears { joint: self.joint, out: self.out, answered: false };
        hand_down(self.lower, U::BATCHES.to_below, self.cx, request, &mut outlet);
        self.answered |= outlet.answered;
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<L>
    for LowerHears<'_, U, L, O>
{
    #[inline(always)]
    fn indicate(&mut self, indication: IndicationOf<L>) {
        self.joint.rising.push_back(indication);
        self.answered = true;
    }

    #[inline(always)]
    fn request(&mut self, request: RequestOf<L>) {
        self.out.request(request);
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<L>
    for LowerSpeaks<'_, U, L, O>
{
    #[inline(always)]
    fn indicate(&mut self, indication: IndicationOf<L>) {
        let mut outlet = UpperHears { joint: self.joint, out: self.out, answered: false };
        hand_up(self.upper, L::BATCHES.to_above, self.cx, indication, &mut outlet);
        self.answered |= outlet.answered;
    }

    #[inline(always)]
    fn request(&mut self, request: RequestOf<L>) {
        self.out.request(request);
    }
}

impl<U: Protocol, L: Protocol<Provides = U::Uses>, O: Outlet<Over<U, L>>> Outlet<U>
    for UpperHears<'_, U, L, O>
{
    #[inline(always)]
    fn indicate(&mut self, indication: IndicationOf<U>) {
        self.out.indicate(indication);
    }

    #[inline(always)]
    fn request(&mut self, request: RequestOf<U>) {
        self.joint.sinking.push_back(request);
        self.answered = true;
    }
}
