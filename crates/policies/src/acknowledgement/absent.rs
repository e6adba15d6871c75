//! No reports.

use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{Report, View};
use stackwright_transport::{Receipts, component};

/// Reports nothing: for data that is never sent again.
///
/// ```
/// use stackwright_policies::acknowledgement::Absent;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Absent::FACTS.gives.has(Property::REPORTS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Acknowledgement for Absent {
    fn report(&self, _: &View, _: &Receipts, _: usize, _: &mut Report) -> bool {
        false
    }
}

component! { Absent: "acknowledgement absent", "reports nothing" }
