//! No check.

use stackwright_transport::component;
use stackwright_transport::slots::Integrity;
use stackwright_wire::Message;

/// Checks nothing: the layer below does that, as UDP does.
///
/// ```
/// use stackwright_policies::integrity::Absent;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Absent::FACTS.gives.has(Property::CHECKS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl<M: Message> Integrity<M> for Absent {}

component! { Absent: "integrity absent", "checks nothing" }
