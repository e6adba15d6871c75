//! Words through a stream of octets, in both directions.

use stackwright_contract::Backlog;
use stackwright_wire::Message;

use super::fields::{Fields, WORD, WORD_MOST};

/// As many octets are gathered before they are handed on as leave by one system call.
const TOGETHER: usize = 64 << 10;

/// What a word carries is not copied behind it from here on.
const LONG: usize = 4 << 10;

/// What waits to be sent, and what was received in part.
pub(super) struct Channel<M> {
    gathered: Vec<u8>,
    waiting: Backlog<M>,
    /// Octets in `waiting`.
    octets: usize,
    /// Something was said since the last part was asked for.
    due: bool,
    came: M,
    /// The longest payload of a word that comes.
    longest: usize,
}

/// What came is no word.
#[derive(Debug)]
pub(super) struct NoWord;

impl<M: Message> Channel<M> {
    pub(super) fn new(longest: usize) -> Self {
        let came = M::with_headroom(0, &[]);
        Channel {
            gathered: Vec::new(),
            waiting: Backlog::new(0),
            octets: 0,
            due: false,
            came,
            longest,
        }
    }

    /// Adds a word, with what it carries.
    pub(super) fn say(&mut self, fields: &Fields, carried: Option<M>) {
        self.due = true;
        fields.encode(&mut self.gathered);
        match carried {
            Some(octets) if octets.len() >= LONG => {
                self.gather();
                self.push(octets);
            }
            Some(octets) => octets.append_to(&mut self.gathered),
            None => {}
        }
        if self.gathered.len() >= TOGETHER {
            self.gather();
        }
    }

    fn gather(&mut self) {
        let gathered = M::with_headroom(0, &self.gathered);
        self.gathered.clear();
        self.push(gathered);
    }

    fn push(&mut self, octets: M) {
        self.octets += octets.len();
        self.waiting.push(octets);
    }

    /// Adds credit of the stream.
    pub(super) fn allow(&mut self, octets: usize) {
        self.waiting.allow(octets);
    }

    /// Returns what may be sent next.
    pub(super) fn next_part(&mut self) -> Option<M> {
        self.due = false;
        if !self.gathered.is_empty() {
            self.gather();
        }
        let part = self.waiting.next_part()?;
        self.octets -= part.len();
        Some(part)
    }

    /// Returns whether something was said since the last part was asked for.
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Returns how many octets wait to be sent.
    pub(super) fn waits(&self) -> usize {
        self.gathered.len() + self.octets
    }

    /// Returns how many octets are held: they wait, or have come in part.
    pub(super) fn held(&self) -> usize {
        self.waits() + self.came.len()
    }

    /// Adds what came.
    pub(super) fn hear(&mut self, octets: M) {
        self.came.join(octets);
    }

    /// Returns the next word that came whole.
    pub(super) fn next_word(&mut self) -> Result<Option<(Fields, M)>, NoWord> {
        let Some(first) = self.came.front(WORD).and_then(|octets| octets.first_chunk()) else {
            return Ok(None);
        };
        let length = Fields::length_of(first).ok_or(NoWord)?;
        let mut word = [0; WORD_MOST];
        if self.came.copy_to(&mut word[..length]) < length {
            return Ok(None);
        }
        let fields = Fields::decode(&word[..length]).ok_or(NoWord)?;
        let carries = fields.length as usize;
        if carries > self.longest {
            return Err(NoWord);
        }
        if self.came.len() < length + carries {
            return Ok(None);
        }
        self.came.advance(length);
        Ok(Some((fields, self.came.split_to(carries))))
    }
}
