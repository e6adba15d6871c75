//! What a server sends: the functions of its role.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_wire::Message;

use crate::HEADROOM;
use crate::client::octets;
use crate::generated::server::Functions;
use crate::generated::{ReqHead, Restored, TableKind, Why};
use crate::jpeg::{BODY_MOST, Summary};
use crate::shelf::{NoPicture, Shelf, SplitPicture};

/// The shortest bodies that a client may ask for.
const LEAST: usize = 256;
/// The longest text of a refusal.
const TEXT_MOST: usize = 255;

/// The server's end of one association.
pub struct Answer<S> {
    shelf: Rc<S>,
    /// The longest body that a packet carries.
    most: usize,
    found: Option<Rc<SplitPicture>>,
    refused: NoPicture,
    next: usize,
}

impl<S: Shelf> Answer<S> {
    /// Makes one that was asked for nothing yet, with bodies of at most `most` octets.
    pub fn of(shelf: Rc<S>, most: usize) -> Self {
        let most = most.clamp(LEAST, BODY_MOST);
        Answer { shelf, most, found: None, refused: (Why::Unknown, String::new()), next: 0 }
    }

    fn sought(&self, most: usize, name: &[u8]) -> Result<Rc<SplitPicture>, NoPicture> {
        // Behind the name there is padding.
        let end = name.iter().position(|octet| *octet == 0).unwrap_or(name.len());
        let most = most.clamp(LEAST, self.most);
        match core::str::from_utf8(&name[..end]) {
            Ok(name) => self.shelf.split(name, most),
            Err(_) => SplitPicture::of(None, most).map(Rc::new),
        }
    }

    fn summary<T: Default>(&self, of: impl FnOnce(Summary) -> T) -> T {
        self.found.as_ref().map(|found| of(found.summary)).unwrap_or_default()
    }
}

fn message<M: Message>(octets: &[u8]) -> M {
    M::with_headroom(HEADROOM, octets)
}

impl<M: Message, S: Shelf> Functions<M> for Answer<S> {
    fn find(&mut self, req: ReqHead, name: &M) {
        match self.sought(usize::from(req.most), &octets(name)) {
            Ok(found) => self.found = Some(found),
            Err(refused) => self.refused = refused,
        }
    }

    fn next(&mut self) {
        self.next += 1;
    }

    fn found(&self) -> bool {
        self.found.is_some()
    }

    fn why(&self) -> Why {
        self.refused.0
    }

    fn reason(&self) -> M {
        let text = &self.refused.1;
        message(&text.as_bytes()[..text.floor_char_boundary(TEXT_MOST)])
    }

    fn table(&self, kind: TableKind) -> M {
        let body = self.found.as_ref().map(|found| match kind {
            TableKind::Quantisation => found.quantisation.as_slice(),
            TableKind::Huffman => found.huffman.as_slice(),
        });
        message(body.unwrap_or_default())
    }

    fn more(&self) -> bool {
        self.found.as_ref().is_some_and(|found| self.next < found.bodies.len())
    }

    fn pieces(&self) -> M {
        let body = self.found.as_ref().and_then(|found| found.bodies.get(self.next));
        message(body.map(Vec::as_slice).unwrap_or_default())
    }

    fn units(&self) -> u32 {
        self.summary(|summary| summary.units)
    }

    fn outside(&self) -> u32 {
        self.summary(|summary| summary.outside)
    }

    fn length(&self) -> u32 {
        self.summary(|summary| summary.length)
    }

    fn check(&self) -> u32 {
        self.summary(|summary| summary.check)
    }

    fn restored(&self) -> Restored {
        if self.summary(|summary| summary.exact) {
            Restored::Octets
        } else {
            Restored::Coefficients
        }
    }
}
