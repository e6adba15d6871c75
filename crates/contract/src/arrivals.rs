//! The passive side of a service: listeners, the names that wait for their arrivals, and those that
//! are open.
//!
//! | what is asked | who answers | who asks |
//! | --- | --- | --- |
//! | `Listen` | [`listen`](Arrivals::listen) | the same, and is given the name |
//! | `Await` | [`expect`](Arrivals::expect) | the same |
//! | `Open` | [`open`](Arrivals::open) | the same |
//! | all else but `Send` | [`answer`](Arrivals::answer) | |
//! | an arrival, `Opened` | [`arrive`](Arrivals::arrive), then `open` | [`arrived`](Arrivals::arrived) |
//! | the last word, `Ended` | [`end`](Arrivals::end) | [`forget`](Arrivals::forget) |
//!
//! A name lives until its last word, which always comes, exactly once, whoever ended it, listeners
//! too. Nobody arrives without a name that waits, so what is held is bounded by what was asked.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::services::{AssociationIndication, AssociationRequest, Credit, Ended, Transfer};
use crate::{Handle, Mirror, Names};

/// The names of a service with listeners. A listener stands for an `L`, an open name for an `A`.
/// The side that asks gives the names: there `N` is [`Names`].
#[derive(Debug)]
pub struct Arrivals<L, A, N = ()> {
    given: N,
    names: Mirror<Named<L, A>>,
    /// How many names have ever waited.
    turns: u64,
}

/// What a name stood for.
#[derive(Debug)]
pub enum Party<L, A> {
    /// A listener.
    Listener(L),
    /// It waited for an arrival at this listener.
    Awaited(Handle),
    /// It was open, or being opened.
    Open(A),
}

#[derive(Debug)]
enum Named<L, A> {
    /// There are few: each name would have its size if it were not apart.
    Listener(Box<Listening<L>>),
    /// It waits for an arrival at this listener.
    Awaited(Handle),
    Open(A),
}

#[derive(Debug)]
struct Listening<L> {
    what: L,
    /// The first is the next.
    awaited: VecDeque<Awaited>,
}

/// A name that waits.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    name: Handle,
    /// The first upward.
    credit: Credit,
    /// Before that of all that began to wait later, at any listener.
    turn: u64,
}

impl<L, A, N: Default> Default for Arrivals<L, A, N> {
    fn default() -> Self {
        Arrivals { given: N::default(), names: Mirror::new(), turns: 0 }
    }
}

impl<L, A, N> Arrivals<L, A, N> {
    /// Returns what an open name stands for.
    #[inline]
    pub fn get(&self, name: Handle) -> Option<&A> {
        if let Named::Open(open) = self.names.get(name)? { Some(open) } else { None }
    }

    /// Returns what an open name stands for.
    #[inline]
    pub fn get_mut(&mut self, name: Handle) -> Option<&mut A> {
        if let Named::Open(open) = self.names.get_mut(name)? { Some(open) } else { None }
    }

    /// Returns what a listener stands for.
    pub fn listener(&self, name: Handle) -> Option<&L> {
        self.listening(name).map(|listening| &listening.what)
    }

    /// Returns what a listener stands for.
    pub fn listener_mut(&mut self, name: Handle) -> Option<&mut L> {
        self.listening_mut(name).map(|listening| &mut listening.what)
    }

    /// Returns whether the name has not had its last word.
    pub fn lives(&self, name: Handle) -> bool {
        self.names.get(name).is_some()
    }

    /// Returns the listener at which a name waits.
    pub fn waits_at(&self, name: Handle) -> Option<Handle> {
        if let Named::Awaited(listener) = self.names.get(name)? { Some(*listener) } else { None }
    }

    /// Returns how many names wait at a listener.
    pub fn awaited(&self, listener: Handle) -> usize {
        self.listening(listener).map_or(0, |listening| listening.awaited.len())
    }

