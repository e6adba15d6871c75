//! What the parts of one stack change alike.

#[cfg(not(feature = "std"))]
use core::cell::{RefCell, RefMut};
#[cfg(feature = "std")]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex where there are threads, which is hardly ever contended: a stack is run by one thread at
/// a time.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(super) struct Lock<T>(Mutex<T>);

#[cfg(feature = "std")]
impl<T> Lock<T> {
    pub(super) fn new(content: T) -> Self {
        Lock(Mutex::new(content))
    }

    /// Nothing in it is ever half done.
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
