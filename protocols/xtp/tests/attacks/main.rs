//! What attacks XTP, and what comes of it: each test is one attack, or one untruth of a peer.
//!
//! | file | what attacks |
//! | --- | --- |
//! | `keys.rs` | packets of an earlier context, and guesses of keys |
//! | `diagnostics.rs` | DIAG that is not the peer's |

mod diagnostics;
mod keys;
mod packets;
mod station;
