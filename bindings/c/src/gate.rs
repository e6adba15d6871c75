//! Who may call, and what a panic becomes.
//!
//! A handle is a pointer to a [`Guarded`] state. Only the thread that made the endpoint passes its
//! gate, once at a time: neither another thread nor a signal handler that interrupted a call does.
//! With `SW_BACKGROUND` all threads pass, one after the other, and one of the library's own runs
//! the stack: a call that has to wait does so outside the gate, until something happened.
//! A panic stays inside: the endpoint is broken then, and can only be freed.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, compiler_fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::write;

use crate::association::AssociationState;
use crate::endpoint::EndpointState;
use crate::failure::{Failure, Outcome};

/// An endpoint, as C sees it.
pub type Endpoint = Guarded<EndpointState>;
/// An association, as C sees it.
pub type Association = Guarded<AssociationState>;

/// The gate of one endpoint and its associations.
pub(crate) struct Gate {
    owner: u64,
    /// The thread that is inside; 0: none. Atomic for a signal handler's sake, and for that of
    /// threads that wait for [`Background::queue`].
    inside: AtomicU64,
    broken: AtomicBool,
    background: Option<Background>,
}

/// What threads share, where all of them may call.
struct Background {
    /// Held by the thread that is inside.
    queue: Mutex<()>,
    /// Counts what happened that a call may wait for, while the lock is held.
    events: AtomicU64,
    happened: Condvar,
    /// Readable once the endpoint is freed.
    ends: OwnedFd,
}

impl Background {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.events.fetch_add(1, Relaxed);
        self.happened.notify_all();
    }

    /// Waits until something happens, unless it has since `seen`.
    fn wait(&self, seen: u64, most: Duration) {
        let queue = self.lock();
        if self.events.load(Relaxed) == seen {
            drop(self.happened.wait_timeout(queue, most));
        }
    }
}

/// How long a call waits at once that may wait without limit.
const WAIT_MOST: Duration = Duration::from_secs(3600);

/// A state behind a gate.
pub struct Guarded<T> {
    gate: Arc<Gate>,
    state: UnsafeCell<T>,
}

/// Returns the number of this thread, which no other ever has. That of the standard library costs a
/// program in C an allocation for each thread.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Relaxed));
    }
    NUMBER.get()
}

impl Gate {
    /// Makes the gate of an endpoint of this thread, or of all.
    pub(crate) fn new(of_all: bool) -> Result<Arc<Self>, Failure> {
        let ends = of_all.then(|| eventfd(0, EventfdFlags::CLOEXEC)).transpose();
        let background = ends.map_err(|_| Failure::Unavailable)?.map(|ends| Background {
            queue: Mutex::new(()),
            events: AtomicU64::new(0),
            happened: Condvar::new(),
            ends,
        });
        let (inside, broken) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Arc::new(Gate { owner: this_thread(), inside, broken, background }))
    }

    /// Runs a call of an endpoint, a broken one only to `end` it.
    fn pass(&self, end: bool, call: &mut dyn FnMut() -> Outcome) -> Outcome {
        let this = this_thread();
        let shared = self.background.as_ref();
        if self.inside.load(Relaxed) == this || shared.is_none() && this != self.owner {
            return Err(Failure::Thread);
        }
        let _queue = shared.map(Background::lock);
        self.inside.store(this, Relaxed);
        // A signal handler of this thread sees the store before anything else changes, and after.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        let outcome = match self.broken.load(Relaxed) && !end {
            true => Err(Failure::Broken),
            false => contained(call).inspect_err(|failure| {
                self.broken.fetch_or(*failure == Failure::Broken, Relaxed);
            }),
        };
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        self.inside.store(0, Relaxed);
        if let (Some(shared), Err(Failure::Broken)) = (shared, &outcome) {
            shared.tell();
        }
        outcome
    }

    /// Runs a call that may have to wait, and returns [`Failure::Again`] after the time that it is
    /// given: it waits within the call, or, where others may call meanwhile, between one and the
    /// next.
    fn pass_waiting(
        &self,
        timeout: Option<Duration>,
        call: &mut dyn FnMut(Option<Duration>) -> Outcome,
    ) -> Outcome {
        let Some(shared) = &self.background else {
            return self.pass(false, &mut || call(timeout));
        };
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let mut seen = 0;
            let outcome = self.pass(false, &mut || {
                seen = shared.events.load(Relaxed);
                call(Some(Duration::ZERO))
            });
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if outcome != Err(Failure::Again) || left == Some(Duration::ZERO) {
                return outcome;
            }
            shared.wait(seen, left.unwrap_or(WAIT_MOST));
        }
    }
}

/// Makes a panic a failure.
pub(crate) fn contained(call: &mut dyn FnMut() -> Outcome) -> Outcome {
    // What a panic left half done is not used again: the endpoint is broken.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Failure::Broken))
}

