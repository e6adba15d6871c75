//! Nobody says how much he takes.

use stackwright_transport::component;
use stackwright_transport::slots::Flow;

/// Nobody says how much he takes, and everything is taken: for applications that are faster than
/// the network.
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
