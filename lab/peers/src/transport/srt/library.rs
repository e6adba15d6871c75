//! libsrt as it is installed: looked for while the program runs, so that it builds where there is
//! none.
//!
//! The only place that calls C. Its functions take numbers, lengths beside pointers, and give -1
//! for an error whose number and sentence the calling thread may then ask for.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;
use socket2::SockAddr;

use crate::problem::Problem;

/// The names of its interface since version 1.5.
const NAMES: [&str; 2] = ["libsrt.so.1.5", "libsrt-gnutls.so.1.5"];

/// What a call said that failed.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub(super) struct Failed {
    pub(super) number: c_int,
    sentence: String,
}

/// What happened to a socket, as `srt.h` lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event {
    pub(super) socket: c_int,
    pub(super) what: c_int,
}

/// The beginning of the statistics, and more room than the rest takes: they are 560 octets in 1.5
/// and grow at their end.
#[repr(C)]
struct Statistics {
    milliseconds: i64,
    sent: i64,
    received: i64,
    lost_by_sender: c_int,
    lost_by_receiver: c_int,
    sent_again: c_int,
    rest: [u64; 256],
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        struct Functions { $($name: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Functions {
            /// # Safety
            /// The library is libsrt of version 1.5.
            unsafe fn of(library: &'static Library) -> Result<Self, libloading::Error> {
                $(
                    // SAFETY: the caller says that it is libsrt; these are the types in its header.
                    let $name = *unsafe { library.get(concat!("srt_", stringify!($name)))? };
                )*
                Ok(Functions { $($name),* })
            }
        }
    };
}

functions! {
    startup: fn() -> c_int;
    setloglevel: fn(c_int) -> ();
    create_socket: fn() -> c_int;
    bind: fn(c_int, *const c_void, c_int) -> c_int;
    listen: fn(c_int, c_int) -> c_int;
    accept: fn(c_int, *mut c_void, *mut c_int) -> c_int;
    connect: fn(c_int, *const c_void, c_int) -> c_int;
    close: fn(c_int) -> c_int;
    getsockname: fn(c_int, *mut c_void, *mut c_int) -> c_int;
    setsockflag: fn(c_int, c_int, *const c_void, c_int) -> c_int;
    sendmsg: fn(c_int, *const u8, c_int, c_int, c_int) -> c_int;
    recvmsg: fn(c_int, *mut u8, c_int) -> c_int;
    getlasterror: fn(*mut c_int) -> c_int;
    getlasterror_str: fn() -> *const c_char;
    bstats: fn(c_int, *mut Statistics, c_int) -> c_int;
    epoll_create: fn() -> c_int;
    epoll_add_usock: fn(c_int, c_int, *const c_int) -> c_int;
    epoll_update_usock: fn(c_int, c_int, *const c_int) -> c_int;
    epoll_remove_usock: fn(c_int, c_int) -> c_int;
    epoll_uwait: fn(c_int, *mut Event, c_int, i64) -> c_int;
    epoll_release: fn(c_int) -> c_int;
}

/// Only what is fatal is worth a line in the log: broken connections are told to the caller.
const FATAL: c_int = 2;

fn functions() -> Result<&'static Functions, Problem> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let load = || {
        // SAFETY: loading libsrt runs its constructors, which only set up its own tables.
        let library = NAMES.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = library
            .ok_or("libsrt is not installed (as root: apt-get install libsrt1.5-openssl)")?;
        // It starts threads that never end: it is never unloaded.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: its name says which version of which interface it is.
        let functions = unsafe { Functions::of(library) }.map_err(|why| why.to_string())?;
        // SAFETY: called once, before all others.
        unsafe {
            (functions.startup)();
            (functions.setloglevel)(FATAL);
        }
        Ok(functions)
    };
    FUNCTIONS.get_or_init(load).as_ref().map_err(|why| Problem::new(why.clone()))
}

/// # Errors
/// When it is not installed.
pub(super) fn available() -> Result<(), Problem> {
    functions().map(|_| ())
}

/// Calls one, and asks why if it failed.
fn call(work: impl FnOnce(&Functions) -> c_int) -> Result<c_int, Failed> {
    let functions = functions().map_err(|why| Failed { number: 0, sentence: why.to_string() })?;
    let result = work(functions);
    if result != -1 {
        return Ok(result);
    }
    // SAFETY: a null pointer says that the number of the system is not wanted; the sentence is the
    // library's own, ends with a zero, and is copied before this thread calls it again.
    unsafe {
        let number = (functions.getlasterror)(std::ptr::null_mut());
        let sentence =
            CStr::from_ptr((functions.getlasterror_str)()).to_string_lossy().into_owned();
        Err(Failed { number, sentence })
    }
}

pub(super) fn create() -> Result<c_int, Failed> {
    // SAFETY: no arguments.
    call(|srt| unsafe { (srt.create_socket)() })
}

pub(super) fn bind(socket: c_int, address: &SockAddr) -> Result<(), Failed> {
    // SAFETY: the address is valid for its length. So it is below.
    call(|srt| unsafe { (srt.bind)(socket, address.as_ptr().cast(), address.len() as c_int) })
        .map(|_| ())
}

pub(super) fn connect(socket: c_int, address: &SockAddr) -> Result<(), Failed> {
    // SAFETY: as above.
    call(|srt| unsafe { (srt.connect)(socket, address.as_ptr().cast(), address.len() as c_int) })
        .map(|_| ())
}