/// Drops what a panic may have left half done.
fn dropped<T>(gone: T) -> Outcome {
    let mut gone = Some(gone);
    contained(&mut || {
        gone = None;
        Ok(0)
    })
}

impl<T> Guarded<T> {
    /// Makes a handle.
    pub(crate) fn handle(gate: &Arc<Gate>, state: T) -> *mut Self {
        Box::into_raw(Box::new(Guarded { gate: Arc::clone(gate), state: state.into() }))
    }

    /// Returns the gate, through which associations pass, too.
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}

/// Calls an endpoint, and has its descriptor tell what is to be done afterwards.
///
/// # Errors
/// [`Failure::Invalid`] without a handle, [`Failure::Thread`] and [`Failure::Broken`] at the gate,
/// and what `call` returns.
///
/// # Safety
/// `handle` is null, or an endpoint that was not freed.
pub unsafe fn on_endpoint(
    handle: *const Endpoint,
    call: impl FnOnce(&mut EndpointState) -> Outcome,
) -> Outcome {
    let mut call = Some(call);
    let mut once = |state: &mut EndpointState, _| call.take().ok_or(Failure::Again)?(state);
    // SAFETY: the caller's promise.
    unsafe { wait_on_endpoint(handle, Some(Duration::ZERO), &mut once) }
}

/// Calls an endpoint in the same way, up to `timeout`: the call is given how long it may wait, and
/// returns [`Failure::Again`] then; it may be made again. It is behind a pointer, so that all of
/// this is compiled once.
///
/// # Errors
/// As [`on_endpoint`].
///
/// # Safety
/// As [`on_endpoint`].
pub(crate) unsafe fn wait_on_endpoint(
    handle: *const Endpoint,
    timeout: Option<Duration>,
    call: &mut dyn FnMut(&mut EndpointState, Option<Duration>) -> Outcome,
) -> Outcome {
    // SAFETY: not freed, by the caller's promise; only shared references to it are ever made.
    let endpoint = unsafe { handle.as_ref() }.ok_or(Failure::Invalid)?;
    endpoint.gate.pass_waiting(timeout, &mut |timeout| {
        // SAFETY: one call at a time passes the gate, and each reference to the state ends with it.
        let state = unsafe { &mut *endpoint.state.get() };
        let outcome = call(state, timeout);
        state.arm();
        outcome
    })
}

/// Calls an association, in the same way.
///
/// # Errors
/// As [`on_endpoint`].
///
/// # Safety
/// `handle` is null, or an association that was not freed, nor its endpoint.
pub unsafe fn on_association(
    handle: *const Association,
    call: impl FnOnce(&mut AssociationState) -> Outcome,
) -> Outcome {
    let mut call = Some(call);
    let mut once = |state: &mut AssociationState, _| call.take().ok_or(Failure::Again)?(state);
    // SAFETY: the caller's promise.
    unsafe { wait_on_association(handle, Some(Duration::ZERO), &mut once) }
}

/// Calls an association, as [`wait_on_endpoint`] does.
///
/// # Errors
/// As [`on_endpoint`].
///
/// # Safety
/// As [`on_association`].
pub(crate) unsafe fn wait_on_association(
    handle: *const Association,
    timeout: Option<Duration>,
    call: &mut dyn FnMut(&mut AssociationState, Option<Duration>) -> Outcome,
) -> Outcome {
    // SAFETY: as above.
    let association = unsafe { handle.as_ref() }.ok_or(Failure::Invalid)?;
    association.gate.pass_waiting(timeout, &mut |timeout| {
        // SAFETY: as above; the endpoint, which is another allocation, outlives its associations.
        let (state, endpoint) = unsafe {
            let state = &mut *association.state.get();
            let endpoint = &mut *(*state.endpoint).state.get();
            (state, endpoint)
        };
        let outcome = call(state, timeout);
        endpoint.arm();
        outcome
    })
}

/// A thread of the C library: `pthread_t`. One of Rust's would look into the environment, and
/// bring much that is not needed here.
pub(crate) type Thread = c_ulong;

unsafe extern "C" {
    fn pthread_create(
        thread: *mut Thread,
        attributes: *const c_void,
        run: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: Thread, result: *mut *mut c_void) -> c_int;
}

