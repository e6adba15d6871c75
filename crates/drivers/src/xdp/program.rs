//! The program that has the kernel redirect the frames of a queue to its socket (bpf(2)).
#![allow(unsafe_code, reason = "named exception: bpf")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::libc;

/// Commands, types and flags of linux/bpf.h and linux/if_link.h.
const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROGRAM_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const XSKMAP: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const GENERIC_MODE: u32 = 1 << 1;

/// Beginnings of `union bpf_attr`, for each command; the kernel takes the rest as zero.
#[repr(C)]
struct NewMap([u32; 4]);

#[repr(C)]
struct Entry {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct NewProgram {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log: [u32; 6],
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

#[repr(C)]
struct NewLink([u32; 4]);

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    operation: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

/// An instruction on a target and a source, which the order of the processor's bits places.
const fn instruction(
    operation: u8,
    target: u8,
    source: u8,
    offset: i16,
    number: i32,
) -> Instruction {
    let big = cfg!(target_endian = "big");
    let registers = if big { target << 4 | source } else { source << 4 | target };
    Instruction { operation, registers, offset, number }
}

/// Has the frames of a queue go to a socket, until what is returned is closed; those of other
/// queues go on as before.
///
/// # Errors
/// The kernel's.
pub(super) fn redirect(socket: &OwnedFd, interface: u32, queue: u32) -> io::Result<OwnedFd> {
    let entries = queue.checked_add(1).ok_or(io::ErrorKind::InvalidInput)?;
    let map = descriptor(bpf(MAP_CREATE, &NewMap([XSKMAP, 4, 4, entries]))?);
    let value = socket.as_raw_fd();
    bpf(
        MAP_UPDATE,
        &Entry {
            map: number(map.as_raw_fd()),
            padding: 0,
            key: ptr::from_ref(&queue) as u64,
            value: ptr::from_ref(&value) as u64,
            flags: 0,
        },
    )?;
    let instructions = [
        instruction(0x61, 2, 1, 16, 0), // r2 = context.rx_queue_index
        instruction(0x18, 1, 1, 0, map.as_raw_fd()), // r1 = the map, in two instructions
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, 2), // r3 = XDP_PASS, for queues that are not in the map
        instruction(0x85, 0, 0, 0, 51), // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x95, 0, 0, 0, 0), // return r0
    ];
    let program = descriptor(bpf(
        PROGRAM_LOAD,
        &NewProgram {
            kind: PROGRAM_XDP,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: c"MIT OR Apache-2.0".as_ptr() as u64,
            log: [0; 6],
            name: *b"stackwright\0\0\0\0\0",
            interface: 0,
            attach: ATTACH_XDP,
        },
    )?);
    let program = number(program.as_raw_fd());
    Ok(descriptor(bpf(LINK_CREATE, &NewLink([program, interface, ATTACH_XDP, GENERIC_MODE]))?))
}

const fn number(descriptor: RawFd) -> u32 {
    descriptor.cast_unsigned()
}

fn descriptor(number: c_int) -> OwnedFd {
    // SAFETY: the kernel has just made it, for nobody else.
    unsafe { OwnedFd::from_raw_fd(number) }
}

fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_int> {
    // SAFETY: the kernel reads as many octets as the attributes have, and where these name an
    // address: instructions and a license, a key and a value, which outlive the call. It writes
    // nothing, as no log is asked for.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_ref(attributes), size_of::<T>()) };
    match c_int::try_from(done) {
        Ok(done @ 0..) => Ok(done),
        _ => Err(io::Error::last_os_error()),
    }
}
