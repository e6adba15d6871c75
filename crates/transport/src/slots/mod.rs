//! The slots. A policy is told (`on_*`, which takes `&mut self`) and asked (everything else: asking
//! changes nothing). It never acts, and it holds only its own opinion: so it can be replaced
//! between two packets.
//!
//! | slot | asks |
//! | --- | --- |
//! | [`Format`] | how is it written? |
//! | [`Connection`] | is there an association, and may it be used? |
//! | [`Acknowledgement`] | what does the receiver say, and when? |
//! | [`Inquiry`] | when does the sender ask, and insist? |
//! | [`Recovery`] | what is lost? |
//! | [`Rtt`] | how long is the round trip? |
//! | [`Flow`] | how much does the peer take? |
//! | [`Congestion`] | how much does the network take? |
//! | [`Rate`] | how fast? |
//! | [`Ordering`] | what may be delivered now? |
//! | [`Framing`] | how does a message become pieces, and pieces a message? |
//! | [`Lifetime`] | is it still of use? |
//! | [`Integrity`] | is it what was sent? |
//! | [`Membership`] | does one peer report, or a group? |
//! | [`Switching`] | by which rules does a message go? |
//!
//! Format, ordering and framing hold data, and stay what they are for the life of an association;
//! the others are judges. The membership and the switching are fixed, too: they are parts of the
//! type of a configuration, and absent unless that names them.

mod control;
mod format;
mod judges;
mod membership;
mod messages;
mod switching;

use alloc::boxed::Box;

pub use control::{
    Acknowledgement, Connection, Inquiry, PacketInfo, WrapsAcknowledgement, WrapsInquiry,
};
pub use format::{CheckAt, Format, Front, Integrity, pull_front};
pub use judges::{
    Congestion, CreditUpdate, Flow, Lifetime, Rate, Recovery, Rtt, Suspect, Suspects,
    WrapsCongestion, WrapsRecovery,
};
pub use membership::{DroppedMember, GroupCounts, MemberFault, Membership};
pub use messages::{Framing, Joined, Ordering};
pub use switching::{CommandAnswer, Switching};

/// A policy around another one.
pub trait Wraps {
    /// The other policy.
    type Inner: ?Sized;
    /// Returns the other policy, to be asked.
    fn inner(&self) -> &Self::Inner;
    /// Returns the other policy, to be told.
    fn inner_mut(&mut self) -> &mut Self::Inner;
}

impl<T: ?Sized> Wraps for Box<T> {
    type Inner = T;
    #[inline]
    fn inner(&self) -> &T {
        self
    }
    #[inline]
    fn inner_mut(&mut self) -> &mut T {
        self
    }
}

/// Names the field in which a policy holds the one that it [wraps](crate::slots::Wraps).
///
/// ```
/// use stackwright_transport::{slots, wraps};
/// struct Limited<R>(R, u16);
/// wraps! { Limited<R>: 0 }
/// impl<R: slots::Recovery> slots::WrapsRecovery for Limited<R> {
///     fn resends(&self) -> Option<u16> {
///         Some(self.1)
///     }
/// }
/// ```
#[macro_export]
macro_rules! wraps {
    ($Policy:ident<$Inner:ident>: $field:tt) => {
        impl<$Inner> $crate::slots::Wraps for $Policy<$Inner> {
            type Inner = $Inner;
            #[inline]
            fn inner(&self) -> &$Inner {
                &self.$field
            }
            #[inline]
            fn inner_mut(&mut self) -> &mut $Inner {
                &mut self.$field
            }
        }
    };
}

/// Declares the trait of a slot, and that a box of it fits the slot as well. `= value` is a default
/// answer. `wrapped by` names a second trait with the same methods, for policies that
/// [wrap](Wraps) another one: its default answers are those of the other one. A policy may be sent
/// to another thread, with the stack that it belongs to.
macro_rules! slot {
    (
        $(#[$doc:meta])*
        trait $Slot:ident $(wrapped by $Wraps:ident)? $(<$M:ident>)?
        $(with $Front:ident: $Bound:path)? {
            $(
                $(#[$fdoc:meta])*
                fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)* $(,)?) $(-> $r:ty)?
                $(= $default:expr)?;
            )*
        }
    ) => {
        $(#[$doc])*
        #[allow(unused_variables, reason = "a default answer looks at nothing")]
        pub trait $Slot $(<$M: stackwright_wire::Message>)?: Send {
            $(
                /// What was read of a packet before its association was known.
                type $Front: $Bound;
            )?
            $( slot! {
                @one [$(#[$fdoc])*] fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? $(= $default)?
            } )*
        }

        slot! {
            @around $Slot $($Wraps)? [$($M)?] [$($Front)?]
            $( fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)?; )*
        }
    };
    (
        @one [$($doc:tt)*]
        fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)? = $default:expr
    ) => {
        $($doc)*
        #[inline]
        fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? { $default }
    };
    (@one [$($doc:tt)*] fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)?) => {
        $($doc)*
        fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)?;
    };
    (@around $Slot:ident [$($M:ident)?] [$($Front:ident)?]
        $( fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)?; )*
    ) => {
        impl<$($M: stackwright_wire::Message,)? T: $Slot $(<$M>)? + ?Sized> $Slot $(<$M>)?
            for alloc::boxed::Box<T>
        {
            $( type $Front = T::$Front; )?
            $(
                #[inline]
                fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? { slot!(@inner $($me)+).$f($($a),*) }
            )*
        }
    };
    (@around $Slot:ident $Wraps:ident [] []
        $( fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)?; )*
    ) => {
        #[doc = concat!("Fits the slot [`", stringify!($Slot), "`] as the policy that it")]
        /// [wraps](super::Wraps) does, but for the methods that it has of its own.
        #[allow(missing_docs, reason = "each is the method of that name of the slot")]
        pub trait $Wraps: super::Wraps<Inner: $Slot> + Send {
            $(
                #[inline]
                fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? { slot!(@inner $($me)+).$f($($a),*) }
            )*
        }

        #[diagnostic::do_not_recommend]
        impl<T: $Wraps> $Slot for T {
            $(
                #[inline]
                fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? {
                    $Wraps::$f(slot!(@self $($me)+) $(, $a)*)
                }
            )*
        }

        impl<T: $Slot + ?Sized> $Wraps for alloc::boxed::Box<T> {}
    };
    (@inner mut $me:ident) => { super::Wraps::inner_mut($me) };
    (@inner $me:ident) => { super::Wraps::inner($me) };
    (@self mut $me:ident) => { $me };
    (@self $me:ident) => { $me };
}

use slot;
