"""Messages over ARTP, XTP and other transports, in user space.

`await open(url)` is for asyncio; `Endpoint(url)` has the same calls, which wait instead. An
endpoint and its associations belong to the thread that opened it.
"""

import ctypes
import select
import time
from typing import Any, Callable, NamedTuple, Optional, Tuple, TypeVar

from . import _library as c

__version__: str = c.sw_version().decode()

Address = Tuple[str, int]
T = TypeVar("T")
A = TypeVar("A", bound="Association")

# Longer messages are received in pieces, and joined.
_ROOM = 65536


class Ended(ConnectionError):
    """An association has ended. `why` is "finished" where both sides have closed it, or "reset",
    "refused", "unreachable", "unavailable", "expired", "insecure", "too long" or "system"; `code`
    is what the peer's program said."""

    def __init__(self, number: int, code: int) -> None:
        text = c.sw_error_text(number).decode()
        super().__init__(c.sw_errno(number), f"{text} (code {code})" if code else text)
        self.why, self.code = c.ENDS[number], code


class Late(Exception):
    """A message would arrive after its lifetime, and was not sent."""


class Received(NamedTuple):
    """What is known of a message: its number, and the seconds for which it is of use."""

    number: Optional[int]
    remaining: Optional[float]
    priority: int
    more: bool  # it goes on: the next call receives what follows


def _failure(number: int) -> Exception:
    text = c.sw_error_text(number).decode()
    if number == c.LATE:
        return Late(text)
    if number in (c.INVALID, c.TOO_LONG, c.NEVER_EXPIRES):
        return ValueError(text)
    if number in (c.THREAD, c.BROKEN):
        return RuntimeError(text)
    return OSError(c.sw_errno(number), text)


def _check(number: int) -> int:
    if number < 0:
        raise _failure(number)
    return number


def _octets(data: Any) -> Tuple[Any, int]:
    """Returns what ctypes takes for a pointer to the octets of any buffer, and their number."""
    if isinstance(data, bytes):
        return data, len(data)
    view = memoryview(data)
    if view.readonly or not view.c_contiguous:
        return view.tobytes(), view.nbytes
    return _room(view)


def _room(buffer: Any) -> Tuple[Any, int]:
    """Returns the same of a buffer that is written to, in place."""
    view = memoryview(buffer).cast("B")
    return (ctypes.c_char * len(view)).from_buffer(view), len(view)


class _Association:
    """What one can do at once, in whatever manner one waits."""

    def __init__(self, endpoint: Any, handle: int) -> None:
        self._endpoint, self._handle = endpoint, handle
        self._received = c.Properties()
        endpoint._associations[handle] = self

    def _failed(self, number: int) -> Exception:
        code = ctypes.c_uint32()
        if c.sw_end(self._handle, ctypes.addressof(code)) == number and number in c.ENDS:
            return Ended(number, code.value)
        return _failure(number)

    def _try_send(self, data: Any, length: int, properties: Optional[int]) -> Optional[bool]:
        sent = c.sw_send(self._handle, data, length, properties, 0)
        if sent == c.AGAIN:
            return None
        if sent < 0:
            raise self._failed(sent)
        return True

    def _try_receive_into(self, at: Any, room: int) -> Optional[int]:
        length = c.sw_receive(self._handle, at, room, self._received.at, 0)
        if length == c.AGAIN:
            return None
        if length < 0:
            raise self._failed(length)
        return length

    def _try_receive(self) -> Optional[bytes]:
        endpoint = self._endpoint
        length = self._try_receive_into(endpoint._room_at, _ROOM)
        if length is None:
            return None
        message = endpoint._room[:length].tobytes()
        if not self._received.has & c.MORE:
            return message
        pieces = [message]
        while self._received.has & c.MORE:
            length = self._try_receive_into(endpoint._room_at, _ROOM)
            pieces.append(endpoint._room[:length].tobytes())
        return b"".join(pieces)

    def _try_opened(self: A) -> Optional[A]:
        what = c.sw_end(self._handle, None)
        if what < 0:
            raise self._failed(what)
        return self if self.remote else None

    def _try_ended(self) -> Optional[int]:
        return c.sw_end(self._handle, None) or None

    def _gone(self) -> int:
        """Takes the handle, which is freed now."""
        handle, self._handle = self._handle, None
        self._endpoint._associations.pop(handle, None)
        return handle

    def abort(self, code: int = 0) -> None:
        """Ends it at once; the peer is told the code where the transport can."""
        if self._handle is not None:
            _check(c.sw_abort(self._gone(), code))

    def _free(self) -> None:
        ended = c.sw_close(self._gone(), 0)
        if ended not in (0, c.AGAIN):
            raise Ended(ended, 0) if ended in c.ENDS else _failure(ended)

    @property
    def last(self) -> Received:
        """What is known of the message that was received last."""
        last = self._received
        number = last.number if last.has & c.NUMBER else None
        remaining = last.lifetime_us / 1e6 if last.lifetime_us else None
        return Received(number, remaining, last.priority, bool(last.has & c.MORE))

    @property
    def remote(self) -> Optional[Address]:
        """The peer's address, once it is known."""
        return c.address(c.sw_remote, self._handle)

    def path(self) -> c.PathReport:
        """Reports what is known of the path, as sw_path_report in stackwright.h says."""
        report = c.PathReport()
        _check(c.sw_path(self._handle, report.at))
        return report


