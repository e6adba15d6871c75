"""A program that speaks AGW, written from the description of the interface: it knows nothing of ours.

    program.py PORT calls OWN PEER OCTETS    calls a station that echoes, and compares what comes back
    program.py PORT answers OWN              echoes what the next caller sends, until it has gone
"""

import random
import socket
import struct
import sys
import threading

HEADER = struct.Struct("<B3xcxBx10s10sII")


class Program:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(90)

    def ask(self, kind, own=b"", peer=b"", data=b""):
        header = HEADER.pack(0, kind, 0xF0, own, peer, len(data), 0)
        self.socket.sendall(header + data)

    def octets(self, count):
        octets = b""
        while len(octets) < count:
            more = self.socket.recv(count - len(octets))
            if not more:
                raise EOFError("the server has gone")
            octets += more
        return octets

    def next(self):
        _, kind, _, call_from, call_to, length, _ = HEADER.unpack(self.octets(HEADER.size))
        calls = [call.split(b"\0")[0] for call in (call_from, call_to)]
        return kind, calls, self.octets(length)

    def expect(self, kind):
        frame = self.next()
        if frame[0] != kind:
            raise ValueError(f"{frame} in place of {kind}")
        return frame

    def register(self, own):
        self.ask(b"X", own)
        if self.expect(b"X")[2] != b"\1":
            raise ValueError("it is not registered")


def calls(program, own, peer, count):
    content = random.Random(1).randbytes(count)
    program.ask(b"C", own, peer)
    _, sides, text = program.expect(b"C")
    if sides != [peer, own] or not text.startswith(b"*** CONNECTED With"):
        raise ValueError(f"{sides} {text}")

    def send():
        for start in range(0, count, 256):
            program.ask(b"D", own, peer, content[start : start + 256])

    thread = threading.Thread(target=send)
    thread.start()
    echo = b""
    while len(echo) < count:
        echo += program.expect(b"D")[2]
    thread.join()
    outstanding = []
    while not outstanding or outstanding[-1] > 0:
        program.ask(b"Y", own, peer)
        outstanding += struct.unpack("<I", program.expect(b"Y")[2])
    program.ask(b"d", own, peer)
    program.expect(b"d")
    print("equal" if echo == content else "different", outstanding[-1], flush=True)


def answers(program, own):
    print("ready", flush=True)
    _, sides, text = program.expect(b"C")
    if sides[1] != own or not text.startswith(b"*** CONNECTED To"):
        raise ValueError(f"{sides} {text}")
    echoed = 0
    while True:
        kind, _, data = program.next()
        if kind == b"d":
            break
        program.ask(b"D", own, sides[0], data)
        echoed += len(data)
    print("echoed", echoed, flush=True)


def main():
    _, port, what, own, *rest = sys.argv
    program = Program(int(port))
    program.register(own.encode())
    if what == "calls":
        calls(program, own.encode(), rest[0].encode(), int(rest[1]))
    else:
        answers(program, own.encode())


main()
