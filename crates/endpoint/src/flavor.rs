//! On which threads the handles of an endpoint may be used: on one, or on any.

use std::cell::RefCell;
use std::ops::DerefMut;
use std::sync::{Mutex, PoisonError};

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
}

impl Sharing for CurrentThread {
    type Lock<T> = RefCell<T>;
}

impl Sharing for MultiThread {
    type Lock<T> = Mutex<T>;
}

/// Something that one handle at a time may change.
pub trait Lock<T> {
    fn new(content: T) -> Self;
    fn lock(&self) -> impl DerefMut<Target = T>;
}

impl<T> Lock<T> for RefCell<T> {
    fn new(content: T) -> Self {
        RefCell::new(content)
    }

    #[inline]
    fn lock(&self) -> impl DerefMut<Target = T> {
        self.borrow_mut()
    }
}

impl<T> Lock<T> for Mutex<T> {
    fn new(content: T) -> Self {
        Mutex::new(content)
    }

    /// A thread that panicked within a call leaves the stack to the others, as it leaves it to the
    /// other tasks of its own thread in the other flavor.
    #[inline]
    fn lock(&self) -> impl DerefMut<Target = T> {
        Mutex::lock(self).unwrap_or_else(PoisonError::into_inner)
    }
}
