//! The services: a small, closed set, plus whatever an application speaks with its own protocol.

mod datagrams;
mod files;
mod octets;
mod run;
mod streams;

pub use datagrams::{Datagrams, DatagramsIndication, DatagramsRequest, Ecn, MessageKind, Quality, Room};
pub use files::{Entry, Failure, Files, FilesIndication, FilesRequest, Kind, Purpose, Status};
pub use octets::{Octets, OctetsIndication, OctetsRequest};
pub use run::{Apart, Run};
pub use streams::{Ended, Streams, StreamsIndication, StreamsRequest};
