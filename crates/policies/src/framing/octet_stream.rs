//! Octets without bounds of messages.

use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::slots::{Framing, Joined};
use stackwright_transport::words::{Dropped, Label, UnitHeader, View};
use stackwright_wire::{Message, Pool};

/// Carries octets in order and does not keep the bounds of messages. An empty message vanishes.
///
/// Choose it for files and for terminals: no packet says anything about messages.
///
/// ```
/// use stackwright_policies::framing::OctetStream;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!OctetStream::FACTS.gives.has(Property::BOUNDS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OctetStream;

impl<M: Message> Framing<M> for OctetStream {
    fn begin(
        &mut self,
        message: M,
        _: &MessageProperties,
        room: usize,
        _: &Pool<M>,
    ) -> Result<(M, Label, usize), M> {
        Ok((message, Label::default(), room))
    }

    fn keeps_bounds(&self) -> bool {
        false
    }

    #[inline]
    fn join(
        &mut self,
        _: &View,
        unit: &UnitHeader,
        _: &mut M,
        _: &Pool<M>,
    ) -> Result<Option<Joined>, Dropped> {
        Ok(Some(Joined { properties: MessageProperties::default(), numbers: unit.numbers() }))
    }
}

component! {
    OctetStream: "framing as a stream", "keeps no bounds of messages",
    // Nothing shows the application that octets were left out.
    needs: Property::TOTAL, shuns: Property::ABANDONS,
}
