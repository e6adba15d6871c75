//! What a server sends: the functions of its role.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use stackwright_wire::Message;

use crate::HEADROOM;
use crate::client::octets;
use crate::generated::server::Functions;
use crate::generated::{ReqHead, Restored, TableKind, Why};
use crate::jpeg::{BODY_MOST, JpegFlaw, Picture};

/// The shortest bodies that a client may ask for.
const LEAST: usize = 256;
/// The longest text of a refusal.
const TEXT_MOST: usize = 255;

/// Has pictures.
pub trait Shelf {
    /// Returns the file of this name.
    fn file(&self, name: &str) -> Option<Vec<u8>>;
}

/// Pictures in memory.
impl Shelf for BTreeMap<String, Vec<u8>> {
    fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.get(name).cloned()
    }
}

/// The server's end of one association.
pub struct Answer<S> {
    shelf: Rc<S>,
    /// The longest body that a packet carries.
    most: usize,
    found: Option<Found>,
    refused: (Why, String),
    next: usize,
}

struct Found {
    picture: Picture,
    bodies: Vec<Vec<u8>>,
}

impl<S: Shelf> Answer<S> {
    /// Makes one that was asked for nothing yet, with bodies of at most `most` octets.
    pub fn of(shelf: Rc<S>, most: usize) -> Self {
        let most = most.clamp(LEAST, BODY_MOST);
        Answer { shelf, most, found: None, refused: (Why::Unknown, String::new()), next: 0 }
    }

    fn sought(&self, most: usize, name: &[u8]) -> Result<Found, (Why, String)> {
        // Behind the name there is padding.
        let end = name.iter().position(|octet| *octet == 0).unwrap_or(name.len());
        let name = core::str::from_utf8(&name[..end]).ok();
        let file = name.and_then(|name| self.shelf.file(name));
        let file = file.ok_or((Why::Unknown, "there is no picture of this name".to_string()))?;
        let unsuitable = |flaw: JpegFlaw| (Why::Unsuitable, flaw.to_string());
        let picture = Picture::read(&file).map_err(unsuitable)?;
        let bodies = picture.split(most.clamp(LEAST, self.most)).map_err(unsuitable)?;
        Ok(Found { picture, bodies })
    }

    fn summary<T: Default>(&self, of: impl FnOnce(crate::jpeg::Summary) -> T) -> T {
        self.found.as_ref().map(|found| of(found.picture.summary())).unwrap_or_default()
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
            TableKind::Quantisation => found.picture.quantisation(),
            TableKind::Huffman => found.picture.huffman(),
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
