//! A serial line.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
};

use crate::granted::Wanted;
use crate::registry::Registry;

/// A device, and how fast its line is.
pub(super) struct Serial {
    pub(super) path: PathBuf,
    pub(super) baud: u32,
}

impl Serial {
    /// Opens the device, unless a program that locks it too has it.
    pub(super) fn open(&self, registry: &Registry) -> io::Result<File> {
        let wanted = || Wanted::Serial(self.path.clone());
        let device = File::from(registry.or_granted(device(&self.path), wanted)?);
        flock(&device, FlockOperation::NonBlockingLockExclusive)?;
        set_raw(&device, Some(self.baud))?;
        // What came before is of no frame.
        tcflush(&device, QueueSelector::IOFlush)?;
        Ok(device)
    }
}

/// Opens a device.
pub(crate) fn device(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits() as i32);
    Ok(options.open(path)?.into())
}

/// Makes a terminal pass octets as they are, without a modem's control lines.
pub(super) fn set_raw(terminal: impl AsFd, baud: Option<u32>) -> io::Result<()> {
    let mut settings = tcgetattr(&terminal)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    settings.control_modes -= ControlModes::CRTSCTS;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    if let Some(baud) = baud {
        settings.set_speed(baud)?;
    }
    Ok(tcsetattr(&terminal, OptionalActions::Now, &settings)?)
}
