//! The words of any service as one closed enum: how protocols speak in a graph that is built while
//! a program runs.
//!
//! A protocol itself never sees these. [`Speaks`] turns the typed words of a service into them and
//! back; a service that is none of the closed set travels as [`Request::Own`]. Nothing here names a
//! driver: what is outside of a graph is the parameter `B`.

//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | the enums |
//! | `speaks.rs` | how a service's words become words of a graph, and back |
//! | `told.rs` | what a word of a graph tells of itself |
//! | `outside.rs` | the service outside of a graph, lane by lane |

mod outside;
mod speaks;
mod told;

pub use outside::{InLane, Outside};
pub use speaks::{__Message, __foreign, Port, Speaks};

use alloc::boxed::Box;
use core::any::Any;

use stackwright_wire::Message;

use crate::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, FilesIndication, FilesRequest, Frames,
    FramesIndication, FramesRequest, Groups, GroupsIndication, GroupsRequest, OctetsIndication,
    OctetsRequest, Streams, StreamsIndication, StreamsRequest,
};
use crate::{Handle, Service};

// The variants are singular, so that the compiler can go on calling a service by its short name in
// a refusal.

/// A request of any service.
pub enum Request<M: Message, B: Service> {
    /// To a line.
    Line(OctetsRequest<M>),
    /// To a frame service.
    Frame(FramesRequest<M>),
    /// To a datagram service.
    Datagram(DatagramsRequest<M>),
    /// To a stream service.
    Stream(StreamsRequest<M>),
    /// To a group service.
    Group(GroupsRequest<M>),
    /// To the side that has files.
    File(FilesRequest<M>),
    /// To what is outside.
    Outside(B::Request),
    /// In an application's own words.
    Own(Box<dyn Any>),
}

/// An indication of any service.
pub enum Indication<M: Message, B: Service> {
    /// Of a line.
    Line(OctetsIndication<M>),
    /// Of a frame service.
    Frame(FramesIndication<M>),
    /// Of a datagram service.
    Datagram(DatagramsIndication<M>),
    /// Of a stream service.
    Stream(StreamsIndication<M>),
    /// Of a group service.
    Group(GroupsIndication<M>),
    /// Of the side that has files.
    File(FilesIndication<M>),
    /// Of what is outside.
    Outside(B::Indication),
    /// In an application's own words.
    Own(Box<dyn Any>),
}

impl<M: Message, B: Service> Request<M, B> {
    /// Returns whether it carries several messages.
    #[inline(always)]
    pub fn has_several(&self) -> bool {
        match self {
            Request::Datagram(DatagramsRequest::Send { batch, .. })
            | Request::Group(GroupsRequest::Send { batch, .. })
            | Request::Frame(FramesRequest::Send { batch, .. }) => batch.segment_size().is_some(),
            Request::Outside(request) => B::requests_several(request),
            _ => false,
        }
    }
}

impl<M: Message, B: Service> Request<M, B> {
    /// Returns the last word on a name for which no lower could be asked, in the vocabulary of this
    /// request.
    pub fn unreachable(&self, name: Handle) -> Option<Indication<M, B>> {
        match self {
            Request::Datagram(_) => Datagrams::unreachable(name).map(Indication::Datagram),
            Request::Stream(_) => Streams::unreachable(name).map(Indication::Stream),
            Request::Group(_) => Groups::unreachable(name).map(Indication::Group),
            _ => None,
        }
    }

    /// Returns what the layer above is told in the place of this request where it is
    /// [dropped](Service::refund_request).
    #[cold]
    pub fn refund(&self) -> [Option<Indication<M, B>>; 2] {
        match self {
            Request::Datagram(word) => {
                Datagrams::refund_request(word).map(|told| told.map(Indication::Datagram))
            }
            Request::Stream(word) => {
                Streams::refund_request(word).map(|told| told.map(Indication::Stream))
            }
            Request::Group(word) => {
                Groups::refund_request(word).map(|told| told.map(Indication::Group))
            }
            Request::Frame(word) => {
                Frames::refund_request(word).map(|told| told.map(Indication::Frame))
            }
            Request::Outside(word) => {
                B::refund_request(word).map(|told| told.map(Indication::Outside))
            }
            Request::Line(_) | Request::File(_) | Request::Own(_) => [None, None],
        }
    }
}

impl<M: Message, B: Service> Indication<M, B> {
    /// Returns whether it carries several messages.
    #[inline(always)]
    pub fn has_several(&self) -> bool {
        match self {
            Indication::Datagram(DatagramsIndication::Delivered { batch, .. })
            | Indication::Group(GroupsIndication::Delivered { batch, .. })
            | Indication::Frame(FramesIndication::Delivered { batch, .. }) => {
                batch.segment_size().is_some()
            }
            Indication::Outside(indication) => B::indicates_several(indication),
            _ => false,
        }
    }

    /// Returns the request that gives back the credit of this indication where it is
    /// [dropped](Service::refund_indication).
    #[cold]
    pub fn refund(&self) -> Option<Request<M, B>> {
        match self {
            Indication::Datagram(word) => Datagrams::refund_indication(word).map(Request::Datagram),
            Indication::Stream(word) => Streams::refund_indication(word).map(Request::Stream),
            Indication::Group(word) => Groups::refund_indication(word).map(Request::Group),
            Indication::Frame(word) => Frames::refund_indication(word).map(Request::Frame),
            Indication::Outside(word) => B::refund_indication(word).map(Request::Outside),
            Indication::Line(_) | Indication::File(_) | Indication::Own(_) => None,
        }
    }
}

impl<M: Message, B: Service> Request<M, B> {
    /// Splits the first message off a request that carries several, as a request of its own.
    #[inline]
    pub fn split_first(&mut self) -> Option<Self> {
        match self {
            Request::Datagram(several) => Datagrams::split_request(several).map(Request::Datagram),
            Request::Group(several) => Groups::split_request(several).map(Request::Group),
            Request::Frame(several) => Frames::split_request(several).map(Request::Frame),
            Request::Outside(several) => B::split_request(several).map(Request::Outside),
            _ => None,
        }
    }
}

impl<M: Message, B: Service> Indication<M, B> {
    /// Splits the first message off an indication that carries several, as an indication of its
    /// own.
    #[inline]
    pub fn split_first(&mut self) -> Option<Self> {
        match self {
            Indication::Datagram(several) => {
                Datagrams::split_indication(several).map(Indication::Datagram)
            }
            Indication::Group(several) => Groups::split_indication(several).map(Indication::Group),
            Indication::Frame(several) => Frames::split_indication(several).map(Indication::Frame),
            Indication::Outside(several) => B::split_indication(several).map(Indication::Outside),
            _ => None,
        }
    }
}
