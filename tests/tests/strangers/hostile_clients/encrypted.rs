//! TLS in bad company: commands behind AUTH, plaintext where a handshake should be, and other
//! clients at the port of a data connection.

use std::path::PathBuf;

use stackwright_programs::encrypted::Certificates;
use stackwright_programs::processes::run;

use super::{GROWTH, Prey};
use crate::setting::stranger;

/// A server's own certificate for `localhost`, for clients to trust, while it is held.
pub(crate) struct Certified {
    pub(crate) certificate: PathBuf,
    _files: Certificates,
}

/// A server with TLS, and its certificate.
pub(crate) fn certified(how: &str, options: &[&str]) -> (Certified, Prey) {
    let files = Certificates::new();
    let identity = files.self_signed();
    let shows = identity.options();
    let shows: Vec<&str> = shows.iter().map(String::as_str).collect();
    let prey = Prey::with(&[&[how], &shows[..], options].concat());
    (Certified { certificate: identity.certificate, _files: files }, prey)
}

/// What all scripts begin with: a client that speaks line by line, in plain and then in TLS.
pub(crate) const CLIENT: &str = "
import re, socket, ssl, sys
certificate, port = sys.argv[1], int(sys.argv[2])

def context():
    return ssl.create_default_context(cafile=certificate)

class Client:
    def __init__(self, tls=context()):
        self.tls, self.lines = tls, b''
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=60)
        self.expects('220')

    def line(self):
        while b'\\n' not in self.lines:
            some = self.socket.recv(4096)
            assert some, 'the connection ended'
            self.lines += some
        line, self.lines = self.lines.split(b'\\n', 1)
        return line.decode()

    def expects(self, code):
        line = self.line()
        assert line.startswith(code + ' '), line
        return line

    def ask(self, line, code):
        self.socket.sendall(line.encode() + b'\\r\\n')
        return self.expects(code)

    def secure(self):
        assert self.lines == b'', self.lines
        self.socket = self.tls.wrap_socket(self.socket, server_hostname='localhost')

    def login(self):
        self.ask('AUTH TLS', '234')
        self.secure()
        for line, code in [('PBSZ 0', '200'), ('PROT P', '200'), ('USER ftp', '331'),
                           ('PASS x', '230'), ('TYPE I', '200')]:
            self.ask(line, code)

    def port(self):
        return int(re.search(r'\\|(\\d+)\\|', self.ask('EPSV', '229')).group(1))

    def data(self, port, session=None):
        raw = socket.create_connection(('127.0.0.1', port), timeout=60)
        return self.tls.wrap_socket(raw, server_hostname='localhost', session=session)

    def fetch(self, data):
        parts = []
        while some := data.recv(65536):
            parts.append(some)
        return b''.join(parts)
";

fn python(certified: &Certified, prey: &Prey, script: &str) {
    let mut python = stranger("python3");
    python.args(["-c", &format!("{CLIENT}{script}")]).arg(&certified.certificate);
    run(python.arg(prey.server.address.port().to_string())).succeeded();
}

/// What arrives behind AUTH in the same segment is plaintext of anyone: it is neither obeyed before
/// the handshake nor behind it (CVE-2011-1575).
pub(super) fn behind_auth() {
    let (shown, prey) = certified("--tls=offered", &[]);
    let script = "
client = Client()
client.socket.sendall(b'AUTH TLS\\r\\nUSER ftp\\r\\nPASS x\\r\\nDELE small\\r\\nNOOP\\r\\nMKD')
client.expects('234')
client.secure()
client.ask(' injected', '500')
client.ask('PASS x', '503')
client.ask('DELE small', '530')
client.ask('QUIT', '221')
";
    python(&shown, &prey, script);
    prey.unharmed();
    assert!(prey.new_names().is_empty(), "{:?} appeared", prey.new_names());
}

/// A client that goes on in plain, or sends damaged records, is ended, and gets no reply in plain.
pub(super) fn no_handshake() {
    let (shown, prey) = certified("--tls=offered", &[]);
    let script = "
import os
for octets in [b'USER ftp\\r\\nPASS x\\r\\n', b'\\x16\\x03\\x01\\xff\\xff' + bytes(70000),
               b'\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00\\x01\\x00', os.urandom(5000), b'']:
    client = Client()
    client.ask('AUTH TLS', '234')
    try:
        client.socket.sendall(octets)
        client.socket.shutdown(socket.SHUT_WR)
        answer = client.fetch(client.socket)
    except (ConnectionResetError, BrokenPipeError):
        continue
    # At most an alert (RFC 8446 §6).
    assert len(answer) in (0, 7) and answer[:1] in (b'', b'\\x15'), answer
";
    python(&shown, &prey, script);
    prey.unharmed();
}

