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
//!
//! Format, ordering and framing hold data, and stay what they are for the life of an association;
//! the others are judges. The membership is fixed, too: it is a part of the type of a
//! configuration, and absent unless that names one.

mod control;
mod format;
mod judges;
mod membership;
mod messages;

pub use control::{Acknowledgement, Connection, Inquiry, PacketInfo};
pub use format::{CheckAt, Format, Front, Integrity, pull_front};
pub use judges::{
    Congestion, CreditUpdate, Flow, Lifetime, Rate, Recovery, Rtt, Suspect, Suspects,
};
pub use membership::{DroppedMember, GroupCounts, MemberFault, Membership};
pub use messages::{Framing, Joined, Ordering};

/// Declares the trait of a slot, and that a box of it fits the slot as well. `= value` is a default
/// answer. A policy may be sent to another thread, with the stack that it belongs to.
macro_rules! slot {
    (
        $(#[$doc:meta])*
        trait $Slot:ident $(<$M:ident>)? $(with $Front:ident: $Bound:path)? {
            $( $(#[$fdoc:meta])* fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)* $(,)?) $(-> $r:ty)? $(= $default:expr)?; )*
        }
    ) => {
        $(#[$doc])*
        #[allow(unused_variables, reason = "a default answer looks at nothing")]
        pub trait $Slot $(<$M: stackwright_wire::Message>)?: Send {
            $(
                /// What was read of a packet before its association was known.
                type $Front: $Bound;
            )?
            $( slot! { @one [$(#[$fdoc])*] fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? $(= $default)? } )*
        }

        impl<$($M: stackwright_wire::Message,)? T: $Slot $(<$M>)? + ?Sized> $Slot $(<$M>)? for alloc::boxed::Box<T> {
            $( type $Front = T::$Front; )?
            $(
                #[inline]
                fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? {
                    slot!(@me $($me)+).$f($($a),*)
                }
            )*
        }
    };
    (@one [$($doc:tt)*] fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)? = $default:expr) => {
        $($doc)*
        #[inline]
        fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)? { $default }
    };
    (@one [$($doc:tt)*] fn $f:ident(& $($me:ident)+ $(, $a:ident: $t:ty)*) $(-> $r:ty)?) => {
        $($doc)*
        fn $f(& $($me)+ $(, $a: $t)*) $(-> $r)?;
    };
    (@me mut $me:ident) => { (**$me) };
    (@me $me:ident) => { (**$me) };
}

use slot;
