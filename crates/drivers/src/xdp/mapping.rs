//! Memory that is shared with the kernel.
#![allow(unsafe_code, reason = "named exception: memory that is mapped")]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Whole pages, which are readable and writable. All places are checked.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it owns its pages, of which nothing depends on a thread.
unsafe impl Send for Mapping {}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

impl Mapping {
    /// Maps pages of its own.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses where, so no memory that is in use is affected.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), length, READ_WRITE, MapFlags::PRIVATE) }?;
        Self::of(start, length)
    }

    /// Maps a ring of a socket, which is at this offset.
    pub(super) fn of_ring(socket: &OwnedFd, length: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses where, so no memory that is in use is affected.
        let start = unsafe { mmap(ptr::null_mut(), length, READ_WRITE, flags, socket, offset) }?;
        Self::of(start, length)
    }

    fn of(start: *mut std::ffi::c_void, length: usize) -> io::Result<Self> {
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, length })
    }

    /// Returns its address, for the kernel.
    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Returns where `length` octets are, if they all are within it.
    fn place(&self, at: usize, length: usize) -> Option<NonNull<u8>> {
        let is_within = at.checked_add(length).is_some_and(|end| end <= self.length);
        // SAFETY: the place is within the pages.
        is_within.then(|| unsafe { self.start.add(at) })
    }

    /// Returns 32 bits that both sides read and write.
    pub(super) fn word(&self, at: usize) -> Option<&AtomicU32> {
        let place = self.place(at, 4).filter(|_| at.is_multiple_of(4))?;
        // SAFETY: it is within the pages, which live as long as `self` and begin at a multiple of
        // 4 KiB, so it is aligned; any octets are an integer. The kernel's access is atomic, too.
        Some(unsafe { place.cast().as_ref() })
    }

    /// Copies octets out of it, if they are within it.
    pub(super) fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let place = self.place(at, into.len())?;
        // SAFETY: both are as long; no reference to the octets of these pages is ever made, but
        // to atomic words. What the kernel writes at the same time, if it breaks its word, is
        // octets like any others.
        unsafe { ptr::copy_nonoverlapping(place.as_ptr(), into.as_mut_ptr(), into.len()) };
        Some(())
    }

    /// Copies octets into it, if they fit.
    pub(super) fn write(&self, at: usize, from: &[u8]) -> Option<()> {
        let place = self.place(at, from.len())?;
        // SAFETY: as for `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), place.as_ptr(), from.len()) };
        Some(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: these are the pages that were mapped, and no reference outlives `self`. Pages
        // that the kernel was given stay its own (`pin_user_pages`).
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
