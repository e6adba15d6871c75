//! What waits for the credit of a stream.

use alloc::collections::VecDeque;

use stackwright_wire::Message;

/// Octets that wait for the credit of a stream, in the messages in which they came. Its owner
/// bounds it.
#[derive(Debug)]
pub struct Backlog<M> {
    waiting: VecDeque<M>,
    credit: usize,
}

impl<M: Message> Backlog<M> {
    /// Creates an empty one, with this credit.
    pub const fn new(credit: usize) -> Self {
        Backlog { waiting: VecDeque::new(), credit }
    }

    /// Adds octets behind all that wait.
    pub fn push(&mut self, message: M) {
        self.waiting.push_back(message);
    }

    /// Adds credit.
    pub const fn allow(&mut self, octets: usize) {
        self.credit += octets;
    }

    /// Returns what may be sent next: at most a whole message, and never more than the credit.
    pub fn next_part(&mut self) -> Option<M> {
        let first = self.waiting.front_mut().filter(|_| self.credit > 0)?;
        let part = first.split_to(first.len().min(self.credit));
        self.credit -= part.len();
        if first.is_empty() {
            self.waiting.pop_front();
        }
        Some(part)
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how many messages wait, the first perhaps in part.
    pub fn messages(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how many octets wait.
    pub fn octets(&self) -> usize {
        self.waiting.iter().map(M::len).sum()
    }
}
