//! Who may call, and what a panic becomes.
//!
//! A handle is a pointer to a [`Guarded`] state. Only the thread that made the endpoint passes its
//! gate, once at a time: neither another thread nor a signal handler that interrupted a call does.
//! A panic stays inside: the endpoint is broken then, and can only be freed.

use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, compiler_fence};

use crate::association::AssociationState;
use crate::endpoint::EndpointState;
use crate::failure::Failure;

/// An endpoint, as C sees it.
pub type Endpoint = Guarded<EndpointState>;
/// An association, as C sees it.
pub type Association = Guarded<AssociationState>;

/// The gate of one endpoint and its associations.
pub(crate) struct Gate {
    owner: u64,
    /// A call is inside. Atomic for a signal handler's sake; other threads change nothing here.
    inside: AtomicBool,
    broken: AtomicBool,
}

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
    /// Makes the gate of an endpoint of this thread.
    pub(crate) fn new() -> Arc<Self> {
        let [inside, broken] = [(); 2].map(|()| AtomicBool::new(false));
        Arc::new(Gate { owner: this_thread(), inside, broken })
    }

    /// Runs a call of an endpoint, a broken one only to `end` it.
    fn pass<R>(&self, end: bool, call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        if this_thread() != self.owner || self.inside.swap(true, Relaxed) {
            return Err(Failure::Thread);
        }
        // A signal handler of this thread sees the flag before anything else changes, and after.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        let outcome = match self.broken.load(Relaxed) && !end {
            true => Err(Failure::Broken),
            false => contained(call).inspect_err(|failure| {
                self.broken.fetch_or(*failure == Failure::Broken, Relaxed);
            }),
        };
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        self.inside.store(false, Relaxed);
        outcome
    }
}

/// Makes a panic a failure.
pub(crate) fn contained<R>(call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    // What a panic left half done is not used again: the endpoint is broken.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Failure::Broken))
}

/// Drops what a panic may have left half done.
fn dropped<T>(gone: T) -> Result<(), Failure> {
    contained(|| {
        drop(gone);
        Ok(())
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
pub unsafe fn on_endpoint<R>(
    handle: *const Endpoint,
    call: impl FnOnce(&mut EndpointState) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: not freed, by the caller's promise; only shared references to it are ever made.
    let endpoint = unsafe { handle.as_ref() }.ok_or(Failure::Invalid)?;
    endpoint.gate.pass(false, || {
        // SAFETY: one call at a time passes the gate, and each reference to the state ends with it.
        let state = unsafe { &mut *endpoint.state.get() };
        let outcome = call(state);
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
pub unsafe fn on_association<R>(
    handle: *const Association,
    call: impl FnOnce(&mut AssociationState) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: as above.
    let association = unsafe { handle.as_ref() }.ok_or(Failure::Invalid)?;
    association.gate.pass(false, || {
        // SAFETY: as above; the endpoint, which is another allocation, outlives its associations.
        let (state, endpoint) = unsafe {
            let state = &mut *association.state.get();
            let endpoint = &mut *(*state.endpoint).state.get();
            (state, endpoint)
        };
        let outcome = call(state);
        endpoint.arm();
        outcome
    })
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
    call: impl FnOnce(AssociationState) -> Result<usize, Failure>,
) -> Result<usize, Failure> {
    // SAFETY: as above. The gate is shared because the handle does not outlive the call.
    let gate = unsafe { handle.as_ref() }.map(|association| Arc::clone(&association.gate));
    let gate = gate.ok_or(Failure::Invalid)?;
    gate.pass(true, || {
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
pub(crate) unsafe fn end_endpoint(handle: *mut Endpoint) -> Result<usize, Failure> {
    // SAFETY: as above.
    let gate = unsafe { handle.as_ref() }.map(|endpoint| Arc::clone(&endpoint.gate));
    gate.ok_or(Failure::Invalid)?.pass(true, || {
        // SAFETY: as in `end_association`.
        let mut endpoint = unsafe { Box::from_raw(handle) }.state.into_inner();
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
