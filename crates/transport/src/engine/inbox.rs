//! What has arrived, until the application takes it.

use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_wire::Message as _;

use super::Association;
use crate::configuration::Configuration;
use crate::slots::{Acknowledgement as _, CreditUpdate, Flow as _};
use crate::words::View;

/// A message that the application has not taken.
pub(super) struct Arrived<M> {
    pub(super) message: M,
    pub(super) properties: MessageProperties,
    /// The count of its numbers.
    pub(super) numbers: u64,
    /// When it was complete.
    pub(super) since: Instant,
}

impl<C: Configuration> Association<C> {
    /// Returns the next message for the application, within `room`; none while the association is
    /// half open.
    #[inline]
    pub fn take(&mut self, now: Instant, room: Credit) -> Option<(C::Message, MessageProperties)> {
        if self.is_half_open() {
            return None; // it may be recorded, and replayed with a forged address
        }
        let octets = self.inbox.front()?.message.len();
        if room.messages == 0 || octets > room.octets {
            return None;
        }
        let Arrived { message, properties, numbers, since } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        // The layer above decides about what is over: it has to learn that something was.
        let left = |lifetime: NonZeroU32| {
            let waited = now.nanoseconds_since(since) / 1000;
            let left = u64::from(lifetime.get()).saturating_sub(waited);
            NonZeroU32::new(left as u32).unwrap_or(NonZeroU32::MIN)
        };
        Some((message, MessageProperties { lifetime: properties.lifetime.map(left), ..properties }))
    }

    /// Returns the octets of the next message for the application.
    pub(crate) fn next_octets(&self) -> usize {
        self.inbox.front().map_or(0, |next| next.message.len())
    }

    /// Returns the next octets of a stream, at most `most`; none while the association is half
    /// open. Only those that end a unit have its properties.
    pub fn take_octets(
        &mut self,
        now: Instant,
        most: usize,
    ) -> Option<(C::Message, MessageProperties)> {
        if self.is_half_open() || most == 0 {
            return None;
        }
        let first = self.inbox.front_mut()?;
        if first.message.len() > most {
            // The numbers are pending until the last octet is taken.
            return Some((first.message.split_to(most), MessageProperties::default()));
        }
        let Arrived { message, properties, numbers, .. } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some((message, properties))
    }

    /// Records that numbers are no longer pending.
    #[inline]
    pub(super) fn taken(&mut self, now: Instant, numbers: u64) {
        self.pending = self.pending.saturating_sub(numbers);
        self.on_taken(&self.view(now));
    }

    /// Tells the policies that fewer numbers are pending.
    #[inline(always)] // for each message
    pub(super) fn on_taken(&mut self, view: &View) {
        self.slots.acknowledgement.on_taken(view);
        match self.slots.flow.on_taken(view) {
            CreditUpdate::None => {}
            CreditUpdate::Tell => self.slots.acknowledgement.on_room(view, &self.receipts),
            CreditUpdate::Reserve => self.reserve_window(view),
        }
    }

    /// Reserves what the flow judge asks for, as far as other associations leave it, and tells it
    /// what it got.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve_window(&mut self, view: &View) {
        let flow = &mut self.slots.flow;
        flow.on_reserved(view, self.share.reserve_window(flow.reserves(view)));
        if flow.on_taken(view) == CreditUpdate::Tell {
            self.slots.acknowledgement.on_room(view, &self.receipts);
        }
    }

    /// Reserves `octets` for messages of the layer above that are not settled, or as many of them
    /// as other associations leave. Returns how many there are.
    pub(crate) fn reserve_unsettled(&mut self, octets: usize) -> usize {
        self.share.reserve_unsettled(octets)
    }

    /// Returns the number of messages that wait for the application; 0 while the association is
    /// half open.
    #[inline]
    pub fn inbox(&self) -> usize {
        if self.is_half_open() { 0 } else { self.inbox.len() }
    }
}
