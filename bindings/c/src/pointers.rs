//! What the caller points to.
//!
//! Null, and lengths that no object can have, are refused. All else is the caller's promise: what a
//! pointer says is behind it is there, and nothing else uses it during the call.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::IoSliceMut;
use std::slice;

use crate::failure::Failure;

/// The most areas that one message is received into: Linux's `IOV_MAX`.
const AREAS_MOST: c_int = 1024;

/// The longest structure that a later version of the header may have, in octets.
const STRUCTURE_MOST: usize = 4096;

/// An area that is filled: `struct iovec`, whose members have this order on Linux.
#[repr(C)]
pub struct Area {
    at: *mut c_void,
    length: usize,
}

/// A structure that begins with its size, which a later version may make longer.
///
/// # Safety
/// It is `repr(C)`, begins with a `usize`, and is made of integers alone.
pub(crate) unsafe trait Structure: Copy {}

/// Lends a text.
///
/// # Safety
/// A zero octet ends it.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Failure::Invalid)
}

/// Lends octets; at null there are none.
///
/// # Safety
/// There are `length` octets.
pub(crate) unsafe fn octets<'a>(at: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if at.is_null() || isize::try_from(length).is_err() {
        return Err(Failure::Invalid);
    }
    // SAFETY: the caller's promise, of a length that an object can have.
    Ok(unsafe { slice::from_raw_parts(at.cast(), length) })
}

/// Lends an area to be filled; at null it has no octets.
///
/// # Safety
/// There are `length` octets.
pub(crate) unsafe fn area<'a>(at: *mut c_void, length: usize) -> Result<IoSliceMut<'a>, Failure> {
    if length == 0 {
        return Ok(IoSliceMut::new(&mut []));
    }
    if at.is_null() || isize::try_from(length).is_err() {
        return Err(Failure::Invalid);
    }
    // SAFETY: as above; the library only writes there.
    Ok(IoSliceMut::new(unsafe { slice::from_raw_parts_mut(at.cast(), length) }))
}

/// Lends areas to be filled.
///
/// # Safety
/// There are `count` of them, and no two overlap.
pub(crate) unsafe fn areas<'a>(
    at: *const Area,
    count: c_int,
) -> Result<Vec<IoSliceMut<'a>>, Failure> {
    if at.is_null() || !(0..=AREAS_MOST).contains(&count) {
        return Err(Failure::Invalid);
    }
    // SAFETY: the caller's promise.
    let areas = unsafe { slice::from_raw_parts(at, count as usize) };
    // SAFETY: the same.
    areas.iter().map(|each| unsafe { area(each.at, each.length) }).collect()
}

/// Lends a place for a result.
///
/// # Safety
/// There is place for one.
pub(crate) unsafe fn place<'a, T>(at: *mut T) -> Result<&'a mut T, Failure> {
    if !at.is_aligned() {
        return Err(Failure::Invalid);
    }
    // SAFETY: the caller's promise; all results are integers and pointers, of which any octets are
    // one, and the library only writes there.
    unsafe { at.as_mut() }.ok_or(Failure::Invalid)
}

/// Lends a structure to be filled; none at null.
///
/// # Safety
/// There are as many octets as its size says.
pub(crate) unsafe fn structure<'a, S: Structure>(at: *mut S) -> Result<Option<&'a mut S>, Failure> {
    if at.is_null() {
        return Ok(None);
    }
    if !at.is_aligned() {
        return Err(Failure::Invalid);
    }
    // SAFETY: whatever its size, the size is there.
    let size = unsafe { *at.cast::<usize>() };
    if !(size_of::<S>()..=STRUCTURE_MOST).contains(&size) {
        return Err(Failure::Invalid);
    }
    // SAFETY: there are as many octets, of integers.
    Ok(Some(unsafe { &mut *at }))
}

/// Reads a structure; none at null. What a later version has more must be zero.
///
/// # Safety
/// As [`structure`].
pub(crate) unsafe fn read<S: Structure>(at: *const S) -> Result<Option<S>, Failure> {
    // SAFETY: the caller's promise; nothing is written.
    let Some(value) = unsafe { structure(at.cast_mut()) }?.map(|value| *value) else {
        return Ok(None);
    };
    // SAFETY: the size was checked.
    let all = unsafe { slice::from_raw_parts(at.cast::<u8>(), *at.cast::<usize>()) };
    match all[size_of::<S>()..].iter().all(|octet| *octet == 0) {
        true => Ok(Some(value)),
        false => Err(Failure::Invalid),
    }
}
