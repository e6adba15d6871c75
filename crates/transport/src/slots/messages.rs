//! What may go up now, and how pieces become messages.

use stackwright_contract::Instant;
use stackwright_contract::services::MessageProperties;
use stackwright_wire::Pool;

use super::slot;
use crate::words::{Dropped, Label, Unit, UnitHeader, View};

slot! {
    /// What may go up now. Duplicates never come here.
    trait Ordering<M> {
        /// A unit arrived: itself, if it may go up at once.
        fn arrive(&mut self, unit: Unit<M>) -> Option<Unit<M>>;
        /// Whether every unit goes up as it comes.
        fn passes(&self) -> bool = false;
        /// The next one that may go up with it.
        fn next(&mut self) -> Option<Unit<M>> = None;
        /// Nothing before this number is waited for any more.
        fn forgives(&self) -> Option<u64> = None;
        /// The first number that will come is this one.
        fn begin(&mut self, first: u64) = ();
    }
}

/// What came with a message that is whole again, or with the first of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Its properties. Those behind it have the numbers after its own.
    pub properties: MessageProperties,
    /// How many numbers its units had, or those of all.
    pub numbers: u64,
}

slot! {
    /// How a message becomes pieces, and pieces a message.
    trait Framing<M> {
        /// The association has begun: `first` is the first number that will come, and both sides
        /// agreed on this, as the format writes it. Before, nothing has left or come up.
        fn on_begun(&mut self, first: u64, agreed: &[u8]) = ();
        /// A message of the layer above is to leave in packets that carry `room` octets: what its
        /// pieces are labelled with, and how many octets each has but the last. The message is made
        /// what is cut; `pool` has memory for what has to be made anew.
        ///
        /// # Errors
        /// Gives the message back where it is longer than can be said, or where the association has
        /// to begin first.
        fn begin(&mut self, message: M, properties: &MessageProperties, room: usize, pool: &Pool<M>) -> Result<(M, Label, usize), M>;
        /// The same, of messages of `octets` octets in a [gapped
        /// buffer](stackwright_wire::Message::drop_gaps) of which nothing is wished: the label is
        /// that of the first, and says of how many pieces each is. They are numbered one after the
        /// other.
        ///
        /// # Errors
        /// Gives them back where they are to be sent one by one.
        fn begin_run(&mut self, run: M, octets: usize, room: usize) -> Result<(M, Label, usize), M> = Err(run);
        /// How a message of so many octets, of which nothing is wished, would be cut that is to
        /// leave in packets that carry `room` octets: the octets that are put before it, how many
        /// pieces there are, and how many octets each has but the last. `None`: it would be made
        /// anew, or not be cut.
        fn pieces(&self, octets: usize, room: usize) -> Option<(usize, usize, usize)> = None;
        /// Whether messages go up as they were sent, even one of no octets.
        fn keeps_bounds(&self) -> bool = true;
        /// Whether a unit that is new may be acknowledged: what is refused here comes again, and
        /// what is not is never refused for want of memory. `follows`: all that was sent before it
        /// has arrived. Then everything waits for it, and it is refused only where the peer broke
        /// the rules, since a sender that obeys them could not go on. Of several packets, all are
        /// admitted, as if each had been asked about by itself, or none.
        ///
        /// Returns how many octets are reserved for messages that are not whole, with this one if
        /// it begins one; 0 where it needs nothing more. A message that was begun has its whole
        /// length reserved, or its last pieces would be refused.
        ///
        /// # Errors
        /// [`Dropped::NoRoom`] where it may come again; [`Dropped::Overrun`] where the peer exceeds
        /// what it may begin, which ends the association if everything waits for it; any other
        /// where it contradicts what arrived before.
        fn admits(&self, unit: &UnitHeader, octets: usize, follows: bool) -> Result<usize, Dropped> = Ok(0);
        /// A unit arrived, of which nothing was here before. Where a message is whole with it, or
        /// it is several, `body` is left as that message, or those.
        ///
        /// # Errors
        /// Where it fits no message, or makes one that is not what was sent. Several messages are
        /// left as they came then, and each is to be joined by itself.
        fn join(&mut self, view: &View, unit: &UnitHeader, body: &mut M, pool: &Pool<M>) -> Result<Option<Joined>, Dropped>;
        /// How many octets are reserved for messages that are not whole.
        fn held(&self) -> usize = 0;
        /// What will never be whole, or never go up, is forgotten; gives how many numbers it had.
        /// It is asked after a unit was dropped, too.
        fn forget(&mut self, view: &View) -> u64 = 0;
        /// So much came that is not what was sent that nobody can be meant by it.
        fn gives_up(&self) -> bool = false;
        /// When something will be.
        fn deadline(&self) -> Instant = Instant::END;
    }
}