    /// Returns the open names, in the order of their index.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &A)> {
        self.names.iter().filter_map(|(name, party)| match party {
            Named::Open(open) => Some((name, open)),
            _ => None,
        })
    }

    /// Returns the open names, in the order of their index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut A)> {
        self.names.iter_mut().filter_map(|(name, party)| match party {
            Named::Open(open) => Some((name, open)),
            _ => None,
        })
    }

    /// Returns the listeners, in the order of their index.
    pub fn listeners(&self) -> impl Iterator<Item = (Handle, &L)> {
        self.names.iter().filter_map(|(name, party)| match party {
            Named::Listener(listening) => Some((name, &listening.what)),
            _ => None,
        })
    }

    fn listening(&self, name: Handle) -> Option<&Listening<L>> {
        if let Named::Listener(listening) = self.names.get(name)? { Some(listening) } else { None }
    }

    fn listening_mut(&mut self, name: Handle) -> Option<&mut Listening<L>> {
        match self.names.get_mut(name)? {
            Named::Listener(listening) => Some(listening),
            _ => None,
        }
    }

    /// Has `name` stand for a listener.
    fn insert_listener(&mut self, name: Handle, what: L) {
        let listening = Listening { what, awaited: VecDeque::new() };
        self.names.insert(name, Named::Listener(Box::new(listening)));
    }

    /// Lets `name` wait at `listener`; returns whether it is one.
    fn wait(&mut self, listener: Handle, name: Handle, credit: Credit) -> bool {
        let turn = self.turns;
        let Some(listening) = self.listening_mut(listener) else { return false };
        listening.awaited.push_back(Awaited { name, credit, turn });
        self.turns += 1;
        self.names.insert(name, Named::Awaited(listener));
        true
    }

    /// Takes `name` out of those that wait at its listener.
    fn wait_no_more(&mut self, listener: Handle, name: Handle) {
        if let Some(Listening { awaited, .. }) = self.listening_mut(listener)
            && let Some(place) = awaited.iter().position(|waits| waits.name == name)
        {
            awaited.remove(place);
        }
    }
}

/// The side that answers.
impl<L, A> Arrivals<L, A> {
    /// Makes an empty table.
    pub const fn new() -> Self {
        Arrivals { given: (), names: Mirror::new(), turns: 0 }
    }

    /// Takes over the name of a listener.
    pub fn listen(&mut self, listener: Handle, what: L) {
        self.insert_listener(listener, what);
    }

    /// Lets the next arrival at `listener` take `name`. Returns its last word where nobody listens
    /// any more.
    pub fn expect<T: Transfer>(
        &mut self,
        listener: Handle,
        name: Handle,
        credit: Credit,
    ) -> Option<AssociationIndication<T>> {
        let why = Ended::Unlistened;
        (!self.wait(listener, name, credit)).then_some(AssociationIndication::Ended { name, why })
    }

    /// Answers what every layer without commands and half closes answers alike: all but `Listen`,
    /// `Open` and `Send`. `up` lends the credit upward of an open name. Returns the name that the
    /// caller shall [end](Self::end), and why.
    pub fn answer<T: Transfer>(
        &mut self,
        request: AssociationRequest<T>,
        up: impl FnOnce(&mut A) -> &mut Credit,
        mut say: impl FnMut(AssociationIndication<T>),
    ) -> Option<(Handle, Ended)> {
        match request {
            AssociationRequest::Await { listener, association, credit } => {
                self.expect(listener, association, credit).into_iter().for_each(say);
            }
            AssociationRequest::Credit { association, credit } => {
                if let Some(open) = self.get_mut(association) {
                    *up(open) += credit;
                }
            }
            AssociationRequest::Control { association, .. } if self.lives(association) => {
                say(AssociationIndication::unknown_command(association));
            }
            AssociationRequest::Abort { association, .. } => {
                return Some((association, Ended::Aborted));
            }
            AssociationRequest::Close { name } => return Some((name, Ended::Finished)),
            _ => {}
        }
        None
    }

