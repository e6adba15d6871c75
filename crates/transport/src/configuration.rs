//! A configuration: one policy for each slot. One line lists the slots; everything with one field
//! per slot is generated from it.

use alloc::boxed::Box;
use core::marker::PhantomData;

use stackwright_wire::Message;

use crate::rules::{Component, Facts, Misfit, check};
use crate::slots::{
    Acknowledgement, Congestion, Connection, Flow, Format, Framing, Front, Inquiry, Integrity,
    Lifetime, Membership, Ordering, Rate, Recovery, Rtt, Switching,
};

/// A policy that a program chooses at run time, and its facts for the rule book.
pub struct SlotPart<T: ?Sized> {
    facts: Facts,
    policy: Box<T>,
}

impl<T: ?Sized> SlotPart<T> {
    /// Returns its facts for the rule book.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// Turns a policy into a part that a program chooses at run time.
///
/// ```
/// use stackwright_transport::{IntoPart, SlotPart, component, slots::Rate};
/// struct Unlimited;
/// impl Rate for Unlimited {}
/// component! { Unlimited: "rate absent", "sends as fast as the window allows" }
/// let part: SlotPart<dyn Rate> = Unlimited.part();
/// assert_eq!(part.facts().name, "rate absent");
/// ```
pub trait IntoPart<T: ?Sized> {
    /// Boxes the policy.
    fn part(self) -> SlotPart<T>;
}

/// Replaces a judge between two packets: a judge holds no numbers, octets or receipts.
pub trait Exchange<T: ?Sized> {
    /// Puts `part` into its slot, and returns the part that was there.
    ///
    /// # Errors
    /// If the rule book refuses the result; then nothing has changed.
    fn exchange(&mut self, part: SlotPart<T>) -> Result<SlotPart<T>, Misfit>;
}

/// What the format of a configuration is given of a packet that was read before.
pub type FrontOf<C> =
    <<C as Configuration>::Format as Format<<C as Configuration>::Message>>::Front;

/// The facts where there is one set of rules.
const UNSWITCHED: Facts = Facts::of("switching absent", "has all messages go by one set of rules");

macro_rules! slots {
    (data { $($data:ident: $Data:ident $([$($of:tt)*])?,)* } judges { $($judge:ident: $Judge:ident,)* }) => {
        /// One type for each slot; written by [`configuration!`](crate::configuration).
        pub trait Configuration: 'static {
            /// How messages are held.
            type Message: Message;
            /// The facts of the policies, in the order of [`SLOTS`], and of the membership and the
            /// switching if there are any; empty if they are chosen at run time.
            const PARTS: &'static [Facts];
            $(
                #[doc = concat!("What fits the slot `", stringify!($data), "`.")]
                type $Data: $Data<Self::Message>;
            )*
            $(
                #[doc = concat!("What fits the slot `", stringify!($judge), "`.")]
                type $Judge: $Judge;
            )*
            /// Who reports: `()` is one peer.
            type Membership: Membership;
            /// By which rules messages go: `()` is one set of rules.
            type Switching: Switching;
        }

        /// The names of the slots, in the order in which facts are listed.
        pub const SLOTS: [&str; 13] = [$(stringify!($data),)* $(stringify!($judge),)*];

        /// The policies of a static configuration, by name.
        #[allow(missing_docs, reason = "each field is the slot of its name")]
        pub struct Policies<C: Configuration> {
            $(pub $data: C::$Data,)*
            $(pub $judge: C::$Judge,)*
        }

        /// The policies of one association.
        pub struct Slots<C: Configuration> {
            $(pub(crate) $data: C::$Data,)*
            $(pub(crate) $judge: C::$Judge,)*
            pub(crate) membership: C::Membership,
            pub(crate) switching: C::Switching,
            /// The facts of policies that were chosen at run time, the switching's last.
            facts: Option<Box<[Facts; SLOTS.len() + 1]>>,
        }

        impl<C: Configuration> From<Policies<C>> for Slots<C> {
            fn from(policies: Policies<C>) -> Self {
                // Boxes get in here only from `Parts` and from a configuration, both of which the
                // rule book has checked.
                const { assert!(!C::PARTS.is_empty(), "what is chosen while the program runs is made of Parts") };
                let membership = C::Membership::default();
                Slots {
                    $($data: policies.$data,)*
                    $($judge: policies.$judge,)*
                    membership,
                    switching: C::Switching::default(),
                    facts: None,
                }
            }
        }

        impl<C: Configuration> Slots<C> {
            /// Returns the same policies for an association with a group.
            #[must_use]
            pub fn in_group(self, membership: C::Membership) -> Self {
                Slots { membership, ..self }
            }

            /// Returns the same policies for an association that switches so.
            #[must_use]
            pub fn switching_by(self, switching: C::Switching) -> Self {
                Slots { switching, ..self }
            }

            /// Returns by which rules messages go.
            pub fn switching(&self) -> &C::Switching {
                &self.switching
            }

            /// Returns who reports.
            pub fn membership(&self) -> &C::Membership {
                &self.membership
            }

            /// Boxes the same policies, of an association with one peer.
            pub fn boxed(self) -> Slots<Boxed<C::Message, FrontOf<C>>>
            where
                C: Configuration<Membership = (), Switching = ()>,
                $(C::$Data: Component + 'static,)*
                $(C::$Judge: Component + 'static,)*
            {
                let facts = [
                    $(<C::$Data as Component>::FACTS,)*
                    $(<C::$Judge as Component>::FACTS,)*
                    UNSWITCHED,
                ];
                Slots {
                    $($data: Box::new(self.$data),)*
                    $($judge: Box::new(self.$judge),)*
                    membership: (),
                    switching: (),
                    facts: Some(Box::new(facts)),
                }
            }

            /// Returns their facts, in the order of [`SLOTS`], and those of the switching.
            pub fn facts(&self) -> &[Facts] {
                let count = SLOTS.len() + usize::from(C::Switching::SWITCHES);
                self.facts.as_deref().map_or(C::PARTS, |facts| &facts[..count])
            }

            $(
                #[doc = concat!("What is in the slot `", stringify!($data), "`, to be asked.")]
                pub fn $data(&self) -> &C::$Data {
                    &self.$data
                }
            )*

            $(
                #[doc = concat!("What is in the slot `", stringify!($judge), "`, to be asked.")]
                pub fn $judge(&self) -> &C::$Judge {
                    &self.$judge
                }
            )*
        }

        /// The configuration whose slots are boxes, which a program fills at run time. Its format
        /// is given an `F`; it switches by an `S`.
        pub struct Boxed<M, F = (), S = ()>(PhantomData<fn() -> (M, F, S)>);

        impl<M: Message, F: Front<M>, S: Switching + 'static> Configuration for Boxed<M, F, S> {
            type Message = M;
            const PARTS: &'static [Facts] = &[];
            $(type $Data = Box<dyn $Data<M, $($($of)*)?>>;)*
            $(type $Judge = Box<dyn $Judge>;)*
            type Membership = ();
            type Switching = S;
        }

        /// The policies that a program chose, by name. They become an association only through the
        /// rule book.
        #[allow(missing_docs, reason = "each field is the slot of its name")]
        pub struct Parts<M: Message, F: Front<M> = ()> {
            $(pub $data: SlotPart<dyn $Data<M, $($($of)*)?>>,)*
            $(pub $judge: SlotPart<dyn $Judge>,)*
        }

        impl<M: Message, F: Front<M>> Parts<M, F> {
            /// Returns the facts of each, in the order of [`SLOTS`].
            pub fn facts(&self) -> [Facts; SLOTS.len()] {
                [$(self.$data.facts,)* $(self.$judge.facts,)*]
            }

            /// Checks the policies with the rule book.
            ///
            /// # Errors
            /// The first rule that they break.
            pub fn build(self) -> Result<Slots<Boxed<M, F>>, Misfit> {
                self.build_switching(())
            }

            /// Checks the policies with the rule book, for an association that switches so.
            ///
            /// # Errors
            /// The first rule that they break.
            pub fn build_switching<S>(self, switching: S) -> Result<Slots<Boxed<M, F, S>>, Misfit>
            where
                S: Switching + 'static,
            {
                let switched = switching.facts().unwrap_or(UNSWITCHED);
                let facts = [$(self.$data.facts,)* $(self.$judge.facts,)* switched];
                check(&facts)?;
                let facts = Some(Box::new(facts));
                Ok(Slots {
                    $($data: self.$data.policy,)*
                    $($judge: self.$judge.policy,)*
                    membership: (),
                    switching,
                    facts,
                })
            }
        }

        $(impl<M: Message, P: $Data<M> + Component + 'static> IntoPart<slots!(@of P, $Data, $($($of)*)?)> for P {
            fn part(self) -> SlotPart<slots!(@of P, $Data, $($($of)*)?)> {
                SlotPart { facts: P::FACTS, policy: Box::new(self) }
            }
        })*

        $(impl<P: $Judge + Component + 'static> IntoPart<dyn $Judge> for P {
            fn part(self) -> SlotPart<dyn $Judge> {
                SlotPart { facts: P::FACTS, policy: Box::new(self) }
            }
        }

        impl<M, F, S> Exchange<dyn $Judge> for Slots<Boxed<M, F, S>>
        where
            M: Message,
            F: Front<M>,
            S: Switching + 'static,
        {
            fn exchange(&mut self, part: SlotPart<dyn $Judge>) -> Result<SlotPart<dyn $Judge>, Misfit> {
                let place = SLOTS.iter().position(|slot| *slot == stringify!($judge)).expect("it is listed");
                let known = self.facts.as_deref_mut().expect("what was chosen is known");
                let before = core::mem::replace(&mut known[place], part.facts);
                if let Err(misfit) = check(known) {
                    known[place] = before;
                    return Err(misfit);
                }
                let policy = core::mem::replace(&mut self.$judge, part.policy);
                Ok(SlotPart { facts: before, policy })
            }
        })*
    };
    (@of $P:ident, $Data:ident,) => { dyn $Data<M> };
    (@of $P:ident, $Data:ident, Front = F) => { dyn $Data<M, Front = $P::Front> };
}

