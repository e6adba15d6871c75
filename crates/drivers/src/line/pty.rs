//! A pseudo terminal that is made here, for a program that wants a serial device.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};

use super::serial::set_raw;

/// The end of this program, and the name of the other.
pub(super) struct Pty {
    ours: OwnedFd,
    theirs: PathBuf,
    /// A symbolic link to the other, which is removed with this.
    link: PathBuf,
}

impl Pty {
    /// Makes a pseudo terminal whose other end is at `link`.
    ///
    /// # Errors
    /// If the system has none to give, or something else than such a link is there.
    pub(super) fn new(link: PathBuf) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let name = ptsname(&ours, Vec::new())?;
        let theirs = PathBuf::from(OsStr::from_bytes(name.as_bytes()));
        // From here on it hangs up while nobody has the other end open.
        set_raw(ioctl_tiocgptpeer(&ours, flags)?, None)?;
        match fs::read_link(&link) {
            // One that a program left behind: terminals are numbered anew.
            Ok(there) if there.starts_with("/dev/pts") => fs::remove_file(&link)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            _ => return Err(ErrorKind::AlreadyExists.into()),
        }
        symlink(&theirs, &link)?;
        Ok(Pty { ours, theirs, link })
    }

    /// Returns this program's end, if a program has the other end open.
    pub(super) fn open(&self) -> io::Result<Option<File>> {
        let mut ends = [PollFd::new(&self.ours, PollFlags::empty())];
        poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let is_alone = ends[0].revents().contains(PollFlags::HUP);
        if is_alone { Ok(None) } else { Ok(Some(self.ours.try_clone()?.into())) }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Another program may have put its own there.
        if fs::read_link(&self.link).is_ok_and(|there| there == self.theirs) {
            let _ = fs::remove_file(&self.link);
        }
    }
}
