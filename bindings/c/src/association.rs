//! Associations: sending, receiving, ending.

use std::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::io::{BufWriter, IoSliceMut};
use std::num::NonZeroU32;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use stackwright_contract::ask::PathStatistics;
use stackwright_contract::services::{Ended, MessageProperties};
use stackwright_endpoint::{SendBuffer, blocking};
use stackwright_wire::BufferTree;

use crate::endpoint::{SocketAddress, Socklen, time, write_address};
use crate::failure::{Failure, Outcome, count, status};
use crate::gate::{Association, Endpoint, end_association, on_association, wait_on_association};
use crate::layout::{PathValues, Properties};
use crate::pointers::{self, Area};
use crate::stacks::Stack;

/// The longest message that is written in place, in octets.
const RESERVED_MOST: usize = 1 << 30;

const READABLE: c_uint = 1;
const WRITABLE: c_uint = 2;
const OPEN: c_uint = 4;
const ENDED: c_uint = 8;

/// What an association is.
pub struct AssociationState {
    pub(crate) endpoint: *const Endpoint,
    pub(crate) inner: blocking::Association<Stack>,
    /// Whether it carries octets in order in place of messages.
    pub(crate) is_stream: bool,
    /// What is written in place and was not committed, and how many octets that may be.
    pub(crate) reserved: Option<(SendBuffer<BufferTree>, usize)>,
    /// The program's.
    pub(crate) user: *mut c_void,
}

impl AssociationState {
    /// Returns the properties of what is sent; octets in order have none.
    fn said(&self, said: Option<Properties>) -> Result<MessageProperties, Failure> {
        match said {
            Some(_) if self.is_stream => Err(Failure::Invalid),
            said => said.map_or(Ok(MessageProperties::default()), Properties::said),
        }
    }

    /// Returns what `sw_changed` tells.
    pub(crate) fn changes(&self) -> c_uint {
        let now = self.inner.condition();
        let bits = [
            (now.may_receive, READABLE),
            (now.may_send, WRITABLE),
            (now.is_open, OPEN),
            (now.ended.is_some(), ENDED),
        ];
        bits.iter().filter(|(holds, _)| *holds).map(|(_, bit)| bit).sum()
    }

