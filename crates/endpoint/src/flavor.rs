//! On which threads the handles of an endpoint may be used: on one, or on any.

use std::cell::{RefCell, RefMut};
use std::ops::DerefMut;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// How the handles of an endpoint share its stack: [`CurrentThread`] or [`MultiThread`], named as
/// tokio's runtimes are. Nothing else is a flavor.
///
/// ```
/// use stackwright_endpoint::{CurrentThread, Flavor, MultiThread};
/// fn is_flavor<F: Flavor>() {}
/// is_flavor::<CurrentThread>();
/// is_flavor::<MultiThread>();
/// ```
pub trait Flavor: Sharing {}

impl<F: Sharing> Flavor for F {}

/// The handles stay on one thread. Nothing is locked.
///
/// ```
/// use stackwright_drivers::udp::Udp;
/// use stackwright_endpoint::{CurrentThread, Endpoint, task};
/// use stackwright_wire::BufferTree;
/// fn same(endpoint: task::Endpoint<Udp<BufferTree>, CurrentThread>) -> Endpoint<Udp<BufferTree>> {
///     endpoint
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub enum CurrentThread {}

/// The handles are `Send` and `Sync` where the stack is `Send`: any thread of the runtime may run
/// the stack, one at a time.
///
/// ```
/// use stackwright_drivers::udp::Udp;
/// use stackwright_endpoint::{MultiThread, multi_thread, task};
/// use stackwright_wire::BufferTree;
/// fn is_shared<T: Send + Sync>() {}
/// is_shared::<task::Endpoint<Udp<BufferTree>, MultiThread>>();
/// is_shared::<multi_thread::Association<Udp<BufferTree>>>();
/// ```
#[derive(Clone, Copy, Debug)]
pub enum MultiThread {}

/// What a flavor decides. It cannot be named outside.
pub trait Sharing: 'static {
    /// What the handles share is behind it.
    type Lock<T>: Lock<T>;
    /// Whether another thread may want it meanwhile.
    const CONCURRENT: bool;
}

impl Sharing for CurrentThread {
    type Lock<T> = RefCell<T>;
    const CONCURRENT: bool = false;
}

impl Sharing for MultiThread {
    type Lock<T> = Mutex<T>;
    const CONCURRENT: bool = true;
}

/// Something that one handle at a time may change.
pub trait Lock<T> {
    /// While it lives, the content is lent.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;
    fn new(content: T) -> Self;
    fn lock(&self) -> Self::Guard<'_>;
    /// The same, unless another thread holds it.
    fn try_lock(&self) -> Option<Self::Guard<'_>>;
}

impl<T> Lock<T> for RefCell<T> {
    type Guard<'a>
        = RefMut<'a, T>
    where
        T: 'a;

    fn new(content: T) -> Self {
        RefCell::new(content)
    }

    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        self.borrow_mut()
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        Some(self.borrow_mut())
    }
}

impl<T> Lock<T> for Mutex<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(content: T) -> Self {
        Mutex::new(content)
    }

    /// A thread that panicked within a call leaves the stack to the others, as it leaves it to the
    /// other tasks of its own thread in the other flavor.
    #[inline]
    fn lock(&self) -> Self::Guard<'_> {
        Mutex::lock(self).unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        match Mutex::try_lock(self) {
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Ok(guard) => Some(guard),
        }
    }
}
