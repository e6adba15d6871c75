//! Endpoints: opening, connecting, accepting, waiting.

use std::ffi::{c_char, c_int, c_uint};
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrArg as _;
use stackwright_contract::Mirror;
use stackwright_endpoint::{Config, System, blocking};

use crate::association::AssociationState;
use crate::failure::{Failure, Outcome, status};
use crate::gate::{
    Association, Endpoint, Gate, Guarded, Thread, contained, end_association, end_endpoint,
    on_endpoint, peek, run_in_background, wait_on_association, wait_on_endpoint,
};
use crate::layout::Options;
use crate::pointers;
use crate::stacks::{self, Stack};

/// What an endpoint is, and the associations that were handed out.
pub struct EndpointState {
    inner: blocking::Endpoint<Stack>,
    associations: Mirror<*mut Association>,
    is_stream: bool,
    /// Somebody waits for the descriptor: the program itself, or the thread.
    polls: bool,
    /// What runs the stack, where the program has asked for it, and what it was told.
    pub(crate) thread: Option<Thread>,
    told: bool,
}

impl EndpointState {
    /// Has the descriptor tell what the stack has to do, where the program waits for it.
    #[inline(never)]
    pub(crate) fn arm(&mut self) {
        if self.polls {
            self.inner.arm();
        }
    }

    /// Runs the stack without waiting. Returns whether something happened.
    pub(crate) fn turn(&mut self) -> Result<bool, Failure> {
        let told = self.inner.wait(Some(Duration::ZERO))?;
        self.told |= told;
        Ok(told)
    }

    /// Returns the descriptor, which is the endpoint's.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.inner.as_raw_fd()
    }

    /// An association is freed.
    pub(crate) fn forget(&mut self, association: &AssociationState) {
        self.associations.remove(association.inner.name());
    }

    /// Returns those that were not freed.
    pub(crate) fn associations(&self) -> impl Iterator<Item = *mut Association> {
        self.associations.iter().map(|(_, association)| *association)
    }

    /// Hands an association out.
    fn hand_out(
        &mut self,
        endpoint: *const Endpoint,
        inner: blocking::Association<Stack>,
        gate: &std::sync::Arc<Gate>,
    ) -> *mut Association {
        let name = inner.name();
        let is_stream = self.is_stream;
        let state =
            AssociationState { endpoint, inner, is_stream, reserved: None, user: ptr::null_mut() };
        let handle = Guarded::handle(gate, state);
        self.associations.insert(name, handle);
        handle
    }
}

/// `struct sockaddr`, of as many octets as the caller says.
pub enum SocketAddress {}

/// `socklen_t`.
pub type Socklen = u32;

/// Returns how long a call waits: −1 without limit.
pub(crate) fn time(timeout_ms: c_int) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

/// Writes an address as getsockname(2) does: as much as there is room for, and how long it is.
///
/// # Safety
/// `at` has as many octets as `length` says.
pub(crate) unsafe fn write_address(
    address: SocketAddr,
    at: *mut SocketAddress,
    length: *mut Socklen,
) -> Outcome {
    // SAFETY: the caller's promise.
    let length = unsafe { pointers::place(length) }?;
    // SAFETY: the same.
    let mut room = unsafe { pointers::area(at.cast(), *length as usize) }?;
    // SAFETY: rustix lends as many octets as it says, with a value.
    let octets = unsafe {
        SocketAddrAny::from(address).with_sockaddr(|at, length| {
            std::slice::from_raw_parts(at.cast::<u8>(), length as usize).to_vec()
        })
    };
    let most = room.len().min(octets.len());
    room[..most].copy_from_slice(&octets[..most]);
    *length = octets.len() as u32;
    Ok(0)
}

/// Makes an association; it is given how long it may wait.
type Make<'a> = &'a mut dyn FnMut(
    &mut EndpointState,
    Option<Duration>,
) -> Result<blocking::Association<Stack>, Failure>;

/// Hands out the association that a call makes; null, where it makes none.
///
/// # Safety
/// As the header says.
unsafe fn hand_out(
    endpoint: *mut Endpoint,
    association: *mut *mut Association,
    timeout: Option<Duration>,
    make: Make<'_>,
) -> Outcome {
    // SAFETY: the caller's promises.
    unsafe {
        let place = pointers::place(association)?;
        *place = ptr::null_mut();
        wait_on_endpoint(endpoint, timeout, &mut |state, timeout| {
            let inner = make(state, timeout)?;
            *place = state.hand_out(endpoint, inner, (*endpoint).gate());
            Ok(0)
        })
    }
}

