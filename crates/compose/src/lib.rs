//! Putting protocols together. At compile time: [`Over`], [`Beside`], [`Fork`], [`Join`], and
//! [`stack!`], which writes them and asks the rule book while the program is checked. At run time:
//! [`graph`]. In both: transparent layers, each a [`filter`].
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod filter;
pub mod graph;
mod stack;

pub use stack::{Beside, Fork, Join, JoinedLowers, Opaque, Over, Split, fork, join};

#[doc(hidden)]
pub use stackwright_macros::__stack;

/// Names a stack, as an equation, and asks the rule book about it at compile time.
///
/// `A over B` joins an upper and a lower neighbour, `B beside C` puts two lowers of different
/// services side by side; `over` leans right, so `A over B over C` reads from the top. The macro
/// writes a type alias and a constant for every joint, so that already `cargo check` reports a
/// stack that does not fit, in a sentence.
///
/// ```
/// use stackwright_compose::{Over, stack};
/// # mod parts {
/// #     use stackwright_contract::{services::Octets, *};
/// #     pub struct Tap;
/// #     pub struct Line;
/// #     macro_rules! part {
/// #         ($part:ty, $provides:ty, $uses:ty) => {
/// #             impl Protocol for $part {
/// #                 const FACTS: Facts = Facts::named(stringify!($part));
/// #                 type Provides = $provides;
/// #                 type Uses = $uses;
/// #                 fn handle_request(&mut self, _: &Context, _: RequestTo<Self>, _: &mut impl Outlet<Self>) {}
/// #                 fn handle_indication(&mut self, _: &Context, _: IndicationTo<Self>, _: &mut impl Outlet<Self>) {}
/// #             }
/// #         };
/// #     }
/// #     part!(Tap, Octets<u8>, Octets<u8>);
/// #     part!(Line, Octets<u8>, Nothing);
/// # }
/// use parts::{Line, Tap};
///
/// stack! {
///     /// A line with two taps.
///     pub Tapped = Tap over Tap over Line
/// }
///
/// let tapped: Tapped = Over::new(Tap, Over::new(Tap, Line));
/// ```
#[macro_export]
macro_rules! stack {
    ($($equation:tt)*) => { $crate::__stack! { $crate $($equation)* } };
}
