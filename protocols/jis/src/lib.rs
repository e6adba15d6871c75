//! JIS, an image server: a JPEG as pieces that arrive in any order.
//!
//! | file | what |
//! | --- | --- |
//! | `jis.protocol` | the protocol, as a specification |
//! | `generated.rs` | its ADUs and roles, generated of it by `stackwright spec gen --contract` |
//! | `client.rs`, `server.rs` | what each role does with its pictures: [`PictureView`], [`Answer`] |
//! | `jpeg/` | a baseline JPEG split into pieces, and joined again, without loss |
//!
//! Both roles stand on datagrams that are reliable, in any order: a [`RoleLayer`] over a transport,
//! such as the tailored one with the policies that the phase `image` selects and [`VALUES`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod client;
#[rustfmt::skip]
pub mod generated;
pub mod jpeg;
mod server;

use alloc::rc::Rc;

use stackwright_policies::profile::{Bounds, Path, PolicyValues};
use stackwright_role::RoleLayer;
use stackwright_wire::{Header, Message};

pub use client::{Fetched, PictureView, Progress};
pub use server::{Answer, Shelf};

/// The role that a client has on each association.
pub type ClientPart = generated::client::Part<PictureView>;
/// The role that a server has on each association.
pub type ServerPart<S> = generated::server::Part<Answer<S>>;

/// A client as a layer, of which something is asked before it is made.
pub type ClientLayer<M> = RoleLayer<M, ClientPart, fn() -> ClientPart>;

/// The specification.
pub const SPECIFICATION: &str = include_str!("jis.protocol");

/// The default UDP port of a server.
pub const PORT: u16 = 4331;

/// What the policies that the phase `image` selects need to know: its window, and that the longest
/// message is an ADU.
pub const VALUES: PolicyValues = PolicyValues {
    path: Path { packet: 1500, ..Path::DEFAULT },
    bounds: Bounds { window: 256, longest: ADU_MOST, ..Bounds::DEFAULT },
    ..PolicyValues::RELIABLE
};

/// The octets before the body of `Blocks`.
const BLOCKS_HEAD: usize = <generated::BlocksHead as Header>::LENGTH;
/// The longest ADU, in octets.
const ADU_MOST: usize = BLOCKS_HEAD + jpeg::BODY_MOST;

/// Makes a client that shows all it fetches in one view: it has one association.
pub fn client<M: Message>(
    view: PictureView,
) -> RoleLayer<M, ClientPart, impl FnMut() -> ClientPart> {
    RoleLayer::new(move || generated::client::Part::new(view.clone()))
}

/// Makes a server of the pictures of a shelf. Its bodies have at most `most` octets, so that an ADU
/// travels in one packet; see [`body_most`].
pub fn server<M: Message, S: Shelf>(
    shelf: Rc<S>,
    most: usize,
) -> RoleLayer<M, ServerPart<S>, impl FnMut() -> ServerPart<S>> {
    RoleLayer::new(move || generated::server::Part::new(Answer::of(shelf.clone(), most)))
}

/// Makes the name of a picture as `Get` takes it: padded, so that the first answer may have tables
/// and pieces in it before the server knows that the client's address is its own. `None` if it is
/// too long.
pub fn requested<M: Message>(name: &str) -> Option<M> {
    let mut octets = alloc::vec![0; REQUEST_LEAST.max(name.len())];
    octets[..name.len()].copy_from_slice(name.as_bytes());
    (name.len() <= NAME_MOST).then(|| M::with_headroom(HEADROOM, &octets))
}

/// The longest name of a picture, in octets.
pub const NAME_MOST: usize = 255;
/// The octets of a name with its padding.
const REQUEST_LEAST: usize = 1200;
/// Room in front of a body: for the head of its ADU, and for the layers below.
const HEADROOM: usize = 64;

/// Returns the longest body of an ADU that a packet carries with `room` octets for a message.
pub fn body_most(room: usize) -> usize {
    room.saturating_sub(BLOCKS_HEAD).min(jpeg::BODY_MOST)
}
