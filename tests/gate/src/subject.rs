//! A piece of work that is counted.

use std::hint::black_box;
use std::thread;

/// Work that is done in rounds, all alike.
pub trait Subject {
    /// Brings about what the rounds begin with. It is not counted.
    fn ready(&mut self) {}

    /// Every round once; gives something that depends on all that was done.
    fn work(&mut self) -> u64;
}

/// A subject by name.
pub struct Figure {
    /// What the baseline calls it.
    pub name: String,
    /// How many rounds its work has. The figure is the instructions of one.
    pub rounds: u64,
    /// Makes it.
    pub subject: Box<dyn Fn() -> Box<dyn Subject> + Send>,
}

impl Figure {
    /// A figure of this name.
    pub fn new<S: Subject + 'static>(
        name: impl Into<String>,
        rounds: u64,
        subject: impl Fn() -> S + Send + 'static,
    ) -> Self {
        Figure { name: name.into(), rounds, subject: Box::new(move || Box::new(subject())) }
    }

    /// Does the work twice, of which the second time is counted: memory has been asked for then.
    ///
    /// It is done in a thread, whose stack begins at a page, and whose memory is an arena of its
    /// own: what copies octets takes another path where they lie differently, and on the first
    /// stack everything lies behind the environment.
    pub fn run(self) {
        let work = move || {
            let mut subject = (self.subject)();
            subject.ready();
            black_box(subject.work());
            subject.ready();
            black_box(counted_by_the_gate(&mut *subject));
        };
        thread::Builder::new()
            .stack_size(STACK)
            .spawn(work)
            .expect("a thread")
            .join()
            .expect("the work is done");
    }
}

/// Octets of the stack.
const STACK: usize = 4 << 20;

/// The part of this function's name by which callgrind knows it.
pub(crate) const COUNTED: &str = "*counted_by_the_gate*";

/// Instructions are counted from here until it returns.
#[inline(never)]
fn counted_by_the_gate(subject: &mut dyn Subject) -> u64 {
    subject.work()
}
