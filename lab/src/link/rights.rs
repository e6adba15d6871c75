//! Whether this machine and this user may make a link at all, said before anything is made.

use std::env;
use std::fs::File;
use std::io::ErrorKind;

use crate::problem::Problem;

use super::tun::CLONE;

/// Finds out.
///
/// # Errors
///
/// A sentence for the first thing that is missing, and what to do.
pub(super) fn check() -> Result<(), Problem> {
    if !rustix::process::geteuid().is_root() {
        return Err(Problem::new("network namespaces and TUN devices can only be made by root")
            .advise("Say it again behind `sudo`."));
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&paths).any(|folder| folder.join("ip").is_file()) {
        return Err(Problem::new("the program `ip` is not on the PATH")
            .advise("It comes with iproute2: `apt install iproute2`; it may lie in /usr/sbin."));
    }
    match File::options().read(true).write(true).open(CLONE) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Problem::new(format!("{CLONE} is not there"))
                .advise("`modprobe tun` loads the driver; a container must be given the device."))
        }
        Err(error) => Err(Problem::new(format!("{CLONE} cannot be opened: {error}"))
            .advise("A container must be allowed to use the device (character device 10:200).")),
    }
}
