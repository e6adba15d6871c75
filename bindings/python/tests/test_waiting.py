"""Endpoints without asyncio, and what programs may do wrong."""

import threading
import unittest

import stackwright


class Waiting(unittest.TestCase):
    def setUp(self):
        self.server = stackwright.Endpoint("artp://127.0.0.1:0")
        self.client = stackwright.Endpoint("artp://")
        self.addCleanup(self.server.close)
        self.addCleanup(self.client.close)
        self.address = "%s:%d" % self.server.address

    def answer(self):
        """Answers one peer from another thread, with an endpoint of that thread's own."""
        told = threading.Event()

        def serve():
            with stackwright.Endpoint("artp://127.0.0.1:0") as server:
                self.address = "%s:%d" % server.address
                told.set()
                with server.accept(timeout=9) as peer:
                    while (message := peer.receive(timeout=9)) != b"end":
                        peer.send(message, number=peer.last.number)

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        told.wait()

    def test_messages(self):
        self.answer()
        with self.client.connect(self.address, timeout=9) as peer:
            for length in 0, 5, 300000:
                peer.send(bytearray(length), lifetime=9 if length < 9 else None)
                self.assertEqual(peer.receive(timeout=9), bytes(length))
            peer.send(b"abc", timeout=9)
            at = memoryview(bytearray(8))
            self.assertEqual((peer.receive_into(at, timeout=9), at[:3].tobytes()), (3, b"abc"))
            self.assertEqual(peer.remote, ("127.0.0.1", int(self.address.split(":")[1])))
            self.assertGreaterEqual(peer.path().longest, 1 << 20)
            peer.send(b"end")

    def test_times(self):
        with self.assertRaises(BlockingIOError):
            self.server.accept(timeout=0)
        with self.assertRaises(TimeoutError):
            self.server.accept(timeout=0.01)

    def test_values(self):
        for url in "", "stream+tcp://", "quic://", "artp", "artp://127.0.0.1":
            with self.assertRaises(ValueError):
                stackwright.Endpoint(url)
        with self.assertRaises(ValueError):
            stackwright.Endpoint("artp://", arrivals=1 << 20)
        with self.assertRaises(OSError):
            stackwright.Endpoint("artp://no.such.host.invalid:1")
        with self.assertRaises(OSError):
            stackwright.Endpoint(f"artp://{self.address}")
        with self.assertRaises(ValueError):
            self.client.connect("127.0.0.1:port")
        with self.assertRaises(ValueError):
            self.client.accept()
        self.answer()
        peer = self.client.connect(self.address, timeout=9)
        for wrong in {"lifetime": 0}, {"lifetime": -1}, {"number": -1}, {"priority": 256}:
            with self.assertRaises(ValueError):
                peer.send(b"a", **wrong)
        for wrong in 5, "text", None:
            with self.assertRaises(TypeError):
                peer.send(wrong)
        with self.assertRaises(TypeError):
            peer.receive_into(b"what cannot be written")
        with self.assertRaises(TypeError):
            peer.receive_into(memoryview(bytearray(8))[::2])
        with self.assertRaises(ValueError):
            peer.send(bytes(2 << 20), timeout=0)
        peer.send(b"end")
        peer.close(timeout=9)
        peer.close()
        peer.abort()
        for call in peer.receive, lambda: peer.send(b"a"), peer.path:
            with self.assertRaises(ValueError):
                call()
        self.client.close()
        self.client.close()
        with self.assertRaises(ValueError):
            self.client.connect(self.address)

    def test_another_thread_is_refused(self):
        refused = []

        def call():
            try:
                self.server.accept(timeout=0)
            except RuntimeError as error:
                refused.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        self.assertEqual(len(refused), 1)


if __name__ == "__main__":
    unittest.main()
