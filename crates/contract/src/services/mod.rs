//! The services: a small, closed set, plus whatever an application speaks with its own protocol.

mod batch;
mod datagrams;
mod files;
mod frames;
mod octets;
mod streams;

pub use batch::{Batch, BatchMessages};
pub use datagrams::{Datagrams, DatagramsIndication, DatagramsRequest, Ecn, MessageKind, Quality, Room};
pub use files::{Entry, Failure, Files, FilesIndication, FilesRequest, Kind, Purpose, Status};
pub use frames::{Frames, FramesIndication, FramesRequest};
pub use octets::{Octets, OctetsIndication, OctetsRequest};
pub use streams::{Ended, Streams, StreamsIndication, StreamsRequest};
