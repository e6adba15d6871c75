//! What attacks XTP, and what comes of it: each test is one attack, or one untruth of a peer.
//!
//! | file | what attacks |
//! | --- | --- |
//! | `keys.rs` | packets of an earlier context, and guesses of keys |
//! | `diagnostics.rs` | DIAG that is not the peer's |
//! | `reports.rs` | a peer whose reports, lengths and questions are not so, or old |
//! | `replay.rs` | packets that were recorded |
//! | `windows.rs` | a peer that does not read, or sends what it may not |
//! | `strangers.rs` | thousands of addresses that may be false |

mod diagnostics;
mod keys;
mod packets;
mod replay;
mod reports;
mod scene;
mod station;
mod strangers;
mod windows;
