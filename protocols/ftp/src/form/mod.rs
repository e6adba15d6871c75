//! How a file is represented on a data association (RFC 959 §3.1, §3.4).
//!
//! | file | what |
//! | --- | --- |
//! | `ascii.rs` | TYPE A: lines that end with CRLF |
//! | `record.rs` | STRU R in a stream: escapes mark the ends |
//! | `block.rs` | MODE B: blocks with headers |
//! | `deflate.rs` | MODE Z: a zlib stream |
//! | `encoder.rs`, `decoder.rs` | these, composed as a [`Form`] says |
//!
//! All of it is octets to octets, in pieces of any length.

mod ascii;
mod block;
mod decoder;
mod deflate;
mod encoder;
mod record;

pub use decoder::Decoder;
pub use encoder::Encoder;

/// The form of a transfer: what TYPE, MODE and STRU have set.
///
/// The default is plain: the octets of the file as they are, ended by the end of the association.
/// It is not what a session [begins with](Form::INITIAL).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Form {
    /// The representation (TYPE).
    pub representation: Representation,
    /// The mode of transmission (MODE).
    pub mode: Mode,
    /// The structure (STRU).
    pub structure: Structure,
}

/// The representation of files on the wire (RFC 959 §3.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Representation {
    /// As text: lines end with CRLF.
    Ascii,
    /// As octets, unchanged.
    #[default]
    Image,
}

/// The mode of transmission (RFC 959 §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// As a stream of octets.
    #[default]
    Stream,
    /// As blocks with headers.
    Block,
    /// As a zlib stream (draft-preston-ftpext-deflate, RFC 1950).
    Deflate {
        /// The level at which this end compresses, 1 to 9.
        level: u8,
    },
}

/// The structure of files (RFC 959 §3.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Structure {
    /// Octets without further structure.
    #[default]
    File,
    /// Records: each line of a file is one.
    Record,
}

impl Form {
    /// The form before TYPE, MODE and STRU set another (RFC 959 §5.1): text. Clients that mean it,
    /// lftp's `put -a` among them, do not send TYPE A.
    pub const INITIAL: Form = Form {
        representation: Representation::Ascii,
        mode: Mode::Stream,
        structure: Structure::File,
    };

    /// Returns whether the association carries the octets of the file as they are.
    pub fn is_plain(self) -> bool {
        self == Form::default()
    }

    /// Returns whether REST may set the octet of the file at which a transfer begins: elsewhere an
    /// offset on the wire is none in the file (RFC 3659 §5.3).
    pub fn restarts(self) -> bool {
        self.representation == Representation::Image && self.structure == Structure::File
    }
}

/// The damage for which what arrives is not a file in its [`Form`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// A block has a header without meaning.
    #[error("a block has a header that means nothing")]
    Block,
    /// A record has an escape without meaning.
    #[error("a record has an escape that means nothing")]
    Escape,
    /// It cannot be expanded, or its checksum is wrong.
    #[error("the compressed data is damaged")]
    Compressed,
    /// It expands to far more than files do.
    #[error("the compressed data expands to too much")]
    Expansion,
    /// There is more behind the end of the file.
    #[error("there is more data behind the end of the file")]
    Trailing,
    /// The association ended before the file did.
    #[error("the data ended before the end of the file")]
    Truncated,
}