    /// Takes the name that has waited longest at `listener`, and its credit. It is the caller's to
    /// [open](Self::open), or to end.
    pub fn arrive(&mut self, listener: Handle) -> Option<(Handle, Credit)> {
        let Awaited { name, credit, .. } = self.listening_mut(listener)?.awaited.pop_front()?;
        self.names.remove(name);
        Some((name, credit))
    }

    /// Does the same where an arrival is for any of these listeners; returns the one at which the
    /// name waited, too.
    pub fn arrive_at_any(&mut self, listeners: &[Handle]) -> Option<(Handle, Handle, Credit)> {
        let turn = |at: &Handle| Some((self.listening(*at)?.awaited.front()?.turn, *at));
        let (_, listener) = listeners.iter().filter_map(turn).min()?;
        let (name, credit) = self.arrive(listener)?;
        Some((name, listener, credit))
    }

    /// Takes over the name of what is opened, or has arrived.
    pub fn open(&mut self, name: Handle, what: A) {
        self.names.insert(name, Named::Open(what));
    }

    /// Ends a name: returns its last word, behind those of the names that wait at a listener, which
    /// end with it. A listener that was finished or aborted is one that was
    /// [closed](Ended::Unlistened). Nothing is returned for a name that has ended.
    pub fn end<T: Transfer>(
        &mut self,
        name: Handle,
        why: Ended,
    ) -> impl Iterator<Item = AssociationIndication<T>> + use<L, A, T> {
        let named = self.names.remove(name);
        let last = named.is_some().then_some(name);
        let (waiting, why) = match (named, why) {
            (Some(Named::Listener(at)), Ended::Finished | Ended::Aborted) => {
                (at.awaited, Ended::Unlistened)
            }
            (Some(Named::Listener(at)), why) => (at.awaited, why),
            (Some(Named::Awaited(listener)), why) => {
                self.wait_no_more(listener, name);
                (VecDeque::new(), why)
            }
            (Some(Named::Open(_)) | None, why) => (VecDeque::new(), why),
        };
        waiting.iter().for_each(|waits| drop(self.names.remove(waits.name)));
        let all = waiting.into_iter().map(|waits| waits.name).chain(last);
        all.map(move |name| AssociationIndication::Ended { name, why })
    }
}

/// The side that asks.
impl<L, A> Arrivals<L, A, Names<()>> {
    /// Gives a name to a listener.
    pub fn listen(&mut self, what: L) -> Handle {
        let listener = self.given.name(());
        self.insert_listener(listener, what);
        listener
    }

    /// Gives a name to the next arrival at `listener`, if that lives.
    pub fn expect(&mut self, listener: Handle, credit: Credit) -> Option<Handle> {
        self.listener(listener)?;
        let name = self.given.name(());
        self.wait(listener, name, credit);
        Some(name)
    }

    /// Gives a name to what is opened.
    pub fn open(&mut self, what: impl FnOnce(Handle) -> A) -> Handle {
        let name = self.given.name(());
        self.names.insert(name, Named::Open(what(name)));
        name
    }

    /// Returns how many names have not had their last word.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// An arrival took `name`. Returns its listener; `None` for a name that did not wait.
    pub fn arrived(&mut self, name: Handle, what: impl FnOnce() -> A) -> Option<Handle> {
        let named = self.names.get_mut(name)?;
        let Named::Awaited(listener) = *named else { return None };
        *named = Named::Open(what());
        self.wait_no_more(listener, name);
        Some(listener)
    }

    /// Ends `name` after its last word: its index may be given again. Returns what it stood for.
    pub fn forget(&mut self, name: Handle) -> Option<Party<L, A>> {
        self.given.forget(name)?;
        Some(match self.names.remove(name)? {
            Named::Listener(listening) => Party::Listener(listening.what),
            Named::Awaited(listener) => {
                self.wait_no_more(listener, name);
                Party::Awaited(listener)
            }
            Named::Open(open) => Party::Open(open),
        })
    }
}
