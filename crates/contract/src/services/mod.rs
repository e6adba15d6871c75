//! The services: a small, closed set, and what an application speaks with its own protocol.

mod association;
mod batch;
mod credit;
mod ended;
mod files;
mod frames;
mod gate;
mod groups;
mod octets;
mod properties;
mod transfer;

pub use association::{
    AssociationIndication, AssociationRequest, DatagramsIndication, DatagramsRequest,
    GroupsIndication, GroupsRequest, StreamsIndication, StreamsRequest,
};
pub use batch::{Batch, BatchMessages};
pub use credit::Credit;
pub use ended::{Code, Ended};
pub use files::{
    Attribute, Failure, FileKind, FileVersion, Files, FilesIndication, FilesRequest, FolderEntry,
    Keep, Purpose, Status,
};
pub use frames::{Frames, FramesIndication, FramesRequest};
pub use gate::{CreditBack, CreditGate, OwedCredit, QueuedBatch};
pub use groups::{
    Ballot, CastCounts, GroupKind, GroupMember, GroupNotice, GroupOrder, GroupProperties,
    GroupView, Groups, Outsider, Rank,
};
pub use octets::{Octets, OctetsIndication, OctetsRequest};
pub use properties::{Ecn, MessageKind, MessageProperties};
pub use transfer::{Datagrams, PropertiesOf, StreamProperties, Streams, Transfer};