exports! {
    /// Opens an endpoint.
    fn sw_open(url: *const c_char, options: *const Options, endpoint: *mut *mut Endpoint) -> c_int {
        status(contained(&mut || {
            let place = pointers::place(endpoint)?;
            *place = ptr::null_mut();
            let options = pointers::read(options)?;
            let is_background = options.is_some_and(|options| options.is_background());
            let config = options.map_or(Ok(Config::default()), Options::config)?;
            let named = stacks::read(pointers::text(url)?)?;
            let (is_stream, local) = (named.is_stream(), named.local);
            let make = |system: &System| named.stack(system);
            let inner = match local {
                Some(local) => blocking::Endpoint::bind(local, config, make),
                None => blocking::Endpoint::new(config, make),
            }?;
            let state = EndpointState {
                inner,
                associations: Mirror::new(),
                is_stream,
                polls: is_background,
                thread: None,
                told: false,
            };
            let made = Guarded::handle(&Gate::new(is_background)?, state);
            if is_background && let Err(why) = run_in_background(made) {
                return end_endpoint(made).and(Err(why));
            }
            *place = made;
            Ok(0)
        }))
    }

    /// Frees an endpoint with all its associations.
    fn sw_free(endpoint: *mut Endpoint) -> c_int {
        status(end_endpoint(endpoint))
    }

    /// Tells where it listens.
    fn sw_address(
        endpoint: *const Endpoint,
        address: *mut SocketAddress,
        length: *mut Socklen,
    ) -> c_int {
        status(on_endpoint(endpoint, |state| {
            let local = state.inner.local().ok_or(Failure::Invalid)?;
            write_address(local, address, length)
        }))
    }

    /// Opens an association.
    fn sw_connect(
        endpoint: *mut Endpoint,
        address: *const c_char,
        timeout_ms: c_int,
        association: *mut *mut Association,
    ) -> c_int {
        let opened = |association: *mut Association| {
            let wait = &mut |state: &mut AssociationState, timeout| {
                state.inner.set_timeout(timeout);
                Ok(state.inner.opened().map(|()| 0)?)
            };
            wait_on_association(association, time(timeout_ms), wait).inspect_err(|_| {
                let _ = end_association(association, &mut |_| Ok(0));
            })
        };
        status(contained(&mut || {
            let place = pointers::place(association)?;
            *place = ptr::null_mut();
            // It may take long, in which the stack runs.
            let remote = stacks::address(pointers::text(address)?)?;
            let open = &mut |state: &mut EndpointState, _| Ok(state.inner.open(remote));
            hand_out(endpoint, place, Some(Duration::ZERO), open)?;
            if timeout_ms == 0 {
                return Ok(0);
            }
            opened(*place).inspect_err(|_| *place = ptr::null_mut())
        }))
    }

    /// Accepts the next association that arrives.
    fn sw_accept(
        endpoint: *mut Endpoint,
        timeout_ms: c_int,
        association: *mut *mut Association,
    ) -> c_int {
        status(hand_out(endpoint, association, time(timeout_ms), &mut |state, timeout| {
            state.inner.local().ok_or(Failure::Invalid)?;
            state.inner.set_timeout(timeout);
            Ok(state.inner.accept()?)
        }))
    }

    /// Runs the stack until something happened.
    fn sw_wait(endpoint: *mut Endpoint, timeout_ms: c_int) -> c_int {
        let told = wait_on_endpoint(endpoint, time(timeout_ms), &mut |state, timeout| {
            // What the thread has not seen, others may wait for.
            let told = match state.thread {
                Some(_) => mem::take(&mut state.told),
                None => state.inner.wait(timeout)?,
            };
            told.then_some(1).ok_or(Failure::Again)
        });
        status(told.or_else(|why| if why == Failure::Again { Ok(0) } else { Err(why) }))
    }

    /// Returns the descriptor to wait for.
    fn sw_poll_fd(endpoint: *mut Endpoint) -> c_int {
        status(on_endpoint(endpoint, |state| {
            if state.thread.is_some() {
                return Err(Failure::Invalid);
            }
            state.polls = true;
            // A descriptor is not negative.
            Ok(state.descriptor() as usize)
        }))
    }

    /// Runs the stack once, without waiting.
    fn sw_turn(endpoint: *mut Endpoint) -> c_int {
        sw_wait(endpoint, 0)
    }

    /// Returns the next association on which something happened.
    fn sw_changed(endpoint: *mut Endpoint, what: *mut c_uint) -> *mut Association {
        let mut found = ptr::null_mut();
        let _ = on_endpoint(endpoint, |state| {
            let place = pointers::place(what)?;
            *place = 0;
            while let Some(name) = state.inner.take_changed() {
                // Others have arrived, and were not accepted.
                if let Some(handle) = state.associations.get(name) {
                    *place = peek(*handle, AssociationState::changes);
                    found = *handle;
                    break;
                }
            }
            Ok(0)
        });
        found
    }
}
