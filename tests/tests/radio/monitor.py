"""Watches a station through pyham_pe, the client library of Paracon (pip install pyham_pe).

    monitor.py PORT             prints what is monitored, and raw frames, until it is killed
    monitor.py PORT send HEX    sends a raw frame
"""

import sys
import threading

import pe


class Watch(pe.ReceiveHandler):
    def monitored_unproto(self, port, call_from, call_to, text, data):
        print("U", port, call_from, call_to, bytes(data).decode(), flush=True)

    def monitored_connected(self, port, call_from, call_to, text, data):
        print("I", port, call_from, call_to, bytes(data).decode(), flush=True)

    def monitored_supervisory(self, port, call_from, call_to, text):
        kind = text.split("<")[1].split()[0]
        print("S", port, call_from, call_to, kind, flush=True)

    def monitored_raw(self, port, data):
        print("K", port, bytes(data).hex(), flush=True)


def main():
    port, *rest = sys.argv[1:]
    engine = pe.PacketEngine(Watch())
    engine.connect_to_server("127.0.0.1", int(port))
    if rest:
        engine.send_raw(0, "", "", bytes.fromhex(rest[1]))
    else:
        engine.monitoring = True
        engine.raw_ax25 = True
        print("ready", flush=True)
    threading.Event().wait()


main()
