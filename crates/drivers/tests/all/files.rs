//! The disk's adapter with real files, driven as a stack of one layer.

mod bench;

mod answers;
mod attributes;
mod containment;
mod crossing;
mod digests;
mod listing;
mod names;
mod parts;
mod spliced;
mod whole_or_nothing;
