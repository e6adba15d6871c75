//! No flow control.

use stackwright_transport::component;
use stackwright_transport::slots::Flow;

/// Advertises no credit and accepts everything, for applications that are faster than the network.
///
/// ```
/// use stackwright_policies::flow::Absent;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Absent::FACTS.gives.has(Property::CREDIT));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Flow for Absent {}

component! { Absent: "flow absent", "takes whatever comes" }
