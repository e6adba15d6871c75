//! The two programs that take part: ours, and the one with the strangers' transports.

use std::env;
use std::path::{Path, PathBuf};

use stackwright_programs::processes::stackwright;
use stackwright_programs::scratch::Scratch;
use stackwright_results::{Problem, source};

use crate::table::ftp::program;

/// Where they are.
pub(crate) struct Programs {
    ours: PathBuf,
    peers: Option<PathBuf>,
    _installed: Scratch,
}

impl Programs {
    /// Finds both, and builds ours if it is missing.
    ///
    /// # Errors
    /// Where one of them cannot be had.
    pub(crate) fn new() -> Result<Self, Problem> {
        let peers = Some(peers()?);
        Ok(Programs { peers, ..Self::ours()? })
    }

    /// Ours alone.
    ///
    /// # Errors
    /// Where it cannot be had.
    pub(crate) fn ours() -> Result<Self, Problem> {
        let installed = Scratch::new();
        program::copy(&installed)?;
        Ok(Programs { ours: stackwright(), peers: None, _installed: installed })
    }

    /// The program for one of ours, or for a stranger.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn of(&self, ours: bool) -> Result<&Path, Problem> {
        let program = if ours { Some(&self.ours) } else { self.peers.as_ref() };
        program
            .map(PathBuf::as_path)
            .ok_or_else(|| Problem::new("the other transports (lab/peers) are missing"))
    }

    /// Whether strangers take part.
    pub(crate) fn has_peers(&self) -> bool {
        self.peers.is_some()
    }
}

/// Returns the program `peers`: named by the variable PEERS, or built in its folder. To build it
/// takes minutes, so that is not done in the middle of a table.
fn peers() -> Result<PathBuf, Problem> {
    if let Some(named) = env::var_os("PEERS") {
        return Ok(named.into());
    }
    let folder = source().join("lab/peers");
    let program = folder.join("target/release/peers");
    if program.is_file() {
        return Ok(program);
    }
    Err(Problem::new("the other transports are not built")
        .advise("`lab/peers/build` builds them; the variable PEERS names a program elsewhere"))
}
