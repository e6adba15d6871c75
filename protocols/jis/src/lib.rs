//! JIS, an image server: a JPEG as pieces that arrive in any order.
//!
//! | file | what |
//! | --- | --- |
//! | `jis.protocol` | the protocol, as a specification |
//! | `generated.rs` | its ADUs and roles, generated of it by `stackwright spec gen --contract` |
//! | `client.rs`, `server.rs` | what each role does with its pictures: [`PictureView`], [`Answer`] |
//! | `jpeg/` | a baseline JPEG split into pieces, and joined again, without loss |
//!
//! Both roles stand on datagrams that are reliable, in any order: a [`RoleLayer`] over a transport.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod client;
#[rustfmt::skip]
pub mod generated;
pub mod jpeg;
mod server;

use stackwright_role::RoleLayer;

pub use client::{Fetched, PictureView, Progress};
pub use server::{Answer, Shelf};

/// The role that a client has on each association.
pub type ClientPart = generated::client::Part<PictureView>;
/// The role that a server has on each association.
pub type ServerPart<S> = generated::server::Part<Answer<S>>;

/// Makes a client that shows all it fetches in one view: it has one association.
pub fn client<M: stackwright_wire::Message>(
    view: PictureView,
) -> RoleLayer<M, ClientPart, impl FnMut() -> ClientPart> {
    RoleLayer::new(move || generated::client::Part::new(view.clone()))
}

/// Makes a server of the pictures of a shelf.
pub fn server<M: stackwright_wire::Message, S: Shelf>(
    shelf: alloc::rc::Rc<S>,
) -> RoleLayer<M, ServerPart<S>, impl FnMut() -> ServerPart<S>> {
    RoleLayer::new(move || generated::server::Part::new(Answer::of(shelf.clone())))
}
