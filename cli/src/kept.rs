//! A transfer that was interrupted and can go on.

use indicatif::HumanBytes;

/// What a person who reads the output is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub(crate) id: String,
    /// Whether it is an upload.
    pub(crate) is_sent: bool,
    /// How many octets are there.
    pub(crate) known: u64,
    /// Of how many, where that is known.
    pub(crate) size: Option<u64>,
}

impl Kept {
    /// What will happen next to all of them.
    pub(crate) fn next(all: &[Self]) -> String {
        let [Kept { id, is_sent, known, size }] = all else {
            return format!(
                "{} transfers are kept, and nothing happens by itself: `stackwright resume` goes \
                 on with all of them, `stackwright transfers` lists them",
                all.len()
            );
        };
        let known = HumanBytes(*known);
        let of = size.map(|size| format!(" of {}", HumanBytes(size))).unwrap_or_default();
        let are = if *is_sent { "sent" } else { "kept" };
        format!(
            "{known}{of} {are}, and nothing happens by itself: `stackwright resume {id}` goes on \
             from there, `stackwright forget {id}` gives it up"
        )
    }
}
