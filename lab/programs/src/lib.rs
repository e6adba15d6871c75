//! Programs that are tested and measured.
//!
//! | module | what |
//! | --- | --- |
//! | [`processes`], [`place`] | programs that end with their owner, and where they run |
//! | [`servers`], [`served`], [`scratch`] | FTP servers, ours and others, and what they serve |
//! | [`encrypted`] | the same with TLS, and certificates |
//! | [`control`], [`raw`] | FTP clients in the process itself |
//! | [`rig`] | two radio modems |
//! | [`terminal`] | a program as a person sees it |
//! | [`content`], [`picture`] | octets that can be made again, pictures as well |
//! | [`statistics`] | how sure a ratio is |

pub mod content;
pub mod control;
pub mod encrypted;
pub mod picture;
pub mod place;
pub mod processes;
pub mod raw;
pub mod rig;
pub mod scratch;
pub mod served;
pub mod servers;
pub mod statistics;
pub mod terminal;