/// A client behind the same address is quicker at the data port: it gets nothing and gives nothing,
/// and the right one, which resumes its session, gets the file.
pub(super) fn thief() {
    let (shown, prey) = certified("--tls=required", &[]);
    let script = "
for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
    tls = context()
    tls.minimum_version = tls.maximum_version = version
    client = Client(tls)
    client.login()
    for first, command in [(True, 'RETR small'), (False, 'RETR small'), (False, 'STOR new')]:
        there = client.port()
        if not first:
            # The server knows by now that this client resumes.
            raw = socket.create_connection(('127.0.0.1', there), timeout=60)
            client.socket.sendall(command.encode() + b'\\r\\n')
            client.expects('150')
            try:
                stolen = context().wrap_socket(raw, server_hostname='localhost')
                stolen.sendall(b'planted')
                got = stolen.recv(65536)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
                got = b''
            assert got == b'', got
            data = client.data(there, client.socket.session)
        else:
            data = client.data(there, client.socket.session)
            client.ask(command, '150')
        assert data.session_reused, (version, command)
        if command == 'RETR small':
            assert len(client.fetch(data)) == 10000
        else:
            data.sendall(b'x' * 1000)
            data = data.unwrap()
        data.close()
        client.expects('226')
    assert client.ask('SIZE new', '213').split() == ['213', '1000']
    client.ask('DELE new', '250')
    client.ask('QUIT', '221')
";
    python(&shown, &prey, script);
}

/// Go's TLS writes, announces the end and closes, and reads nothing behind the handshake: with
/// tickets unread, its close would be a reset.
pub(super) fn never_reads_tickets() {
    let (shown, prey) = certified("--tls=offered", &[]);
    let script = "
client = Client()
client.login()
for nth, length in enumerate([0, 10, 30000, 1000000, 3000000] * 3):
    raw = socket.create_connection(('127.0.0.1', client.port()), timeout=60)
    client.ask('STOR new', '150')
    come, left = ssl.MemoryBIO(), ssl.MemoryBIO()
    data = client.tls.wrap_bio(come, left, server_hostname='localhost', session=client.socket.session)
    while True:
        try:
            data.do_handshake()
            break
        except ssl.SSLWantReadError:
            raw.sendall(left.read())
            come.write(raw.recv(65536))
    content = bytes([nth]) * length
    if content:
        data.write(content)
    try:
        data.unwrap()
    except ssl.SSLWantReadError:
        pass
    raw.sendall(left.read())
    raw.close()
    client.expects('226')
    assert client.ask('SIZE new', '213').split() == ['213', str(length)]
    client.ask('DELE new', '250')
client.ask('QUIT', '221')
";
    python(&shown, &prey, script);
    prey.unharmed();
}

/// Clients that begin an encrypted transfer, and do not read: what is encrypted for them is
/// bounded.
pub(super) fn never_reads() {
    let (shown, prey) = certified("--tls=required", &[]);
    prey.with_big();
    let before = prey.memory();
    let script = "
import time
held = []
for _ in range(16):
    client = Client()
    client.login()
    data = client.data(client.port())
    client.ask('RETR big', '150')
    held.append((client, data))
time.sleep(0.5)
other = Client()
other.login()
data = other.data(other.port())
other.ask('RETR big', '150')
assert len(other.fetch(data)) == 50000000
other.expects('226')
for line in open('/proc/%s/status' % sys.argv[3]):
    if line.startswith('VmRSS'):
        grown = int(line.split()[1]) - int(sys.argv[4])
assert grown < int(sys.argv[5]), '%d kB for 16 clients that do not read' % grown
";
    let mut python = stranger("python3");
    python.args(["-c", &format!("{CLIENT}{script}")]).arg(&shown.certificate);
    python.arg(prey.server.address.port().to_string());
    python.arg(prey.server.running.number().to_string()).arg(before.to_string());
    run(python.arg((2 * GROWTH).to_string())).succeeded();
}
