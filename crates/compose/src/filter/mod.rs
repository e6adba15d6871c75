//! Filters: transparent layers, with the same service and the same names above and below.
//!
//! A filter looks at the words that pass, alters the octets that they carry, or drops these. One
//! filter serves in a static stack ([`Filtered`]) and, erased, as a module of a graph
//! ([`Inserted`](crate::graph::Inserted)); it never knows which.
//!
//! It is part of composition, not of the base: the base makes protocols of hooks, and a filter is
//! none. It has no association, no header and no state of a connection; what there is to it is how
//! it stands between two neighbours, and that a graph can push one into a path that is open.
//!
//! | file | what |
//! | --- | --- |
//! | `filtered.rs` | any filter as a protocol |
//! | `counter.rs` | [`Counter`]: how much passes |
//! | `tap.rs` | [`Tap`]: tells every word that passes |

use stackwright_contract::ask::Question;
use stackwright_contract::services::Batch;
use stackwright_contract::{Context, Guarantees, Word};
use stackwright_wire::Message;

mod counter;
mod filtered;
mod tap;

pub use counter::{Count, Counter};
pub use filtered::Filtered;
pub use tap::{Passage, Tap};

/// The direction of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordDirection {
    /// A request.
    Down,
    /// An indication.
    Up,
}

/// What becomes of a batch that a filter has looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum FilterVerdict {
    /// It goes on.
    Pass,
    /// It is dropped for this reason, and its credit is returned to its sender.
    Drop(&'static str),
}

/// A transparent layer on any service whose words carry messages `M`.
///
/// Its header room is always 0, since it passes words that are charged already: what it does to a
/// batch must leave the number of messages and their lengths as they are.
///
/// ```
/// use stackwright_compose::filter::{Filter, FilterVerdict};
/// use stackwright_contract::{Context, Guarantees, services::Batch};
/// use stackwright_wire::Message;
///
/// /// Drops every third batch that is sent.
/// struct EveryThird(u32);
///
/// impl<M: Message> Filter<M> for EveryThird {
///     const NAME: &'static str = "every third";
///     const PASSES: Guarantees = Guarantees::ALL.without(Guarantees::RELIABLE);
///     fn down(&mut self, _cx: &Context, _batch: &mut Batch<M>) -> FilterVerdict {
///         self.0 += 1;
///         if self.0.is_multiple_of(3) {
///             return FilterVerdict::Drop("its turn");
///         }
///         FilterVerdict::Pass
///     }
/// }
/// ```
pub trait Filter<M: Message>: 'static {
    /// The filter's name, in refusals and where it drops something.
    const NAME: &'static str;
    /// Whether it takes several messages as one batch. Otherwise they are split, and the filter
    /// decides on each.
    const TAKES_BATCHES: bool = true;
    /// The promises that still hold above it where they hold below. One that drops does not pass
    /// [`Guarantees::RELIABLE`].
    const PASSES: Guarantees = Guarantees::ALL;
    /// Whether it reads or alters payload, so that no region of a file may pass.
    const READS_PAYLOAD: bool = false;

    /// Looks at a word of `service` in either direction, before [`down`](Filter::down) or
    /// [`up`](Filter::up) decides on its batch. What names and participants the word has must stay.
    #[inline]
    fn observe(
        &mut self,
        _cx: &Context,
        _direction: WordDirection,
        _service: &'static str,
        _word: &mut impl Word<Message = M>,
    ) {
    }

    /// Decides on a batch that is sent.
    #[inline]
    fn down(&mut self, _cx: &Context, _batch: &mut Batch<M>) -> FilterVerdict {
        FilterVerdict::Pass
    }

    /// Decides on a batch that is delivered.
    #[inline]
    fn up(&mut self, _cx: &Context, _batch: &mut Batch<M>) -> FilterVerdict {
        FilterVerdict::Pass
    }

    /// Answers a question; one that stays open is passed on.
    fn ask(&self, _question: &mut Question<'_>) {}
}

/// Lets `filter` look at a word and decide on the batch in it. Returns whether the word goes on;
/// otherwise it was counted as dropped, and the caller refunds it.
#[inline(always)]
pub(crate) fn passes<M: Message, F: Filter<M>>(
    filter: &mut F,
    cx: &Context,
    direction: WordDirection,
    service: &'static str,
    word: &mut impl Word<Message = M>,
) -> bool {
    filter.observe(cx, direction, service, word);
    let Some(batch) = word.batch_mut() else { return true };
    let charged = if cfg!(debug_assertions) { Some(batch.cost()) } else { None };
    let verdict = match direction {
        WordDirection::Down => filter.down(cx, batch),
        WordDirection::Up => filter.up(cx, batch),
    };
    debug_assert!(
        charged.is_none_or(|charged| charged == batch.cost()),
        "`{}` has altered what a batch costs",
        F::NAME
    );
    let FilterVerdict::Drop(reason) = verdict else { return true };
    debug_assert!(
        !F::PASSES.has(Guarantees::RELIABLE),
        "`{}` drops, and says that it passes reliable delivery",
        F::NAME
    );
    cx.dropped(F::NAME, reason);
    false
}
