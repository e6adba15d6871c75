//! What an association owns, however its calls wait: its name, which is given back when it is dropped.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stackwright_contract::Handle;
use stackwright_contract::services::Quality;
use stackwright_wire::{Block as _, Message};

use crate::draft::Draft;
use crate::drafts::Drafts;
use crate::link::{State, Statistics};
use crate::shared::{Ground, Shared, TOGETHER};

/// What may be pushed before a message, in octets, so that no layer has to ask for memory.
const HEADROOM: usize = 128;

/// Messages that are no longer are a packet, or hardly more.
const SHORT: usize = 1024;

pub(crate) struct Hold<S: Ground> {
    pub(crate) shared: Rc<RefCell<Shared<S>>>,
    pub(crate) name: Handle,
}

impl<S: Ground> Hold<S> {
    pub(crate) fn new(shared: Rc<RefCell<Shared<S>>>, name: Handle) -> Self {
        Hold { shared, name }
    }

    /// Sends no more.
    pub(crate) fn finish(&self) {
        self.shared.borrow_mut().desk.finish(self.name);
    }

    /// A message of so many octets to be written, as the stack would have it.
    pub(crate) fn draft(&self, octets: usize) -> Draft<S::Message> {
        let laid_out = self.shared.borrow().stack.draft(self.name, octets, 1);
        match laid_out {
            Some(message) => Draft::new(message, true),
            None => Draft::new(blank(octets), false),
        }
    }

    /// Messages of so many octets to be written, as the stack would have them: as many as leave together, and `most` at most.
    pub(crate) fn drafts(&self, octets: usize, most: usize) -> Drafts<S::Message> {
        assert!(octets > 0, "messages that are sent together have octets");
        let shared = &mut *self.shared.borrow_mut();
        let most = shared.desk.link(self.name).map_or(1, |link| link.takes_together(octets, most));
        match shared.stack.draft(self.name, octets, most) {
            Some(all) => Drafts::new(all, octets, true),
            None => {
                let messages = most.min((TOGETHER / octets).max(1));
                Drafts::new(blank(messages * octets), octets, false)
            }
        }
    }

    /// Octets as a message, as the stack would have it.
    pub(crate) fn message(&self, octets: &[u8]) -> S::Message {
        // A packet is not worth the question.
        if octets.len() <= SHORT {
            return message(octets);
        }
        let Some(laid_out) = self.shared.borrow().stack.draft(self.name, octets.len(), 1) else {
            return message(octets);
        };
        let mut draft = Draft::new(laid_out, true);
        draft.write_all(octets).expect("it has room for as many");
        draft.into_message()
    }

    /// A message is given up because its time is over.
    #[cfg(feature = "tokio")]
    pub(crate) fn refuse_late(&self) {
        if let Some(link) = self.shared.borrow_mut().desk.link(self.name) {
            link.refuse_late();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        let desk = &mut self.shared.borrow_mut().desk;
        desk.link(self.name).is_none_or(|link| matches!(link.state, State::Ended(_)) && link.inbox.is_empty())
    }

    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.shared.borrow_mut().desk.link(self.name)?.ends?.0.internet()
    }

    pub(crate) fn remote(&self) -> Option<SocketAddr> {
        self.shared.borrow_mut().desk.link(self.name)?.ends?.1.internet()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let desk = &mut self.shared.borrow_mut().desk;
        desk.link(self.name).map_or(Statistics::default(), |link| link.statistics())
    }
}

impl<S: Ground> Drop for Hold<S> {
    fn drop(&mut self) {
        let shared = &mut *self.shared.borrow_mut();
        shared.desk.forsake(self.name);
        shared.ask();
    }
}

/// A message of so many octets, all zero, with room for headers.
fn blank<M: Message>(octets: usize) -> M {
    let end = HEADROOM + octets;
    M::from_block(M::Block::zeroed(end), HEADROOM, end)
}

/// Octets as a message, with room for headers.
pub(crate) fn message<M: Message>(octets: &[u8]) -> M {
    M::with_headroom(HEADROOM, octets)
}

/// A message as octets.
pub(crate) fn in_one_piece<M: Message>((message, quality): (M, Quality)) -> (Vec<u8>, Quality) {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    (octets, quality)
}

/// Until when a message is of use that is sent now.
pub(crate) fn due(quality: &Quality) -> Option<Instant> {
    quality.lifetime.map(|lifetime| Instant::now() + Duration::from_micros(lifetime.get().into()))
}
