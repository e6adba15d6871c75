//! A selection as types: one associated type per feature, and what the compiler makes of it.

use core::marker::PhantomData;

use stackwright_wire::Message;

use crate::features::{self, Selection};
use crate::{events, opening, session};

/// A selection of features as the compiler sees it: PIX's configuration repository.
///
/// It is written by [`generate!`](crate::generate), or by hand as [`Features`]; both give the
/// identical type.
pub trait Configuration {
    /// How messages are held.
    type Message: Message;
    /// Whether associations are distinguished.
    type Session: session::Alternative;
    /// What fires timers.
    type Events: events::Alternative;
    /// How associations are opened.
    type Opening: opening::Alternative;

    /// The same selection as a value.
    const SELECTION: Selection;
}

/// The selection of these four alternatives.
///
/// ```
/// use stackwright_base::features::{Opening, Selection};
/// use stackwright_base::{Configuration, Features, events, opening, session};
/// use stackwright_wire::SingleBuffer;
///
/// type Written = Features<SingleBuffer, session::Present, events::TimingWheel, opening::Active>;
/// assert_eq!(Written::SELECTION.opening, Opening::Active);
/// ```
pub struct Features<M, S = session::Present, E = events::TimingWheel, O = opening::ActivePassive>(
    PhantomData<fn(M, S, E, O)>,
);

impl<M, S, E, O> Configuration for Features<M, S, E, O>
where
    M: Message,
    S: session::Alternative,
    E: events::Alternative,
    O: opening::Alternative,
{
    type Message = M;
    type Session = S;
    type Events = E;
    type Opening = O;

    const SELECTION: Selection = Selection {
        // A message that holds regions of files is a tree.
        message: if M::HOLDS_REGIONS {
            features::Message::BufferTree
        } else {
            features::Message::SingleBuffer
        },
        session: S::SELECTED,
        events: E::SELECTED,
        opening: O::SELECTED,
    };
}