// A policy that holds data stays for the life of an association; a judge can be exchanged.
slots! {
    data { format: Format [Front = F], ordering: Ordering, framing: Framing, integrity: Integrity, }
    judges {
        connection: Connection,
        acknowledgement: Acknowledgement,
        inquiry: Inquiry,
        recovery: Recovery,
        rtt: Rtt,
        flow: Flow,
        congestion: Congestion,
        rate: Rate,
        lifetime: Lifetime,
    }
}

/// Names a configuration and checks it with the rule book: one that makes no transport does not
/// compile.
///
/// Slots are written in the order in which facts are listed ([`SLOTS`]). What stands behind them
/// after `with` is the [membership](crate::slots::Membership) of associations with a group; without
/// it, associations have one peer. After `switching`, in brackets, is how associations
/// [switch](crate::slots::Switching) between rules; without it, there is one set of rules. A
/// configuration that is `like` another one takes every slot from it that is not written; the
/// membership and the switching are always its own.
///
/// ```compile_fail
/// use stackwright_transport::configuration;
/// configuration! { pub Nothing<M> { Format: (), Ordering: () } }
/// ```
#[macro_export]
macro_rules! configuration {
    (@or_absent) => { () };
    (@or_absent $Part:ty) => { $Part };
    // The type of a slot: the one that is written, else the base's.
    (@slot Format $Base:ty; Format: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Ordering $Base:ty; Ordering: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Framing $Base:ty; Framing: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Integrity $Base:ty; Integrity: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Connection $Base:ty; Connection: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Acknowledgement $Base:ty; Acknowledgement: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Inquiry $Base:ty; Inquiry: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Recovery $Base:ty; Recovery: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Rtt $Base:ty; Rtt: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Flow $Base:ty; Flow: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Congestion $Base:ty; Congestion: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Rate $Base:ty; Rate: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot Lifetime $Base:ty; Lifetime: $Part:ty, $($rest:tt)*) => { $Part };
    (@slot $Slot:ident $Base:ty; $Other:ident: $Part:ty, $($rest:tt)*) => {
        $crate::configuration!(@slot $Slot $Base; $($rest)*)
    };
    (@slot $Slot:ident $Base:ty;) => { <$Base as $crate::Configuration>::$Slot };
    (
        $(#[$doc:meta])*
        $vis:vis $Name:ident<$M:ident> like $Base:ident { $($Slot:ident: $SlotPart:ty),* $(,)? }
        $(switching [$Switching:ty])? $(with $Membership:ty)?
    ) => {
        $crate::configuration! {
            @like [$($Slot: $SlotPart,)*] $Base<$M>
            [$(switching [$Switching])? $(with $Membership)?];
            $(#[$doc])*
            $vis $Name<$M>;
            Format, Ordering, Framing, Integrity, Connection, Acknowledgement, Inquiry, Recovery,
            Rtt, Flow, Congestion, Rate, Lifetime
        }
    };
    (
        @like $written:tt $Base:ident<$M:ident> [$($behind:tt)*];
        $(#[$doc:meta])*
        $vis:vis $Name:ident<$Same:ident>;
        $($Slot:ident),*
    ) => {
        $crate::configuration! {
            $(#[$doc])*
            $vis $Name<$M> {
                $($Slot: $crate::configuration!(@written $Slot $Base<$M>; $written)),*
            }
            $($behind)*
        }
        // What is written names slots, and nothing else.
        $crate::configuration!(@named $Base $written);
    };
    (@written $Slot:ident $Base:ty; [$($written:tt)*]) => {
        $crate::configuration!(@slot $Slot $Base; $($written)*)
    };
    (@named $Base:ident [$($Slot:ident: $SlotPart:ty,)*]) => {
        const _: () = {
            type Base = $Base<$crate::SingleBuffer>;
            $(let _ = ::core::mem::size_of::<<Base as $crate::Configuration>::$Slot>();)*
        };
    };
    (
        $(#[$doc:meta])*
        $vis:vis $Name:ident<$M:ident> { $($Slot:ident: $SlotPart:ty),* $(,)? }
        $(switching [$Switching:ty])? $(with $Membership:ty)?
    ) => {
        $(#[$doc])*
        $vis struct $Name<$M>(::core::marker::PhantomData<fn() -> $M>);

        impl<$M: $crate::Message> $crate::Configuration for $Name<$M> {
            type Message = $M;
            const PARTS: &'static [$crate::rules::Facts] =
                &[
                    $(<$SlotPart as $crate::rules::Component>::FACTS,)*
                    $(<$Switching as $crate::rules::Component>::FACTS,)?
                    $(<$Membership as $crate::rules::Component>::FACTS)?
                ];
            $(type $Slot = $SlotPart;)*
            type Membership = $crate::configuration!(@or_absent $($Membership)?);
            type Switching = $crate::configuration!(@or_absent $($Switching)?);
        }

        // For one message instead of all, so that `cargo check` already reports it: no fact depends
        // on the message.
        const _: () = {
            #[allow(dead_code, reason = "not every policy holds messages")]
            type $M = $crate::SingleBuffer;
            $crate::rules::insist(&[
                $(<$SlotPart as $crate::rules::Component>::FACTS,)*
                $(<$Switching as $crate::rules::Component>::FACTS,)?
                $(<$Membership as $crate::rules::Component>::FACTS)?
            ])
        };
    };
}
