//! Whether this machine and this user may make a link at all, said before anything is made.

use std::env;
use std::fs::File;
use std::io::ErrorKind;

use stackwright_drivers::tun::CLONE;
use stackwright_results::Problem;

/// Finds out.
///
/// # Errors
///
/// A sentence for the first thing that is missing, and what to do.
pub(crate) fn check() -> Result<(), Problem> {
    if !rustix::process::geteuid().is_root() {
        return Err(Problem::new("only root can create network namespaces and TUN devices")
            .advise("run it again with sudo"));
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&paths).any(|folder| folder.join("ip").is_file()) {
        return Err(Problem::new("the program `ip` is not on the PATH")
            .advise("install iproute2 (`apt install iproute2`), or add /usr/sbin to the PATH"));
    }
    match File::options().read(true).write(true).open(CLONE) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Problem::new(format!(
            "{CLONE} does not exist"
        ))
        .advise("load the driver with `modprobe tun`; in a container, pass the device to it")),
        Err(error) => Err(Problem::new(format!("cannot open {CLONE}: {error}"))
            .advise("in a container, allow the device (character device 10:200)")),
    }
}
