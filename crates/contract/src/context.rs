//! What a handler may use of the world: time, randomness and notes.

use alloc::boxed::Box;
use core::cell::{Cell, RefCell};

use crate::Instant;

/// Receives what the protocols of a stack note in passing.
pub trait Listener: Send {
    /// Notes that a packet, a word or a request was dropped: the network's or the peer's fault,
    /// never an error of this side.
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str);
    /// Notes something worth a line in a trace. It never holds a secret.
    fn event(&mut self, now: Instant, protocol: &'static str, what: core::fmt::Arguments<'_>);
}

/// Time, randomness and notes, lent to every handler.
///
/// It is lent shared, with cells inside, because the outlet below a handler holds it too.
pub struct Context {
    now: Cell<Instant>,
    random: RefCell<fastrand::Rng>,
    dropped: Cell<u64>,
    listener: RefCell<Option<Box<dyn Listener>>>,
    listens: Cell<bool>,
}

impl Context {
    /// Makes a context at the start of time, with randomness that follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Context {
            now: Cell::default(),
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            dropped: Cell::default(),
            listener: RefCell::default(),
            listens: Cell::default(),
        }
    }

    /// Returns the time of the batch that is being handled.
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    /// Sets the time: for drivers, once a batch. An earlier instant than the last is ignored.
    #[inline]
    pub fn set_now(&self, now: Instant) {
        self.now.set(now.max(self.now.get()));
    }

    /// Returns a random number below `below`, from the seeded source.
    ///
    /// It is for jitter and choices that may be guessed, not for secrets.
    pub fn random(&self, below: u64) -> u64 {
        self.random.borrow_mut().u64(0..below.max(1))
    }

    /// Counts what `protocol` dropped, and tells the listener if there is one.
    // Faults are rare: out of line, they do not slow down the path of good messages.
    #[cold]
    #[inline(never)]
    pub fn dropped(&self, protocol: &'static str, reason: &'static str) {
        self.dropped.set(self.dropped.get() + 1);
        if self.listens.get() {
            self.with_listener(|listener, now| listener.dropped(now, protocol, reason));
        }
    }

    /// Tells the listener; costs one comparison where there is none.
    #[inline]
    pub fn event(&self, protocol: &'static str, what: core::fmt::Arguments<'_>) {
        if self.listens.get() {
            self.with_listener(|listener, now| listener.event(now, protocol, what));
        }
    }

    /// Returns how much was dropped so far, by all protocols that share this context.
    pub fn dropped_count(&self) -> u64 {
        self.dropped.get()
    }

    /// Sends all notes to `listener` from now on.
    pub fn listen(&self, listener: Box<dyn Listener>) {
        self.listens.set(true);
        *self.listener.borrow_mut() = Some(listener);
    }

    #[cold]
    fn with_listener(&self, tell: impl FnOnce(&mut dyn Listener, Instant)) {
        if let Some(listener) = self.listener.borrow_mut().as_deref_mut() {
            tell(listener, self.now());
        }
    }
}
