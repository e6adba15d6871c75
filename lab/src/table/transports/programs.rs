//! The two programs that take part: ours, and the one with the strangers' transports.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    /// Finds them, or builds what is missing. Where there are no strangers a note says so.
    ///
    /// # Errors
    /// Where ours cannot be had.
    pub(crate) fn new(notes: &mut Vec<String>) -> Result<Self, Problem> {
        let ours = Self::ours()?;
        let peers = peers();
        if let Err(why) = &peers {
            notes.push(format!("The other transports are left out: {}.", why.says()));
        }
        Ok(Programs { peers: peers.ok(), ..ours })
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

/// The program `peers`: named by the variable PEERS, or built in its folder.
fn peers() -> Result<PathBuf, Problem> {
    if let Some(named) = env::var_os("PEERS") {
        return Ok(named.into());
    }
    let folder = source().join("lab/peers");
    let program = folder.join("target/release/peers");
    if program.is_file() {
        return Ok(program);
    }
    if !folder.join("Cargo.toml").is_file() {
        return Err(Problem::new("lab/peers is missing"));
    }
    eprintln!("lab: building the other transports: cargo build --release, in lab/peers");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--quiet"])
        .current_dir(&folder)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null());
    match cargo.status() {
        Ok(status) if status.success() => Ok(program),
        Ok(status) => Err(Problem::new(format!("the build of lab/peers ended with {status}"))),
        Err(why) => Err(Problem::new(format!("cannot start cargo: {why}"))),
    }
}
