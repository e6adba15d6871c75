//! Tells every word that passes to a listener.

use core::marker::PhantomData;

use stackwright_contract::{Context, Handle, Instant, Life, Mirror, Participant, Word};
use stackwright_wire::Message;

use super::{Filter, WordDirection};

/// One word that passed.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a, M> {
    /// When it passed.
    pub time: Instant,
    /// Whether it is a request or an indication.
    pub direction: WordDirection,
    /// The service in whose vocabulary it is.
    pub service: &'static str,
    /// Its name in that vocabulary.
    pub primitive: &'static str,
    /// The name that it is about.
    pub association: Option<Handle>,
    /// The own address on that association, once it was told.
    pub local: Option<Participant>,
    /// The peer's address on that association, once it was told.
    pub remote: Option<Participant>,
    /// What it carries: its length and its leaves.
    pub message: Option<&'a M>,
}

/// A filter that tells a listener of every word, and of each message by itself.
pub struct Tap<M, F> {
    listener: F,
    participants: Mirror<(Option<Participant>, Option<Participant>)>,
    message: PhantomData<fn(M)>,
}

impl<M, F: FnMut(&Passage<'_, M>)> Tap<M, F> {
    /// Makes a tap that calls `listener` with every word that passes.
    pub fn new(listener: F) -> Self {
        Tap { listener, participants: Mirror::new(), message: PhantomData }
    }

    /// Returns the local and the remote participant of a name, with what `word` says of them.
    fn participants(
        &mut self,
        name: Option<Handle>,
        word: &mut impl Word,
    ) -> (Option<Participant>, Option<Participant>) {
        let Some(name) = name else { return (None, None) };
        let [local, remote] = word.participants_mut().map(|participant| participant.copied());
        // A tap may come when a name lives already, and two taps may hear the same.
        let known = self.participants.get(name).copied().unwrap_or_default();
        let now = (local.or(known.0), remote.or(known.1));
        if word.life() == Life::Ends {
            self.participants.remove(name);
        } else if now != known {
            self.participants.vacate(name);
            self.participants.insert(name, now);
        }
        now
    }
}

impl<M, F> Filter<M> for Tap<M, F>
where
    M: Message,
    F: FnMut(&Passage<'_, M>) + 'static,
{
    const NAME: &'static str = "tap";
    const TAKES_BATCHES: bool = false;

    fn observe(
        &mut self,
        cx: &Context,
        direction: WordDirection,
        service: &'static str,
        word: &mut impl Word<Message = M>,
    ) {
        let association = word.name_mut().copied();
        let (local, remote) = self.participants(association, word);
        (self.listener)(&Passage {
            time: cx.now(),
            direction,
            service,
            primitive: word.primitive(),
            association,
            local,
            remote,
            message: word.message(),
        });
    }
}
