"""Endpoints for asyncio: the event loop watches the endpoint's descriptor. No threads."""

import asyncio
import ctypes
import socket
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from . import _Association, _check, _Endpoint, _octets, _properties, _room
from . import _library as c

T = TypeVar("T")


class Association(_Association):
    """A conversation with one peer. An await that is cancelled loses nothing."""

    def __init__(self, endpoint: "Endpoint", handle: int) -> None:
        super().__init__(endpoint, handle)
        self._waiting: List[asyncio.Future] = []

    async def send(self, data: Any, *, lifetime: Optional[float] = None,
                   number: Optional[int] = None, priority: Optional[int] = None) -> None:
        """Sends a message: any buffer. `lifetime`: for how many seconds it is of use. Waits for
        credit only."""
        at, length = _octets(data)
        said = _properties(lifetime, number, priority)
        while self._try_send(at, length, said and said.at) is None:
            await self._endpoint._told(self._waiting)

    async def receive(self) -> bytes:
        """Receives the next message; `last` tells more of it."""
        while (message := self._try_receive()) is None:
            await self._endpoint._told(self._waiting)
        return message

    async def receive_into(self, buffer: Any) -> int:
        """Receives octets of the next message in place. `last.more`: there are more of it."""
        at, length = _room(buffer)
        while (count := self._try_receive_into(at, length)) is None:
            await self._endpoint._told(self._waiting)
        return count

    async def close(self, timeout: Optional[float] = None) -> None:
        """Ends it when all that was sent has arrived, and waits for that."""
        if self._handle is not None:
            c.sw_begin_close(self._handle)
            try:
                await self._endpoint._until(timeout, self._waiting, self._try_ended)
            finally:
                self._free()

    async def __aenter__(self) -> "Association":
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        self.abort() if kind else await self.close()


class Endpoint(_Endpoint):
    """A stack of protocols. It belongs to the event loop that runs when it is made."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._loop = asyncio.get_running_loop()
        self._accepting: List[asyncio.Future] = []
        self._what = ctypes.c_uint()
        self._what_at = ctypes.addressof(self._what)
        self._loop.add_reader(self._fd, self._turn)

    async def connect(self, address: str, timeout: Optional[float] = None) -> Association:
        """Opens an association with host:port."""
        host, _, port = address.rpartition(":")
        found = await self._loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_DGRAM)
        host, port = found[0][4][:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        association = self._connect(Association, address)
        try:
            return await self._until(timeout, association._waiting, association._try_opened)
        except BaseException:
            association.abort()
            raise

    async def accept(self, timeout: Optional[float] = None) -> Association:
        """Accepts the next association that arrives."""
        return await self._until(timeout, self._accepting, self._try_accept, Association)

    def close(self) -> None:
        """Frees it and all its associations. Close those that matter before."""
        if self._handle is not None:
            self._loop.remove_reader(self._fd)
            waiting = [self._accepting, *(each._waiting for each in self._associations.values())]
            self._free()
            for futures in waiting:
                _wake(futures)

    def _turn(self) -> None:
        """Runs the stack, and wakes what waits for what happened."""
        _check(c.sw_turn(self._handle))
        while handle := c.sw_changed(self._handle, self._what_at):
            _wake(self._associations[handle]._waiting)
        _wake(self._accepting)

    def _told(self, waiting: List[asyncio.Future]) -> asyncio.Future:
        future = self._loop.create_future()
        waiting.append(future)
        return future

    async def _until(self, timeout: Optional[float], waiting: List[asyncio.Future],
                     attempt: Callable[..., Optional[T]], *what: Any) -> T:
        until = None if timeout is None else self._loop.time() + timeout
        while (found := attempt(*what)) is None:
            future = self._told(waiting)
            alarm = until and self._loop.call_at(until, _expire, future)
            try:
                await future
            finally:
                if alarm:
                    alarm.cancel()
        return found

    async def __aenter__(self) -> "Endpoint":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def __aiter__(self) -> "Endpoint":
        return self

    async def __anext__(self) -> Association:
        if self._handle is None:
            raise StopAsyncIteration
        return await self.accept()


def _wake(waiting: List[asyncio.Future]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    waiting.clear()


def _expire(future: asyncio.Future) -> None:
    if not future.done():
        future.set_exception(TimeoutError(c.sw_error_text(c.AGAIN).decode()))


async def open(url: str, **options: Any) -> Endpoint:
    """Opens an endpoint. `scheme://host:port` listens there; `scheme://` only connects. Options:
    `credit` in octets, `arrivals`, `spin` in seconds, `shared_port`."""
    return Endpoint(url, **options)
