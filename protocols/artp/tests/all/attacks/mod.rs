//! Who attacks ARTP, and what comes of it: each test is one attack, and states its bound.
//!
//! | file | who attacks |
//! | --- | --- |
//! | `injection.rs` | somebody off the path, who knows addresses, ports and the session, and has to guess the rest |
//! | `amplification.rs` | somebody who asks in another's name |
//! | `replay.rs` | somebody who has recorded what was said |
//! | `peer.rs` | the peer: what it says is not so |
//! | `memory.rs` | the peer: pieces without end |
//! | `windows.rs` | many peers: windows that grew, and applications that read no more |
//! | `parts.rs` | the peer: parts of packets that cannot be |
//! | `moves.rs` | somebody who resets sessions, or moves them, in the name of a peer |
//! | `strangers.rs` | thousands, over the layer: half-open sessions, restarts, names |

mod amplification;
mod injection;
mod memory;
mod moves;
mod packets;
mod parts;
mod peer;
mod replay;
mod scene;
mod strangers;
mod windows;
