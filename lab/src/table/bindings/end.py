"""An end of the table `bindings` in asyncio: over ARTP by the package, or over the kernel's TCP.

    end.py artp|tcp echo|bulk LENGTH                 prints its port, and serves one peer
    end.py artp|tcp echo|bulk LENGTH PORT SECONDS    prints seconds an exchange, or Mb/s
"""

import asyncio
import sys
import time

import stackwright


class Stream:
    """Messages of one length over the kernel's TCP."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, octets):
        self.writer.write(octets)
        await self.writer.drain()

    async def receive(self):
        return await self.reader.readexactly(LENGTH)

    async def close(self):
        self.writer.write_eof()
        await self.reader.read()
        self.writer.close()


async def accept():
    if OVER == "artp":
        endpoint = await stackwright.open("artp://127.0.0.1:0")
        print(endpoint.address[1], flush=True)
        return await endpoint.accept()
    accepted = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(
        lambda *ends: accepted.set_result(Stream(*ends)), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    return await accepted


async def serve():
    peer = await accept()
    try:
        while True:
            message = await peer.receive()
            if WORK == "echo":
                await peer.send(message)
    except (stackwright.Ended, asyncio.IncompleteReadError):
        await peer.close()


async def ask(port, seconds):
    if OVER == "artp":
        endpoint = await stackwright.open("artp://")
        peer = await endpoint.connect(f"127.0.0.1:{port}", timeout=5)
    else:
        peer = Stream(*await asyncio.open_connection("127.0.0.1", port))
    message, messages, begin = bytes(LENGTH), 0, time.monotonic()
    while time.monotonic() - begin < float(seconds):
        await peer.send(message)
        if WORK == "echo":
            await peer.receive()
        messages += 1
    took = time.monotonic() - begin
    await peer.close()
    if WORK == "bulk":
        took = time.monotonic() - begin
    print(took / messages if WORK == "echo" else 8e-6 * messages * LENGTH / took)


OVER, WORK, LENGTH = sys.argv[1], sys.argv[2], int(sys.argv[3])
asyncio.run(ask(*sys.argv[4:]) if sys.argv[4:] else serve())
