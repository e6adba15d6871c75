//! What the parts of one stack change alike.

#[cfg(not(feature = "std"))]
use core::cell::{RefCell, RefMut};
#[cfg(feature = "std")]
use parking_lot::{Mutex, MutexGuard};

/// A mutex where there are threads, which is hardly ever contended: a stack is run by one thread at
/// a time. It does not look for panics of other threads, as that of std does with each lock: a
/// third of what a pool costs.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(super) struct Lock<T>(Mutex<T>);

#[cfg(feature = "std")]
impl<T> Lock<T> {
    pub(super) fn new(content: T) -> Self {
        Lock(Mutex::new(content))
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }
}

/// Without threads, a cell.
#[cfg(not(feature = "std"))]
#[derive(Debug)]
pub(super) struct Lock<T>(RefCell<T>);

#[cfg(not(feature = "std"))]
impl<T> Lock<T> {
    pub(super) fn new(content: T) -> Self {
        Lock(RefCell::new(content))
    }

    #[inline]
    pub(super) fn lock(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}
