//! The disk's adapter with real files, driven as a stack of one layer.

#[path = "files/bench.rs"]
mod bench;

#[path = "files/answers.rs"]
mod answers;
#[path = "files/attributes.rs"]
mod attributes;
#[path = "files/containment.rs"]
mod containment;
#[path = "files/crossing.rs"]
mod crossing;
#[path = "files/digests.rs"]
mod digests;
#[path = "files/listing.rs"]
mod listing;
#[path = "files/names.rs"]
mod names;
#[path = "files/parts.rs"]
mod parts;
#[path = "files/spliced.rs"]
mod spliced;
#[path = "files/whole_or_nothing.rs"]
mod whole_or_nothing;
