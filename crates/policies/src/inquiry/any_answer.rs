//! Inquiries to many, of which answers are often lost.

use stackwright_contract::Instant;
use stackwright_transport::rules::{Component, Facts};
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, View};

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

impl<I: Inquiry> Inquiry for AnyAnswer<I> {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        self.other.due(view, occasion)
    }

    fn awaits_taking(&self, view: &View, occasion: Occasion) -> bool {
        self.other.awaits_taking(view, occasion)
    }

    fn heeds_last(&self) -> bool {
        self.other.heeds_last()
    }

    fn heeds_sent(&self) -> bool {
        self.other.heeds_sent()
    }

    fn on_time(&mut self, view: &View, heard: Instant) {
        self.other.on_time(view, heard);
    }

    fn on_sent(&mut self, view: &View) {
        self.other.on_sent(view);
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        self.latest = number;
        self.other.on_asked(view, number);
    }

    fn on_answer(&mut self, view: &View, _: u32, took: Nanoseconds) {
        self.other.on_answer(view, self.latest, took);
    }

    fn believes(&self, number: u32) -> bool {
        self.other.believes(number)
    }

    fn holds(&self, view: &View) -> bool {
        self.other.holds(view)
    }

    fn gives_up(&self) -> bool {
        self.other.gives_up()
    }

    fn deadline(&self, view: &View) -> Instant {
        self.other.deadline(view)
    }
}

impl<I: Component> Component for AnyAnswer<I> {
    const FACTS: Facts = Facts {
        name: "inquiry that any answer satisfies",
        does: "takes an answer to any inquiry for one to the newest, and else asks as another policy does",
        ..I::FACTS
    };
}
