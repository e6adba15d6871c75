//! No inquiries.

use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Occasion, View};

/// Never asks: the receiver reports by itself, or not at all.
///
/// ```
/// use stackwright_policies::inquiry::Absent;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Absent::FACTS.gives.has(Property::ASKS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Inquiry for Absent {
    fn due(&self, _: &View, _: Occasion) -> bool {
        false
    }

    fn heeds_sent(&self) -> bool {
        false
    }
}

component! { Absent: "inquiry absent", "never asks" }
