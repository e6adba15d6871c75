//! The slots for what is delivered when, and for how pieces become messages.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::PhaseRule;
use stackwright_contract::services::MessageProperties;
use stackwright_wire::Pool;

use super::slot;
use crate::words::{Dropped, EpochMark, Label, Unit, UnitHeader, View};

slot! {
    /// The order of delivery. Duplicates never come here.
    trait Ordering<M> {
        /// Records what the packet of the unit that arrives next says of its epoch.
        fn on_mark(&mut self, mark: EpochMark) = ();
        /// Has the units of `phase` go by `rule` from now on. Returns whether they do: not where
        /// units may arrive that go by the one before.
        fn on_rule(&mut self, phase: u8, rule: PhaseRule) -> bool = false;
        /// Takes a unit that arrived; returns it if it may be delivered at once.
        fn arrive(&mut self, unit: Unit<M>) -> Option<Unit<M>>;
        /// Returns whether every unit is delivered as it comes.
        fn passes(&self) -> bool = false;
        /// Takes a unit with these numbers that arrived, if it is delivered at once and nothing
        /// with it; returns whether it is. If not, it [arrives](Ordering::arrive).
        fn takes_next(&mut self, span: &Range<u64>) -> bool = self.passes();
        /// Returns the next unit that may be delivered with it.
        fn next(&mut self) -> Option<Unit<M>> = None;
        /// Returns how many octets of memory wait for what is missing, with what each unit costs
        /// beside its own.
        fn held(&self) -> usize = 0;
        /// Returns how many octets of units wait for what is missing.
        fn early(&self) -> usize = 0;
        /// Returns the number before which nothing is expected any more.
        fn forgives(&self) -> Option<u64> = None;
        /// Records the first number that will come.
        fn begin(&mut self, first: u64) = ();
    }
}

/// The metadata of a message that is complete, or of the first of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The properties. Those behind it have the numbers after its own.
    pub properties: MessageProperties,
    /// How many numbers its units had, or those of all messages.
    pub numbers: u64,
}

slot! {
    /// How a message becomes pieces, and pieces a message.
    trait Framing<M> {
        /// Begins: `first` is the first number that will come, and `agreed` what both sides agreed
        /// on, as the format writes it. Before, nothing has left or was delivered.
        fn on_begun(&mut self, first: u64, agreed: &[u8]) = ();
        /// Prepares a message of the layer above to leave in packets that carry `room` octets:
        /// returns the message to be cut, the label of its pieces, and the octets of each but the
        /// last. `pool` has memory for what has to be made anew.
        ///
        /// # Errors
        /// Returns the message if it is longer than can be carried, or if the association has to
        /// begin first.
        fn begin(&mut self, message: M, properties: &MessageProperties, room: usize, pool: &Pool<M>) -> Result<(M, Label, usize), M>;
        /// Prepares messages of `octets` octets with default properties in a [gapped
        /// buffer](stackwright_wire::Message::drop_gaps): the label is that of the first, and says
        /// how many pieces each has. They are numbered one after the other.
        ///
        /// # Errors
        /// Returns the messages if they are to be sent one by one.
        fn begin_run(&mut self, run: M, octets: usize, room: usize) -> Result<(M, Label, usize), M> = Err(run);
        /// Returns how a message of `octets` octets with default properties would be cut for
        /// packets that carry `room` octets: the octets that are put before it, the number of
        /// pieces, and the octets of each but the last. `None` if it would be made anew, or not be
        /// cut.
        fn pieces(&self, octets: usize, room: usize) -> Option<(usize, usize, usize)> = None;
        /// Returns whether messages are delivered as they were sent, even one of no octets.
        fn keeps_bounds(&self) -> bool = true;
        /// Decides whether a new unit may be acknowledged: what is refused here is sent again, and
        /// what is admitted is never refused later for want of memory. `follows`: all that was sent
        /// before it has arrived. Then everything waits for it, and it is refused only if the peer
        /// broke the rules, since a sender that obeys them could not go on. Of several packets, all
        /// are admitted, as if each had been asked about by itself, or none.
        ///
        /// Returns how many octets are reserved for incomplete messages, with this one if it begins
        /// one; 0 if it needs nothing more. A message that was begun has its whole length reserved,
        /// or its last pieces would be refused.
        ///
        /// # Errors
        /// [`Dropped::NoRoom`] if it may come again; [`Dropped::Overrun`] if the peer exceeds what
        /// it may begin, which ends the association if everything waits for it; any other if it
        /// contradicts what arrived before.
        fn admits(&self, unit: &UnitHeader, octets: usize, follows: bool) -> Result<usize, Dropped> = Ok(0);
        /// Joins a unit, of which nothing was received before. If it completes a message, or is
        /// several, `body` is left as that message, or those.
        ///
        /// # Errors
        /// If it fits no message, or makes one that is not what was sent. Several messages are left
        /// as they came then, and each is to be joined by itself.
        fn join(&mut self, view: &View, unit: &UnitHeader, body: &mut M, pool: &Pool<M>) -> Result<Option<Joined>, Dropped>;
        /// Returns how many octets are reserved for incomplete messages.
        fn held(&self) -> usize = 0;
        /// Frees what will never be complete, or never delivered; returns how many numbers it had.
        /// It is called after a unit was dropped, too.
        fn forget(&mut self, view: &View) -> u64 = 0;
        /// Returns whether so much arrived that is not what was sent that the association is given
        /// up.
        fn gives_up(&self) -> bool = false;
        /// Returns when something will expire.
        fn deadline(&self) -> Instant = Instant::END;
    }
}
