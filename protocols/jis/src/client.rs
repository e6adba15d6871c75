//! What a client does with what arrives: the functions of its role.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;

use stackwright_wire::Message;

use crate::generated::client::Functions;
use crate::generated::{BlocksHead, EndHead, RefusedHead, Restored, TableHead, TableKind, Why};
use crate::jpeg::{Assembly, JpegFlaw, Summary};

/// A picture that arrives. The role of one association has it, and its application.
#[derive(Clone, Default)]
pub struct PictureView(Rc<RefCell<Viewed>>);

#[derive(Default)]
struct Viewed {
    tables: [Option<Vec<u8>>; 2],
    assembly: Option<Assembly>,
    summary: Option<Summary>,
    refused: Option<(Why, String)>,
    flaw: Option<JpegFlaw>,
}

/// How far a picture has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Units that are there.
    pub units: usize,
    /// Units of the picture.
    pub of: usize,
    /// Its width in pixels.
    pub width: u16,
    /// Its height in pixels.
    pub height: u16,
}

/// A picture that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// The file.
    pub file: Vec<u8>,
    /// Whether it is the server's file, octet for octet; otherwise its coefficients are.
    pub exact: bool,
}

impl PictureView {
    /// Returns how far it has arrived; `None` before the tables are there.
    pub fn progress(&self) -> Option<Progress> {
        let viewed = self.0.borrow();
        let assembly = viewed.assembly.as_ref()?;
        let frame = &assembly.layout().frame;
        let (units, of) = (assembly.units(), assembly.layout().units());
        Some(Progress { units, of, width: frame.width, height: frame.height })
    }

    /// Returns why the server refused.
    pub fn refused(&self) -> Option<(Why, String)> {
        self.0.borrow().refused.clone()
    }

    /// Returns the first mistake in what the server sent.
    pub fn flaw(&self) -> Option<JpegFlaw> {
        self.0.borrow().flaw
    }

    /// Returns what has arrived as a JPEG, grey where nothing has.
    pub fn partial(&self) -> Option<Vec<u8>> {
        self.0.borrow().assembly.as_ref()?.partial().ok()
    }

    /// Returns the file, once all of it is there and its check agrees.
    pub fn fetched(&self) -> Option<Fetched> {
        let viewed = self.0.borrow();
        let (assembly, summary) = (viewed.assembly.as_ref()?, viewed.summary.as_ref()?);
        if !assembly.is_whole(summary) {
            return None;
        }
        let file = assembly.whole().ok()?;
        let agrees = summary.is_of(&file);
        (agrees || !summary.exact).then_some(Fetched { file, exact: agrees })
    }
}

impl Viewed {
    fn note(&mut self, done: Result<(), JpegFlaw>) {
        if let Err(flaw) = done {
            self.flaw.get_or_insert(flaw);
        }
    }
}

pub(crate) fn octets<M: Message>(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

impl<M: Message> Functions<M> for PictureView {
    fn set(&mut self, table: TableHead, body: &M) {
        let mut viewed = self.0.borrow_mut();
        viewed.tables[usize::from(table.kind == TableKind::Huffman)] = Some(octets(body));
        if let [Some(quantisation), Some(huffman)] = &viewed.tables {
            match Assembly::new(quantisation, huffman) {
                Ok(assembly) => viewed.assembly = Some(assembly),
                Err(flaw) => viewed.note(Err(flaw)),
            }
        }
    }

    fn paint(&mut self, _: BlocksHead, body: &M) {
        let mut viewed = self.0.borrow_mut();
        let done = viewed.assembly.as_mut().map(|assembly| assembly.take(&octets(body)));
        viewed.note(done.unwrap_or(Ok(())));
    }

    fn total(&mut self, end: EndHead) {
        let EndHead { units, outside, length, check, restored, .. } = end;
        let exact = restored == Restored::Octets;
        self.0.borrow_mut().summary = Some(Summary { units, outside, length, check, exact });
    }

    fn deny(&mut self, refused: RefusedHead, body: &M) {
        let text = String::from_utf8_lossy(&octets(body)).into_owned();
        self.0.borrow_mut().refused = Some((refused.why, text));
    }

    /// Whether nothing more is awaited: all is there, or can no more be.
    fn covered(&self) -> bool {
        let viewed = self.0.borrow();
        let (Some(assembly), Some(summary)) = (&viewed.assembly, &viewed.summary) else {
            return viewed.flaw.is_some() && viewed.summary.is_some();
        };
        assembly.is_whole(summary)
    }
}

/// What has arrived, as a [`WatchedView`] tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivedPart<'a> {
    /// A table.
    Table(TableKind),
    /// A body of pieces, which [`pieces`](crate::jpeg::pieces) reads.
    Body(&'a [u8]),
    /// What tells that all is there.
    End(EndHead),
}

/// A picture that arrives, and a function that is told of each part when it can be shown. What
/// comes behind a mistake of the server is not told.
#[derive(Clone)]
pub struct WatchedView<F> {
    view: PictureView,
    tell: F,
}

impl<F: FnMut(ArrivedPart<'_>)> WatchedView<F> {
    /// Tells `tell` what arrives in `view`.
    pub fn new(view: PictureView, tell: F) -> Self {
        WatchedView { view, tell }
    }

    fn tell(&mut self, part: ArrivedPart<'_>) {
        if self.view.flaw().is_none() {
            (self.tell)(part);
        }
    }
}

impl<M: Message, F: FnMut(ArrivedPart<'_>)> Functions<M> for WatchedView<F> {
    fn set(&mut self, table: TableHead, body: &M) {
        self.view.set(table, body);
        self.tell(ArrivedPart::Table(table.kind));
    }

    fn paint(&mut self, blocks: BlocksHead, body: &M) {
        self.view.paint(blocks, body);
        self.tell(ArrivedPart::Body(&octets(body)));
    }

    fn total(&mut self, end: EndHead) {
        Functions::<M>::total(&mut self.view, end);
        self.tell(ArrivedPart::End(end));
    }

    fn deny(&mut self, refused: RefusedHead, body: &M) {
        self.view.deny(refused, body);
    }

    fn covered(&self) -> bool {
        Functions::<M>::covered(&self.view)
    }
}