def _properties(lifetime: Optional[float], number: Optional[int], priority: Optional[int]) -> Any:
    if lifetime is None and number is None and priority is None:
        return None
    us = 0 if lifetime is None else round(lifetime * 1e6)
    in_range = 0 < us or lifetime is None
    if not in_range or us >= 1 << 32 or not 0 <= (number or 0) < 1 << 32:
        raise ValueError("a lifetime is 1 us to 4294 s; a number has 32 bits")
    if not 0 <= (priority or 0) < 256:
        raise ValueError("a priority is 0 to 255")
    has = (number is not None) * c.NUMBER | (priority is not None) * c.PRIORITY
    return c.Properties(has=has, number=number or 0, lifetime_us=us, priority=priority or 0)


class _Endpoint:
    """What one can do at once, in whatever manner one waits."""

    def __init__(self, url: str, *, credit: int = 0, arrivals: int = 0, spin: float = 0,
                 shared_port: bool = False) -> None:
        if url.startswith("stream"):
            raise ValueError("Python has messages only")
        handle = ctypes.c_void_p()
        self._handle: Optional[int] = None
        options = c.Options(credit=credit, arrivals=arrivals, spin_us=round(spin * 1e6),
                            flags=c.SHARED_PORT if shared_port else 0)
        _check(c.sw_open(url.encode(), options.at, ctypes.addressof(handle)))
        self._handle = handle.value
        self._fd = _check(c.sw_poll_fd(self._handle))
        self._associations: dict = {}
        room = ctypes.create_string_buffer(_ROOM)
        self._room, self._room_at = memoryview(room).cast("B"), ctypes.addressof(room)

    @property
    def address(self) -> Optional[Address]:
        """Where it listens."""
        return c.address(c.sw_address, self._handle)

    def fileno(self) -> int:
        """The descriptor that can be read while there is something to do."""
        return self._fd

    def _connect(self, kind: Callable[[Any, int], A], address: str) -> A:
        made = ctypes.c_void_p()
        _check(c.sw_connect(self._handle, address.encode(), 0, ctypes.addressof(made)))
        return kind(self, made.value or 0)

    def _try_accept(self, kind: Callable[[Any, int], A]) -> Optional[A]:
        made = ctypes.c_void_p()
        error = c.sw_accept(self._handle, 0, ctypes.addressof(made))
        return None if error == c.AGAIN else kind(self, made.value or _check(error))

    def _free(self) -> None:
        for association in list(self._associations.values()):
            association._handle = None
        self._associations.clear()
        handle, self._handle = self._handle, None
        if handle is not None:
            _check(c.sw_free(handle))


class Association(_Association):
    """A conversation with one peer, by calls that wait: without limit, or `timeout` seconds."""

    def send(self, data: Any, *, timeout: Optional[float] = None, lifetime: Optional[float] = None,
             number: Optional[int] = None, priority: Optional[int] = None) -> None:
        """Sends a message: any buffer. `lifetime`: for how many seconds it is of use."""
        at, length = _octets(data)
        said = _properties(lifetime, number, priority)
        self._endpoint._wait(timeout, self._try_send, at, length, said and said.at)

    def receive(self, timeout: Optional[float] = None) -> bytes:
        """Receives the next message; `last` tells more of it."""
        return self._endpoint._wait(timeout, self._try_receive)

    def receive_into(self, buffer: Any, timeout: Optional[float] = None) -> int:
        """Receives octets of the next message in place. `last.more`: there are more of it."""
        at, length = _room(buffer)
        return self._endpoint._wait(timeout, self._try_receive_into, at, length)

    def close(self, timeout: Optional[float] = None) -> None:
        """Ends it when all that was sent has arrived, and waits for that."""
        if self._handle is not None:
            c.sw_begin_close(self._handle)
            try:
                self._endpoint._wait(timeout, self._try_ended)
            finally:
                self._free()

    def __enter__(self: A) -> A:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.abort() if kind else self.close()


class Endpoint(_Endpoint):
    """A stack of protocols, by calls that wait: without limit, or `timeout` seconds."""

    def connect(self, address: str, timeout: Optional[float] = None) -> Association:
        """Opens an association with host:port."""
        association = self._connect(Association, address)
        try:
            return self._wait(timeout, association._try_opened)
        except BaseException:
            association.abort()
            raise

    def accept(self, timeout: Optional[float] = None) -> Association:
        """Accepts the next association that arrives."""
        return self._wait(timeout, self._try_accept, Association)

    def close(self) -> None:
        """Frees it and all its associations. Close those that matter before."""
        self._free()

    def _wait(self, timeout: Optional[float], attempt: Callable[..., Optional[T]], *what: Any) -> T:
        found = attempt(*what)
        if found is None and timeout == 0:
            raise BlockingIOError(c.sw_errno(c.AGAIN), c.sw_error_text(c.AGAIN).decode())
        until = None if timeout is None else time.monotonic() + timeout
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while found is None:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(c.sw_error_text(c.AGAIN).decode())
            poll.poll(None if left is None else left * 1000)
            _check(c.sw_turn(self._handle))
            found = attempt(*what)
        return found

    def __enter__(self) -> "Endpoint":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


from .aio import open  # noqa: E402

__all__ = ["Association", "Ended", "Endpoint", "Late", "Received", "open"]
