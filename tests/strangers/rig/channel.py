#!/usr/bin/env python3
"""The air between several Direwolf modems, without a sound card.

Each modem writes its samples (S16LE, mono) into the FIFO NAME.tx of the working folder, by ALSA's
plug-ins `file` and `null`, and hears by UDP audio. Every 10 ms each is sent the sum of what the
others transmit, and silence where none does: without it a modem finds the channel busy for ever.
Half duplex: one that transmits hears nothing. ALSA does not pace what it writes; this does.

usage: channel.py RATE NAME:PORT ...      RATE: samples a second
"""
import array
import fcntl
import os
import socket
import sys
import time

TICK = 0.01
SET_PIPE_SIZE = 1031

rate = int(sys.argv[1])
stations = []
for station in sys.argv[2:]:
    name, port = station.split(":")
    path = name + ".tx"
    if not os.path.exists(path):
        os.mkfifo(path)
    # Open to write too: it never ends, though its modem may.
    fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.fcntl(fifo, SET_PIPE_SIZE, 1 << 20)
    except OSError:
        pass
    stations.append((fifo, int(port), bytearray()))

air = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
samples = int(rate * TICK)
octets = 2 * samples
silence = bytes(octets)
begin, ticks = time.monotonic(), 0
while True:
    sent = []
    for fifo, _, waiting in stations:
        try:
            while len(waiting) < octets:
                more = os.read(fifo, 65536)
                if not more:
                    break
                waiting += more
        except BlockingIOError:
            pass
        sent.append(bytes(waiting[:octets]))
        del waiting[:octets]
    for place, (_, port, _) in enumerate(stations):
        others = [one for other, one in enumerate(sent) if other != place and one]
        if sent[place] or not others:
            heard = silence
        elif len(others) == 1:
            heard = others[0].ljust(octets, b"\0")
        else:
            total = [0] * samples
            for one in others:
                values = array.array("h")
                values.frombytes(one)
                for at, value in enumerate(values):
                    total[at] += value
            heard = array.array("h", [max(-32768, min(32767, value)) for value in total]).tobytes()
        air.sendto(heard, ("127.0.0.1", port))
    ticks += 1
    wait = begin + ticks * TICK - time.monotonic()
    if wait > 0:
        time.sleep(wait)