    fn receive(
        &mut self,
        areas: &mut [IoSliceMut<'_>],
        properties: Option<&mut Properties>,
        timeout: Option<Duration>,
    ) -> Outcome {
        self.inner.set_timeout(timeout);
        let placed = match self.inner.receive_into(areas) {
            Err(end) if self.is_stream && end.is_finished() => return Ok(0),
            placed => placed?,
        };
        if let Some(properties) = properties {
            properties.set(&placed);
        }
        Ok(placed.octets)
    }
}

/// Sends what may have to wait, no longer than it is of use, and returns what the call does.
///
/// # Safety
/// As the header says.
unsafe fn send(
    association: *mut Association,
    properties: *const Properties,
    timeout_ms: c_int,
    send: &mut dyn FnMut(&mut AssociationState, MessageProperties) -> Outcome,
) -> isize {
    // SAFETY: the caller's promise.
    let said = match unsafe { pointers::read(properties) } {
        Ok(said) => said,
        Err(why) => return count(Err(why)),
    };
    let lifetime = said.and_then(|said| NonZeroU32::new(said.lifetime_us));
    let due = lifetime.map(|us| (Instant::now(), Duration::from_micros(us.get().into())));
    let timeout = match due {
        Some((_, lifetime)) => Some(time(timeout_ms).map_or(lifetime, |time| time.min(lifetime))),
        None => time(timeout_ms),
    };
    // SAFETY: the same.
    count(unsafe {
        wait_on_association(association, timeout, &mut |state, timeout| {
            let mut properties = state.said(said)?;
            if let Some((begin, lifetime)) = due {
                // The wait is a part of its life.
                let left = lifetime.saturating_sub(begin.elapsed()).as_micros();
                let left = u32::try_from(left).ok().and_then(NonZeroU32::new);
                properties.lifetime = Some(left.ok_or(Failure::Late)?);
            }
            state.inner.set_timeout(timeout);
            send(state, properties)
        })
    })
}

exports! {
    /// Sends a message.
    fn sw_send(
        association: *mut Association,
        octets: *const c_void,
        length: usize,
        properties: *const Properties,
        timeout_ms: c_int,
    ) -> isize {
        send(association, properties, timeout_ms, &mut |state, properties| {
            let octets = pointers::octets(octets, length)?;
            if state.is_stream {
                return Ok(state.inner.send_some(octets)?);
            }
            state.inner.send_with(octets, properties)?;
            Ok(octets.len())
        })
    }

    /// Reserves memory for messages that are written in place.
    fn sw_reserve(association: *mut Association, length: usize, count: usize) -> isize {
        self::count(on_association(association, |state| {
            if length == 0 || length > RESERVED_MOST {
                return Err(Failure::Invalid);
            }
            let buffer = state.inner.reserve(length, count);
            let (messages, all) = (buffer.messages(), buffer.remaining());
            state.reserved = Some((buffer, all));
            Ok(messages)
        }))
    }

    /// Returns where octets of a reserved message are, and how many lie there together.
    fn sw_reserved(
        association: *mut Association,
        message: usize,
        offset: usize,
        room: *mut usize,
    ) -> *mut c_void {
        let mut found = ptr::null_mut();
        let _ = on_association(association, |state| {
            let room = pointers::place(room)?;
            *room = 0;
            let (buffer, _) = state.reserved.as_mut().ok_or(Failure::Invalid)?;
            let pieces = buffer.each_mut().nth(message).ok_or(Failure::Invalid)?;
            let mut before = offset;
            for piece in pieces {
                if before < piece.len() {
                    *room = piece.len() - before;
                    found = piece[before..].as_mut_ptr().cast();
                    return Ok(0);
                }
                before -= piece.len();
            }
            Err(Failure::Invalid)
        });
        found
    }

    /// Sends what was written in place.
    fn sw_commit(
        association: *mut Association,
        octets: usize,
        properties: *const Properties,
        timeout_ms: c_int,
    ) -> isize {
        send(association, properties, timeout_ms, &mut |state, properties| {
            let reserved = state.reserved.take_if(|(_, all)| octets <= *all);
            let (mut buffer, all) = reserved.ok_or(Failure::Invalid)?;
            drop(buffer.each_mut()); // all of it counts as written
            buffer.truncate(octets);
            let sent = state.inner.commit(buffer, properties).map_err(|not_sent| {
                state.reserved = Some((not_sent.message, all));
                not_sent.why
            });
            Ok(sent.map(|()| octets)?)
        })
    }

    /// Receives a message, or the next part of it.
    fn sw_receive(
        association: *mut Association,
        octets: *mut c_void,
        room: usize,
        properties: *mut Properties,
        timeout_ms: c_int,
    ) -> isize {
        count(wait_on_association(association, time(timeout_ms), &mut |state, timeout| {
            let area = pointers::area(octets, room)?;
            state.receive(&mut [area], pointers::structure(properties)?, timeout)
        }))
    }

    /// Receives a message into several areas.
    fn sw_receive_iov(
        association: *mut Association,
        areas: *const Area,
        count: c_int,
        properties: *mut Properties,
        timeout_ms: c_int,
    ) -> isize {
        self::count(wait_on_association(association, time(timeout_ms), &mut |state, timeout| {
            let mut areas = pointers::areas(areas, count)?;
            state.receive(&mut areas, pointers::structure(properties)?, timeout)
        }))
    }

    /// Ends an association in good order, and frees it.
    fn sw_close(association: *mut Association, timeout_ms: c_int) -> c_int {
        let closed = wait_on_association(association, time(timeout_ms), &mut |state, timeout| {
            if state.inner.condition().is_open {
                state.inner.begin_close();
            }
            state.inner.set_timeout(timeout);
            Ok(state.inner.closed().map(|()| 0)?)
        });
        status(match closed {
            Err(Failure::Invalid | Failure::Thread) => closed,
            _ => end_association(association, &mut |_| closed),
        })
    }

    /// Sends no more on a stream, and goes on receiving.
    fn sw_finish(association: *mut Association) -> c_int {
        status(on_association(association, |state| {
            let now = state.inner.condition();
            match (state.is_stream, now.is_open, now.ended) {
                (false, ..) => Err(Failure::Invalid),
                (_, _, Some(why)) => Err(why.into()),
                (_, false, _) => Err(Failure::Again),
                (_, true, None) => Ok(state.inner.finish().map(|()| 0)?),
            }
        }))
    }

    /// Begins to end an association in good order.
    fn sw_begin_close(association: *mut Association) -> c_int {
        status(on_association(association, |state| {
            state.inner.begin_close();
            Ok(0)
        }))
    }

    /// Ends an association at once, and frees it.
    fn sw_abort(association: *mut Association, code: u32) -> c_int {
        status(end_association(association, &mut |state| {
            state.inner.abort(code);
            Ok(0)
        }))
    }

    /// Tells why it ended.
    fn sw_end(association: *const Association, code: *mut u32) -> c_int {
        status(on_association(association, |state| {
            let ended = state.inner.condition().ended;
            if !code.is_null() {
                *pointers::place(code)? = match ended {
                    Some(Ended::Reset(code) | Ended::Refused(code)) => code,
                    _ => 0,
                };
            }
            ended.map_or(Ok(0), |why| Err(why.into()))
        }))
    }

    /// Keeps a pointer of the program's.
    fn sw_set_user(association: *mut Association, user: *mut c_void) -> c_int {
        status(on_association(association, |state| {
            state.user = user;
            Ok(0)
        }))
    }

    /// Returns that pointer.
    fn sw_user(association: *const Association) -> *mut c_void {
        let mut user = ptr::null_mut();
        let _ = on_association(association, |state| {
            user = state.user;
            Ok(0)
        });
        user
    }

    /// Tells the peer's address.
    fn sw_remote(
        association: *const Association,
        address: *mut SocketAddress,
        length: *mut Socklen,
    ) -> c_int {
        status(on_association(association, |state| {
            let remote = state.inner.remote().ok_or(Failure::Again)?;
            write_address(remote, address, length)
        }))
    }

    /// Tells what is known of the path.
    fn sw_path(association: *const Association, report: *mut PathValues) -> c_int {
        status(on_association(association, |state| {
            let report = pointers::structure(report)?.ok_or(Failure::Invalid)?;
            report.set(state.inner.path().longest, state.inner.ask(PathStatistics));
            Ok(0)
        }))
    }

    /// Writes a qlog into a file.
    fn sw_qlog(association: *mut Association, fd: c_int) -> c_int {
        status(on_association(association, |state| {
            if fd < 0 {
                return Err(Failure::Invalid);
            }
            // Borrowed for this call; the kernel refuses what is not open.
            let borrowed = BorrowedFd::borrow_raw(fd);
            let own = fcntl_dupfd_cloexec(borrowed, 0).map_err(|_| Failure::Invalid)?;
            state.inner.qlog(BufWriter::new(File::from(own)));
            Ok(0)
        }))
    }
}
