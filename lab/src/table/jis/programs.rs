//! The programs that take part: examples, which differ in the protocol alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use stackwright_programs::processes::built;
use stackwright_results::{Problem, source};

/// The client whose role is generated, over the transport that its phase selects.
pub(super) const TAILORED: &str = "jis-tailored";
/// The generated client over a transport that changes while data flow.
pub(super) const ADAPTIVE: &str = "jis-adaptive";
/// An application by hand over an association of an endpoint, over the same transport.
pub(super) const BY_HAND: &str = "jis-by-hand";
/// A layer by hand, for one association alone, over the same transport.
pub(super) const LAYER: &str = "jis-by-hand-layer";
/// The generated client over the kernel's TCP.
pub(super) const TCP: &str = "jis-tcp";
/// The generated client over smoltcp's TCP, at user level.
pub(super) const SMOLTCP: &str = "jis-smoltcp";
/// The server of the first three.
pub(super) const SERVER: &str = "jis-server";
/// The server of the one that changes.
pub(super) const ADAPTIVE_SERVER: &str = "jis-adaptive-server";
/// The server over TCP.
pub(super) const TCP_SERVER: &str = "jis-tcp-server";

/// Builds them as releases.
///
/// # Errors
/// If they cannot be built.
pub(super) fn build() -> Result<(), Problem> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--package", "stackwright-examples"]);
    for name in
        [TAILORED, ADAPTIVE, BY_HAND, LAYER, TCP, SMOLTCP, SERVER, ADAPTIVE_SERVER, TCP_SERVER]
    {
        cargo.args(["--bin", name]);
    }
    cargo.current_dir(source()).stdin(Stdio::null());
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::new(format!("the build of the examples ended with {status}"))),
        Err(why) => Err(Problem::new(format!("cannot start cargo: {why}"))),
    }
}

/// Where one of them is.
pub(super) fn path(name: &str) -> PathBuf {
    built("release").join(name)
}
