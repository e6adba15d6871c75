"""A peer with Python's ssl module (OpenSSL): it echoes, resumes, or cuts the connection.

    peer.py server VERSION CERTIFICATE KEY COUNT [cut]    listens, prints its port
    peer.py client VERSION AUTHORITY PORT OCTETS          connects twice, resumes the second time
"""
import faulthandler, os, socket, ssl, sys, threading

AHEAD = 65536
faulthandler.dump_traceback_later(25)

role, version = sys.argv[1], {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[sys.argv[2]]


def say(*words):
    print(*words, flush=True)


def serve(raw, context, cut):
    with context.wrap_socket(raw, server_side=True, suppress_ragged_eofs=False) as tls:
        say("shaken", tls.version(), tls.session_reused)
        while octets := tls.recv(65536):
            tls.sendall(octets)
            if cut:
                tls.detach()
                os.close(raw_number)
                return
        tls.unwrap()
    say("whole")


if role == "server":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    listener = socket.create_server(("127.0.0.1", 0))
    say("port", listener.getsockname()[1])
    threads = []
    for _ in range(int(sys.argv[5])):
        raw, _ = listener.accept()
        raw_number = raw.fileno()
        threads.append(threading.Thread(target=serve, args=(raw, context, len(sys.argv) > 6)))
        threads[-1].start()
    for thread in threads:
        thread.join()
else:
    context = ssl.create_default_context(cafile=sys.argv[3])
    context.minimum_version = context.maximum_version = version
    octets, session, kept = os.urandom(int(sys.argv[5])), None, []
    for _ in range(2):
        raw = socket.create_connection(("127.0.0.1", int(sys.argv[4])))
        tls = context.wrap_socket(raw, server_hostname="files.example", session=session, suppress_ragged_eofs=False)
        # One thread alone uses it: OpenSSL's connections are not to be shared (a ticket that is
        # read while another thread writes is a handshake for both). It sends ahead of its echo.
        back = b""
        for start in range(0, len(octets) + AHEAD, AHEAD):
            tls.sendall(octets[start:start + AHEAD])
            while len(back) < min(start, len(octets)):
                back += tls.recv(65536)
        say("shaken", tls.version(), tls.session_reused, back == octets)
        session = tls.session
        kept.append(tls)
    for tls in reversed(kept):
        tls.unwrap()
        tls.close()
    say("whole")
