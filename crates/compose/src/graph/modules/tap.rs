//! Tells every word that passes to a listener.

use core::marker::PhantomData;

use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Handle, Instant, Life, Mirror, Participant, Service, Word};
use stackwright_wire::Message;

use crate::graph::{Module, Mouth};

/// Which way a word goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// A request.
    Down,
    /// An indication.
    Up,
}

/// One word that passed.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a, M> {
    /// When.
    pub time: Instant,
    /// Which way.
    pub direction: Direction,
    /// The service in whose vocabulary it is.
    pub service: &'static str,
    /// Its name in that vocabulary.
    pub primitive: &'static str,
    /// Whom it is about.
    pub association: Option<Handle>,
    /// Our address on that association, once it was told.
    pub local: Option<Participant>,
    /// The peer's address on that association, once it was told.
    pub remote: Option<Participant>,
    /// What it carries: its length and its leaves.
    pub message: Option<&'a M>,
}

/// A module with a listener.
pub struct Tap<M, F> {
    listener: F,
    participants: Mirror<(Option<Participant>, Option<Participant>)>,
    message: PhantomData<fn(M)>,
}

impl<M, F: FnMut(&Passage<'_, M>)> Tap<M, F> {
    /// From now on, `listener` hears what passes.
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

    /// Tells the listener of a word of `service`.
    fn tell(
        &mut self,
        cx: &Context,
        direction: Direction,
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

impl<M, B, F> Module<M, B> for Tap<M, F>
where
    M: Message,
    B: Service + 'static,
    F: FnMut(&Passage<'_, M>) + 'static,
{
    fn name(&self) -> &'static str {
        "tap"
    }

    fn handle_request(&mut self, cx: &Context, mut request: Request<M, B>, mouth: &mut Mouth<'_, M, B>) {
        self.tell(cx, Direction::Down, request.service(), &mut request);
        mouth.ask(0, request);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: Indication<M, B>,
        mouth: &mut Mouth<'_, M, B>,
    ) {
        self.tell(cx, Direction::Up, indication.service(), &mut indication);
        mouth.tell(0, indication);
    }
}
