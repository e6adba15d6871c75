//! Inquiries to many, of which answers are often lost.

use stackwright_transport::rules::{Component, Facts};
use stackwright_transport::slots::{self, Inquiry};
use stackwright_transport::words::{Nanoseconds, View};
use stackwright_transport::wraps;

/// Asks as another policy does, and takes an answer to any inquiry for one to the newest. Of a
/// group, the newest is seldom answered: each member's answer has to arrive. Where members answer
/// at all, the other policy need not insist, and wait longer each time.
///
/// Choose it for groups, around a policy that insists on the newest answer.
///
/// ```
/// use stackwright_policies::inquiry::{AnyAnswer, WindowEnd};
/// let asks = AnyAnswer::new(WindowEnd::new(12, 1 << 19));
/// # let _ = asks;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AnyAnswer<I> {
    other: I,
    latest: u32,
}

impl<I> AnyAnswer<I> {
    /// Asks as `other` does.
    pub const fn new(other: I) -> Self {
        AnyAnswer { other, latest: 0 }
    }
}

wraps! { AnyAnswer<I>: other }

impl<I: Inquiry> slots::WrapsInquiry for AnyAnswer<I> {
    fn on_asked(&mut self, view: &View, number: u32) {
        self.latest = number;
        self.other.on_asked(view, number);
    }

    fn on_answer(&mut self, view: &View, _: u32, took: Nanoseconds) {
        self.other.on_answer(view, self.latest, took);
    }
}

impl<I: Component> Component for AnyAnswer<I> {
    const FACTS: Facts = Facts {
        name: "inquiry that any answer satisfies",
        does: "takes an answer to any inquiry for one to the newest, and else asks as another policy does",
        ..I::FACTS
    };
}
