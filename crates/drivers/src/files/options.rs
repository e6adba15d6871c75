//! The options of a disk.

/// The default limit on the names of files and inquiries at once: each open file costs one or two
/// descriptors.
pub const NAMES_MOST: usize = 4096;

/// The options of a disk.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// The number of threads. At least 1; the default is 2: one cold read should not delay all
    /// others.
    pub workers: usize,
    /// Whether reads are answered with regions of files. Use it only if the layers above pass
    /// payload unread, down to a driver that sends regions. By default not; and never if the
    /// messages hold octets only.
    pub regions: bool,
    /// Whether a created file and its folder are on the disk, not only in its cache, before
    /// `Closed` is indicated. By default they are.
    pub sync: bool,
    /// Whether anything may be created, renamed or removed. By default not.
    pub writable: bool,
    /// How many octets of each file are read or written on the stack's own thread, which then also
    /// answers its inquiries, before a worker takes over. It saves a thread and its wake-ups, and
    /// lets a slow disk stop the whole stack: right for a program with one transfer. A region is
    /// not read, and counts as no octet. By default 0.
    pub at_once: u64,
    /// How many files and inquiries may have a name at once; one more is denied. By default
    /// [`NAMES_MOST`].
    pub names: usize,
}

impl Default for DiskOptions {
    fn default() -> Self {
        DiskOptions {
            workers: 2,
            regions: false,
            sync: true,
            writable: false,
            at_once: 0,
            names: NAMES_MOST,
        }
    }
}