pub(super) fn listen(socket: c_int, waiting: c_int) -> Result<(), Failed> {
    // SAFETY: numbers only.
    call(|srt| unsafe { (srt.listen)(socket, waiting) }).map(|_| ())
}

pub(super) fn accept(socket: c_int) -> Result<c_int, Failed> {
    // SAFETY: null says that the address is not wanted.
    call(|srt| unsafe { (srt.accept)(socket, std::ptr::null_mut(), std::ptr::null_mut()) })
}

pub(super) fn close(socket: c_int) {
    // SAFETY: numbers only. It fails only for a socket that is already closed.
    let _ = call(|srt| unsafe { (srt.close)(socket) });
}

pub(super) fn local(socket: c_int) -> Result<SockAddr, Failed> {
    // SAFETY: the library writes at most as many octets as the length says that there are, and a
    // valid address.
    let address = unsafe {
        SockAddr::try_init(|storage, length| {
            let mut octets = *length as c_int;
            call(|srt| (srt.getsockname)(socket, storage.cast(), &raw mut octets))
                .map_err(std::io::Error::other)?;
            *length = octets as _;
            Ok(())
        })
    };
    address
        .map(|((), address)| address)
        .map_err(|why| Failed { number: 0, sentence: why.to_string() })
}

/// Sets an option that is a number.
pub(super) fn set(socket: c_int, option: c_int, value: c_int) -> Result<(), Failed> {
    set_raw(socket, option, &value)
}

/// Sets an option that is true or false, and one octet long.
pub(super) fn set_flag(socket: c_int, option: c_int, value: bool) -> Result<(), Failed> {
    set_raw(socket, option, &u8::from(value))
}

/// Sets an option that is two numbers, as `struct linger` is.
pub(super) fn set_pair(socket: c_int, option: c_int, value: [c_int; 2]) -> Result<(), Failed> {
    set_raw(socket, option, &value)
}

fn set_raw<T>(socket: c_int, option: c_int, value: &T) -> Result<(), Failed> {
    let length = size_of::<T>() as c_int;
    // SAFETY: the value is valid for its length; an option of another length is refused.
    call(|srt| unsafe {
        (srt.setsockflag)(socket, option, std::ptr::from_ref(value).cast(), length)
    })
    .map(|_| ())
}

/// A message, without a time to live, in order.
pub(super) fn send(socket: c_int, message: &[u8]) -> Result<usize, Failed> {
    let length = c_int::try_from(message.len()).unwrap_or(c_int::MAX);
    // SAFETY: the message is valid for its length.
    call(|srt| unsafe { (srt.sendmsg)(socket, message.as_ptr(), length, -1, 1) })
        .map(|sent| sent as usize)
}

pub(super) fn receive(socket: c_int, buffer: &mut [u8]) -> Result<usize, Failed> {
    let length = c_int::try_from(buffer.len()).unwrap_or(c_int::MAX);
    // SAFETY: the buffer is valid for its length.
    call(|srt| unsafe { (srt.recvmsg)(socket, buffer.as_mut_ptr(), length) })
        .map(|got| got as usize)
}

/// How many packets were sent again.
pub(super) fn sent_again(socket: c_int) -> Option<u64> {
    let mut statistics = Statistics {
        milliseconds: 0,
        sent: 0,
        received: 0,
        lost_by_sender: 0,
        lost_by_receiver: 0,
        sent_again: 0,
        rest: [0; 256],
    };
    // SAFETY: there is room for more than the library writes.
    call(|srt| unsafe { (srt.bstats)(socket, &raw mut statistics, 0) }).ok()?;
    u64::try_from(statistics.sent_again).ok()
}

pub(super) fn epoll_create() -> Result<c_int, Failed> {
    // SAFETY: no arguments.
    call(|srt| unsafe { (srt.epoll_create)() })
}

pub(super) fn epoll_add(epoll: c_int, socket: c_int, what: c_int) -> Result<(), Failed> {
    // SAFETY: the pointer is to one number, as it has to be.
    call(|srt| unsafe { (srt.epoll_add_usock)(epoll, socket, &raw const what) }).map(|_| ())
}

pub(super) fn epoll_update(epoll: c_int, socket: c_int, what: c_int) -> Result<(), Failed> {
    // SAFETY: as above.
    call(|srt| unsafe { (srt.epoll_update_usock)(epoll, socket, &raw const what) }).map(|_| ())
}

pub(super) fn epoll_remove(epoll: c_int, socket: c_int) -> Result<(), Failed> {
    // SAFETY: numbers only.
    call(|srt| unsafe { (srt.epoll_remove_usock)(epoll, socket) }).map(|_| ())
}

/// Waits so many milliseconds; how many events there are.
pub(super) fn epoll_wait(
    epoll: c_int,
    events: &mut [Event],
    milliseconds: i64,
) -> Result<usize, Failed> {
    let length = events.len() as c_int;
    // SAFETY: there is room for as many events as it says.
    let found =
        call(|srt| unsafe { (srt.epoll_uwait)(epoll, events.as_mut_ptr(), length, milliseconds) });
    // It tells how many there would be, even when there is no room for them.
    found.map(|found| (found as usize).min(events.len()))
}

pub(super) fn epoll_release(epoll: c_int) {
    // SAFETY: numbers only. It fails only for one that is already released.
    let _ = call(|srt| unsafe { (srt.epoll_release)(epoll) });
}