/// Has a thread of the library's own run the stack of an endpoint until it is freed.
///
/// # Errors
/// [`Failure::Unavailable`] where the system has no thread left.
///
/// # Safety
/// `handle` is an endpoint of all threads, and is freed by [`end_endpoint`].
pub(crate) unsafe fn run_in_background(handle: *mut Endpoint) -> Outcome {
    let mut thread = 0;
    // SAFETY: the stack is `Send` (see `stacks.rs`), and so is all that an endpoint of
    // `stackwright_endpoint::multi_thread` shares, which is the same; its handles are used by one
    // thread at a time, behind the lock of the gate. The endpoint outlives the thread.
    let error = unsafe { pthread_create(&raw mut thread, ptr::null(), turn, handle.cast()) };
    if error != 0 {
        return Err(Failure::Unavailable);
    }
    // SAFETY: the caller's promise.
    unsafe {
        on_endpoint(handle, |state| {
            state.thread = Some(thread);
            Ok(0)
        })
    }
}

/// Runs the stack of an endpoint, whenever its descriptor says so.
///
/// # Safety
/// `handle` is an endpoint that is not freed before this returns.
unsafe extern "C" fn turn(handle: *mut c_void) -> *mut c_void {
    let handle: *const Endpoint = handle.cast();
    // SAFETY: as above.
    let Some(shared) = (unsafe { &*handle }).gate.background.as_ref() else {
        return ptr::null_mut();
    };
    loop {
        let mut descriptor = -1;
        let mut turned = |state: &mut EndpointState, _| {
            descriptor = state.descriptor();
            Ok(state.turn()?.into())
        };
        // SAFETY: as above.
        let told = unsafe { wait_on_endpoint(handle, Some(Duration::ZERO), &mut turned) };
        if told != Ok(0) {
            shared.tell();
        }
        if told.is_err() {
            return ptr::null_mut();
        }
        // SAFETY: the endpoint closes it when it is freed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let mut polled = [shared.ends.as_fd(), descriptor]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        // A signal ends it, too: then there is nothing to do.
        let _ = poll(&mut polled, None);
        if !polled[0].revents().is_empty() {
            return ptr::null_mut();
        }
    }
}

/// Looks at an association within a call of its endpoint.
///
/// # Safety
/// `handle` was not freed.
pub(crate) unsafe fn peek<R>(
    handle: *const Association,
    look: impl FnOnce(&AssociationState) -> R,
) -> R {
    // SAFETY: one call at a time passes the gate, and this one refers to no association.
    look(unsafe { &*(*handle).state.get() })
}

/// Ends an association, which is freed then, whatever `call` returns.
///
/// # Safety
/// As [`on_association`]. Where this returns neither [`Failure::Invalid`] nor [`Failure::Thread`]
/// from the gate, the handle is used no more.
pub(crate) unsafe fn end_association(
    handle: *mut Association,
    call: &mut dyn FnMut(AssociationState) -> Outcome,
) -> Outcome {
    // SAFETY: as above. The gate is shared because the handle does not outlive the call.
    let gate = unsafe { handle.as_ref() }.map(|association| Arc::clone(&association.gate));
    let gate = gate.ok_or(Failure::Invalid)?;
    gate.pass(true, &mut || {
        // SAFETY: it came from `Guarded::handle`; past the gate no call uses it, and its endpoint
        // names it no more.
        let state = unsafe { Box::from_raw(handle) }.state.into_inner();
        // SAFETY: as in `on_association`.
        let endpoint = unsafe { &mut *(*state.endpoint).state.get() };
        endpoint.forget(&state);
        if gate.broken.load(Relaxed) {
            dropped(state)?;
            return Err(Failure::Broken);
        }
        let outcome = call(state);
        endpoint.arm();
        outcome
    })
}

/// Frees an endpoint with all its associations.
///
/// # Safety
/// As [`on_endpoint`]; where it returns no failure, no handle of it is used any more.
pub(crate) unsafe fn end_endpoint(handle: *mut Endpoint) -> Outcome {
    // SAFETY: as above.
    let gate = unsafe { handle.as_ref() }.map(|endpoint| Arc::clone(&endpoint.gate));
    let gate = gate.ok_or(Failure::Invalid)?;
    if let Some(shared) = &gate.background {
        let mut thread = None;
        gate.pass(true, &mut || {
            // SAFETY: as in `on_endpoint`.
            thread = unsafe { &mut *(*handle).state.get() }.thread.take();
            Ok(0)
        })?;
        let _ = write(&shared.ends, &1_u64.to_ne_bytes());
        if let Some(thread) = thread {
            // SAFETY: it was made, and nobody else waits for it.
            unsafe { pthread_join(thread, ptr::null_mut()) };
        }
    }
    gate.pass(true, &mut || {
        // SAFETY: as in `end_association`.
        let endpoint = unsafe { Box::from_raw(handle) }.state.into_inner();
        for association in endpoint.associations() {
            // SAFETY: the endpoint names those that were made and not freed.
            let association = unsafe { Box::from_raw(association) };
            // A broken stack may panic again: the others are freed nevertheless.
            let _ = dropped(association);
        }
        let _ = dropped(endpoint);
        Ok(0)
    })
}
