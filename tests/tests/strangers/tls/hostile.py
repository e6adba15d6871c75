# A small FTP server with TLS, which does what its first argument says; its port is its first line.
import socket, ssl, sys

kind, certificate, key, source = sys.argv[1:]
content = open(source, 'rb').read()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)


def lines(control):
    waiting = b''
    while True:
        more = control.recv(4096)
        if not more:
            return
        waiting += more
        while b'\r\n' in waiting:
            line, waiting = waiting.split(b'\r\n', 1)
            yield line.decode()


def retrieve(control, passive):
    data, _ = passive.accept()
    control.sendall(b'150 Here it comes (%d bytes)\r\n' % len(content))
    if kind == 'plain-data':
        data.sendall(content)
        data.close()
        return
    data = context.wrap_socket(data, server_side=True)
    data.sendall(content[:len(content) // 2] if kind == 'cut' else content)
    if kind in ('cut', 'unannounced'):
        data.close()
    else:
        data = data.unwrap()
        data.close()


def serve(control):
    control.sendall(b'220 ready\r\n')
    passive = socket.create_server(('127.0.0.1', 0))
    plain = lines(control)
    if next(plain) != 'AUTH TLS':
        return
    if kind == 'plain-behind-234':
        control.sendall(b'234 go\r\n')
        control.recv(4096)
        control.sendall(b'331 password?\r\n230 injected\r\n')
        return
    behind = b'331 injected\r\n230 injected\r\n200 injected\r\n' if kind == 'injects' else b''
    control.sendall(b'234 go\r\n' + behind)
    control = context.wrap_socket(control, server_side=True)
    for line in lines(control):
        verb = line.split(' ')[0]
        if verb == 'PROT' and kind == 'refuses-prot':
            control.sendall(b'536 not that\r\n')
        elif verb == 'RETR':
            try:
                retrieve(control, passive)
                control.sendall(b'226 done\r\n')
            except (OSError, ssl.SSLError):
                control.sendall(b'426 it failed\r\n')
        elif verb == 'EPSV':
            control.sendall(b'229 Here (|||%d|)\r\n' % passive.getsockname()[1])
        elif verb == 'FEAT':
            control.sendall(b'211-Features:\r\n SIZE\r\n211 End\r\n')
        else:
            replies = {
                'USER': '331 password', 'PASS': '230 in', 'SIZE': '213 %d' % len(content),
                'QUIT': '221 farewell', 'PBSZ': '200 fine', 'PROT': '200 fine', 'TYPE': '200 fine',
            }
            control.sendall((replies.get(verb, '502 what') + '\r\n').encode())


while True:
    control, _ = listener.accept()
    try:
        serve(control)
    except (OSError, ssl.SSLError, StopIteration):
        pass
    control.close()
