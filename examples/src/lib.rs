//! What several examples share: the stack that they stand on.

pub mod jis;

use stackwright::endpoint::blocking::{Association, Endpoint};
pub use stackwright::stacks::{Artp, artp, artp_with};

/// An endpoint on that stack.
pub type ArtpEndpoint = Endpoint<Artp>;

/// An association of such an endpoint.
pub type ArtpAssociation = Association<Artp>;
