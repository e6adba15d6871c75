#!/usr/bin/env python3
"""Reads XTP 4.0 packets in captures, independently of the project's own code.

Written from a description of the packets alone, so that one mistake in the project's format does
not hide behind the same mistake here.

    reader.py FILE.pcapng...     one JSON object a packet; exits with 1 where a packet is wrong
    reader.py --hex < LINES      the same for packets in hexadecimal, one a line
"""
import ipaddress
import json
import struct
import sys

OPTIONS = {
    0x400000: "NOCHECK", 0x200000: "EDGE", 0x100000: "NOERR", 0x080000: "MULTI",
    0x040000: "RES", 0x020000: "SORT", 0x010000: "NOFLOW", 0x008000: "FASTNAK",
    0x004000: "SREQ", 0x002000: "DREQ", 0x001000: "RCLOSE", 0x000800: "WCLOSE",
    0x000400: "EOM", 0x000200: "END", 0x000100: "BTAG",
}
FORMATS = {0: "DATA", 1: "CNTL", 2: "FIRST", 3: "ECNTL", 5: "TCNTL", 7: "JCNTL", 8: "DIAG"}
RETURN = 1 << 63


class Wrong(Exception):
    """A packet that breaks a rule of the format."""


def demand(holds, rule):
    if not holds:
        raise Wrong(rule)


def sums_to_zero(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total == 0xFFFF


def address(octets):
    """An address segment, and what is behind it."""
    demand(len(octets) >= 4, "an address segment has 4 octets or more")
    alen, domain, form = struct.unpack(">HBB", octets[:4])
    demand(4 <= alen <= len(octets), "alen covers what is there")
    body, found = octets[4:alen], {"alen": alen, "adomain": domain, "aformat": form}
    if form == 0:
        demand(alen == 8, "a null address has 8 octets")
    elif form == 1:
        demand(alen == 16, "an IPv4 address segment has 16 octets")
        there, here, found["dstport"], found["srcport"] = struct.unpack(">4s4sHH", body)
        found["dsthost"], found["srchost"] = (str(ipaddress.ip_address(a)) for a in (there, here))
    else:
        found["body"] = body.hex()
    return found, octets[alen:]


def traffic(octets):
    """A traffic specifier, and what is behind it."""
    demand(len(octets) >= 8, "a traffic specifier has 8 octets or more")
    tlen, service, form = struct.unpack(">HBB", octets[:4])
    demand(tlen <= len(octets), "tlen covers what is there")
    demand((form, tlen) in ((0, 8), (1, 24)), "tlen follows from tformat")
    found = {"tlen": tlen, "service": service, "tformat": form}
    if form == 1:
        names = ("maxdata", "inrate", "inburst", "outrate", "outburst")
        found.update(zip(names, struct.unpack(">5I", octets[4:24])))
    return found, octets[tlen:]


def control(octets, size):
    demand(len(octets) >= size, "a control packet holds its fixed part")
    return dict(zip(("rseq", "alloc", "echo"), struct.unpack(">QQI", octets[:20])))


def packet(octets):
    demand(len(octets) >= 32, "a packet has 32 octets or more")
    key, word, dlen, _, sort, sync, seq = struct.unpack(">QIIHHIQ", octets[:32])
    options, version, form = word >> 8, word >> 5 & 7, word & 0x1F
    demand(version == 1, "the version is 1")
    demand(form in FORMATS, "the format is one that is assigned")
    demand(dlen == len(octets) - 32, "dlen is what is behind the header")
    names = [name for bit, name in OPTIONS.items() if options & bit]
    covered = octets[:32] if "NOCHECK" in names else octets
    demand(sums_to_zero(covered), "the check is right")
    found = {"format": FORMATS[form], "key": key & ~RETURN, "return": bool(key & RETURN),
             "options": names, "dlen": dlen, "sort": sort, "sync": sync, "seq": seq}
    rest, kind = octets[32:], FORMATS[form]
    if kind == "DATA":
        if "BTAG" in names:
            demand(len(rest) >= 8, "a tag has 8 octets")
            found["btag"], rest = rest[:8].hex(), rest[8:]
        found["data"] = len(rest)
    elif kind == "CNTL":
        demand(dlen == 20, "CNTL has 20 octets")
        found.update(control(rest, 20))
    elif kind == "ECNTL":
        found.update(control(rest, 24))
        (count,) = struct.unpack(">I", rest[20:24])
        demand(dlen == 24 + 16 * count, "nspan counts the spans")
        found["spans"] = [list(struct.unpack_from(">QQ", rest, 24 + 16 * n)) for n in range(count)]
        edges = [found["rseq"]] + [edge for span in found["spans"] for edge in span]
        demand(all(a < b for a, b in zip(edges, edges[1:])), "spans rise, beyond rseq")
    elif kind in ("TCNTL", "JCNTL"):
        found.update(control(rest, 32))
        (found["xkey"],) = struct.unpack(">Q", rest[24:32])
        rest = rest[32:]
        if kind == "JCNTL":
            found["address"], rest = address(rest)
        found["traffic"], rest = traffic(rest)
        demand(not rest, "nothing is behind the traffic specifier")
    elif kind == "FIRST":
        found["address"], rest = address(rest)
        found["traffic"], rest = traffic(rest)
        found["data"] = len(rest)
    elif kind == "DIAG":
        demand(dlen >= 8, "DIAG has 8 octets or more")
        found["code"], found["value"] = struct.unpack(">II", rest[:8])
        found["text"] = rest[8:].decode("ascii")
    return found


def frames(octets):
    """The link type and the octets of every frame of a pcapng file."""
    at, order, links = 0, "<", []
    while at < len(octets):
        kind, = struct.unpack_from("<I", octets, at)
        if kind == 0x0A0D0D0A:
            order, links = "<" if octets[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">", []
        kind, size = struct.unpack_from(order + "II", octets, at)
        if kind == 1:
            links.append(struct.unpack_from(order + "H", octets, at + 8)[0])
        elif kind == 6:
            link, _, _, held = struct.unpack_from(order + "IIII", octets, at + 8)
            yield links[link], octets[at + 28:at + 28 + held]
        at += size


def carried(link, frame):
    """What IP carries as protocol 36, or nothing."""
    if link == 1:
        frame = frame[14:]
    if frame[0] >> 4 == 4 and frame[9] == 36:
        return frame[(frame[0] & 15) * 4:struct.unpack(">H", frame[2:4])[0]]
    if frame[0] >> 4 == 6 and frame[6] == 36:
        return frame[40:40 + struct.unpack(">H", frame[4:6])[0]]
    return None


def main(arguments):
    if arguments == ["--hex"]:
        packets = [bytes.fromhex(line) for line in sys.stdin]
    else:
        read = [open(name, "rb").read() for name in arguments]
        packets = [carried(*frame) for file in read for frame in frames(file)]
    wrong = 0
    for octets in filter(None, packets):
        try:
            print(json.dumps(packet(octets)))
        except Wrong as rule:
            wrong += 1
            print(json.dumps({"wrong": str(rule), "octets": octets.hex()}))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
