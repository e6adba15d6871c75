//! The client: what a person does with the files of a server.
//!
//! | file | what |
//! | --- | --- |
//! | `ls.rs`, `listing.rs` | the names in a folder; how an entry is shown |

mod listing;
pub(crate) mod ls;
