"""The C library: its functions, structures and errors, as stackwright.h declares them.

No call waits: each has a timeout of 0, and who waits does so for the endpoint's descriptor. So the
interpreter's lock is kept over calls, but for those that may resolve a name.
"""

import ctypes
import socket
import sys
from ctypes import addressof, c_char_p, c_int, c_ssize_t, c_size_t, c_uint8, c_uint32, c_uint64
from ctypes import c_void_p
from pathlib import Path

ABI = 1

AGAIN, LATE, TOO_LONG, NEVER_EXPIRES, FINISHED = range(-1001, -1006, -1)
INVALID, THREAD, BROKEN = range(-1013, -1016, -1)
# Why an association may end.
ENDS = dict(zip(range(-1003, -1013, -1), (
    "too long", "", "finished", "reset", "refused", "unreachable", "unavailable", "expired",
    "insecure", "system")))

READABLE, WRITABLE, OPEN, ENDED = 1, 2, 4, 8
SHARED_PORT = 1
NUMBER, PRIORITY, MORE = 1, 2, 4


class _Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **values):
        super().__init__(ctypes.sizeof(self), **values)
        self.at = addressof(self)


class Options(_Sized):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("arrivals", c_uint32),
                ("credit", c_uint64), ("spin_us", c_uint32), ("reserved", c_uint32)]


class Properties(_Sized):
    _fields_ = [("size", c_size_t), ("has", c_uint32), ("number", c_uint32),
                ("lifetime_us", c_uint32), ("priority", c_uint8), ("reserved", c_uint8 * 3)]


class PathReport(_Sized):
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in (
        "longest", "window", "pace", "in_flight", "lost", "retransmitted", "timeouts")] + [
        (name, c_uint32) for name in ("round_trip_us", "variation_us", "least_us", "reserved")]


_FUNCTIONS = {
    "sw_version": (c_char_p,),
    "sw_abi": (c_uint32,),
    "sw_error_text": (c_char_p, c_int),
    "sw_errno": (c_int, c_int),
    "sw_open": (c_int, c_char_p, c_void_p, c_void_p),
    "sw_free": (c_int, c_void_p),
    "sw_address": (c_int, c_void_p, c_void_p, c_void_p),
    "sw_connect": (c_int, c_void_p, c_char_p, c_int, c_void_p),
    "sw_accept": (c_int, c_void_p, c_int, c_void_p),
    "sw_poll_fd": (c_int, c_void_p),
    "sw_turn": (c_int, c_void_p),
    "sw_changed": (c_void_p, c_void_p, c_void_p),
    "sw_send": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_void_p, c_int),
    "sw_receive": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_void_p, c_int),
    "sw_begin_close": (c_int, c_void_p),
    "sw_close": (c_int, c_void_p, c_int),
    "sw_abort": (c_int, c_void_p, c_uint32),
    "sw_end": (c_int, c_void_p, c_void_p),
    "sw_remote": (c_int, c_void_p, c_void_p, c_void_p),
    "sw_path": (c_int, c_void_p, c_void_p),
}


def _load():
    """Binds the functions of the library beside this file, or else of the system's."""
    own = Path(__file__).with_name(f"libstackwright.so.{ABI}")
    file = str(own) if own.exists() else own.name
    keeps, releases = ctypes.PyDLL(file), ctypes.CDLL(file)
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(releases if name in ("sw_open", "sw_connect") else keeps, name)
        function.restype, function.argtypes = result, arguments
        globals()[name] = function
    if sw_abi() != ABI:  # noqa: F821
        raise ImportError(f"{file} has the ABI {sw_abi()}, and not {ABI}")  # noqa: F821


_load()


def address(call, handle):
    """Returns the host and the port that a call like getsockname(2) writes; None: not known."""
    octets, length = ctypes.create_string_buffer(28), c_uint32(28)
    if call(handle, addressof(octets), addressof(length)) < 0:
        return None
    raw = octets.raw
    family = int.from_bytes(raw[:2], sys.byteorder)
    host = raw[8:24] if family == socket.AF_INET6 else raw[4:8]
    return socket.inet_ntop(family, host), int.from_bytes(raw[2:4], "big")
