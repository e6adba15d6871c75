"""Endpoints in event loops."""

import asyncio
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tracemalloc
import unittest

import stackwright

SCHEMES = ["artp", "xtp", "tailored", "tcp", "udp"]
ECHO = pathlib.Path(__file__).parent.parent / "examples/echo.py"
# As many messages go there and back between two processes.
MESSAGES = int(os.environ.get("STACKWRIGHT_MESSAGES", "100000"))


@contextlib.asynccontextmanager
async def pair(scheme="artp"):
    async with await stackwright.open(f"{scheme}://127.0.0.1:0") as server:
        async with await stackwright.open(f"{scheme}://") as client:
            a = await client.connect("localhost:%d" % server.address[1], timeout=9)
            await a.send(b"first")
            b = await server.accept(timeout=9)
            assert await b.receive() == b"first"
            yield a, b


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_messages_of_all_lengths(self):
        for scheme in SCHEMES:
            async with pair(scheme) as (a, b):
                lengths = [1, 1000, 60000] + [65536, 65537, 900000] * (scheme in ("artp", "xtp"))
                for length in lengths:
                    message = bytes(range(256)) * (length // 256 + 1)
                    for data in message[:length], bytearray(message[:length]):
                        await a.send(data)
                        self.assertEqual(await b.receive(), data)
                await b.send(memoryview(b"abcdef")[::1], number=7, priority=3)
                at = bytearray(4)
                self.assertEqual((await a.receive_into(at), at), (4, b"abcd"))
                self.assertTrue(a.last.more)
                self.assertEqual((await a.receive_into(at), at), (2, b"efcd"))
                self.assertFalse(a.last.more)

    async def test_an_end_is_told(self):
        async with pair() as (a, b):
            a.abort(7)
            with self.assertRaises(stackwright.Ended) as told:
                await b.receive()
            self.assertEqual((told.exception.why, told.exception.code), ("reset", 7))
            with self.assertRaises(ValueError):
                await a.send(b"it was freed")
        async with pair() as (a, b):
            await a.send(b"last")
            closing = asyncio.create_task(a.close())
            self.assertEqual(await b.receive(), b"last")
            with self.assertRaises(stackwright.Ended) as told:
                await b.receive()
            self.assertEqual(told.exception.why, "finished")
            await asyncio.wait_for(closing, 9)
            with self.assertRaises(TimeoutError):
                await b._endpoint.accept(timeout=0.01)

    async def test_what_waits_is_told_that_the_endpoint_is_closed(self):
        async with pair() as (a, b):
            waiting = [asyncio.create_task(a.receive()), asyncio.create_task(b._endpoint.accept())]
            await asyncio.sleep(0)
            a._endpoint.close()
            b._endpoint.close()
            for task in waiting:
                with self.assertRaises(ValueError):
                    await task

    async def test_nobody_is_there(self):
        async with await stackwright.open("tcp://") as client:
            with self.assertRaises(stackwright.Ended):
                await client.connect("127.0.0.1:9", timeout=9)
        async with await stackwright.open("artp://") as client:
            with self.assertRaises(stackwright.Ended):
                peer = await client.connect("127.0.0.1:9", timeout=9)
                await asyncio.wait_for(peer.receive(), 60)

    async def test_a_cancelled_await_loses_nothing(self):
        async with pair() as (a, b):
            got, sent = [], 0
            for turns in range(200):
                await a.send(b"%d" % sent)
                sent += 1
                task = asyncio.create_task(b.receive())
                for _ in range(turns % 7):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    got.append(await task)
            while len(got) < sent:
                got.append(await asyncio.wait_for(b.receive(), 9))
            self.assertEqual(sorted(map(int, got)), list(range(sent)))
            self.assertEqual(len(b._waiting), 0)

    async def test_a_sender_waits_for_credit(self):
        async with pair() as (a, b):
            sending = asyncio.create_task(self.send(a, 1000))
            await asyncio.sleep(0.1)
            self.assertFalse(sending.done(), "nobody receives")
            self.assertEqual({len(await b.receive()) for _ in range(1000)}, {50000})
            await sending

    async def send(self, a, times):
        for _ in range(times):
            await a.send(bytes(50000))

    async def test_a_thousand_tasks(self):
        async def ask(endpoint, address, n):
            peer = await endpoint.connect(address, timeout=60)
            await peer.send(b"%d" % n)
            self.assertEqual(await asyncio.wait_for(peer.receive(), 60), b"%d" % n)

        async def answer(server):
            async for peer in server:
                peers.append(asyncio.create_task(back(peer)))

        async def back(peer):
            await peer.send(await peer.receive())

        peers = []
        async with await stackwright.open("tcp://127.0.0.1:0", arrivals=2000) as server:
            async with await stackwright.open("tcp://") as client:
                serving = asyncio.create_task(answer(server))
                address = "127.0.0.1:%d" % server.address[1]
                await asyncio.gather(*(ask(client, address, n) for n in range(1000)))
                await asyncio.gather(*peers)
                serving.cancel()

    async def test_nothing_leaks(self):
        async with pair() as (a, b):
            async def exchange(times):
                for _ in range(times):
                    waiting = asyncio.create_task(b.receive())
                    await a.send(b"x" * 100, lifetime=9)
                    await waiting
                return tracemalloc.get_traced_memory()[0]

            tracemalloc.start()
            before = await exchange(300)
            grown = await exchange(1000) - before
            tracemalloc.stop()
            self.assertLess(grown, 20000)

    async def test_two_processes(self):
        for scheme, messages in ("artp", MESSAGES), ("xtp", 1000):
            command = [sys.executable, str(ECHO), "serve", f"{scheme}://127.0.0.1:0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
                address = "127.0.0.1:%d" % int(server.stdout.readline())
                async with await stackwright.open(f"{scheme}://") as client:
                    peer = await client.connect(address, timeout=9)

                    async def say():
                        for n in range(messages):
                            await peer.send(b"%d" % n)

                    saying = asyncio.create_task(say())
                    heard = sorted([int(await peer.receive()) for _ in range(messages)])
                    self.assertEqual(heard, list(range(messages)))
                    await saying
                server.kill()


class Documents(unittest.TestCase):
    def test_the_examples_of_the_readme_run(self):
        readme = (ECHO.parent.parent / "README.md").read_text()
        said = [subprocess.run([sys.executable, "-c", example], check=True, timeout=60,
                               stdout=subprocess.PIPE, text=True).stdout
                for example in re.findall(r"```python\n(.*?)```", readme, re.S)]
        self.assertRegex(said[0], r"b'how warm\?'\nb'21.5 degrees'\nreset 7\n")
        self.assertEqual(said[1:], ["b'hello'\n"])


if __name__ == "__main__":
    unittest.main()
