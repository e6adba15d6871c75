//! Clients that nobody here wrote, over TLS, with our server.

use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, assert_same};
use stackwright_programs::encrypted::{Certificates, Identity, LOCALHOST};
use stackwright_programs::processes::{eventually, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, free_port, ours};

use crate::setting::{Setting, stranger, trial};

/// Clients that do not encrypt are refused.
const REQUIRED: &[&str] = &["--tls=required"];
/// So are data connections that do not resume the session of their control connection.
const REUSE: &[&str] = &["--tls=required", "--session-reuse=require"];

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let of = |name: &str, program: &'static str, options, moves: fn(&Scene)| {
        let with = setting.clone();
        trial(format!("tls/{name}"), &["openssl", program], false, move || {
            moves(&Scene::new(&with, options));
        })
    };
    vec![
        of("curl/explicit", "curl", REUSE, |scene| curl(scene, false)),
        of("curl/implicit", "curl", REUSE, |scene| curl(scene, true)),
        of("lftp/explicit", "lftp", REUSE, |scene| lftp(scene, false)),
        of("lftp/implicit", "lftp", REUSE, |scene| lftp(scene, true)),
        of("ftplib", "python3", REQUIRED, ftplib),
        of("ftplib/reuse/1.2", "python3", REUSE, |scene| ftplib_reuse(scene, "TLSv1_2")),
        of("ftplib/reuse/1.3", "python3", REUSE, |scene| ftplib_reuse(scene, "TLSv1_3")),
        of("ftplib/no-reuse", "python3", REUSE, ftplib_without_reuse),
        of("protection-changes", "python3", &["--tls=offered"], protection_changes),
    ]
}

/// A server with a certificate for `localhost`.
struct Scene<'a> {
    setting: &'a Setting,
    scratch: Scratch,
    certificates: Certificates,
    server: Server,
    /// The port where TLS begins at once.
    implicit: u16,
}

impl<'a> Scene<'a> {
    fn new(setting: &'a Setting, options: &[&str]) -> Self {
        let certificates = Certificates::new();
        let Identity { certificate, key } = certificates.issue(LOCALHOST, 2);
        let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
        let implicit = free_port(false);
        let listen_tls = format!("--listen-tls=127.0.0.1:{implicit}");
        let own = [&listen_tls, "--certificate", &certificate, "--key", &key];
        let options = [&own[..], options, &["--writable", "--no-sync"]].concat();
        let server = ours(setting.folder().path(), false, &options);
        let listens = || TcpStream::connect(("127.0.0.1", implicit)).is_ok();
        assert!(eventually(Duration::from_secs(10), listens), "it listens at two places");
        Scene { setting, scratch: Scratch::new(), certificates, server, implicit }
    }

    /// That of the authority, which the clients trust.
    fn certificate(&self) -> String {
        self.certificates.authority().display().to_string()
    }

    fn url(&self, implicit: bool, path: &str) -> String {
        if implicit {
            format!("ftps://127.0.0.1:{}/{path}", self.implicit)
        } else {
            self.server.url(path)
        }
    }

    /// Compares what a client fetched, and stored, with the file of 1 MB.
    fn compare(&self, arrived: &str, stored: &str) {
        let content = self.setting.content(SIZES[6]);
        for file in [self.scratch.join(arrived), self.setting.folder().join(stored)] {
            assert_same(&fs::read(&file).expect("the file"), content);
        }
    }
}

fn curl(scene: &Scene<'_>, implicit: bool) {
    let (size, stored) = (SIZES[6].file(), format!("in/tls-curl-{implicit}"));
    let encrypts = |command: &mut Command| {
        command.args(["-sS", "--ssl-reqd", "--cacert", &scene.certificate()]);
    };
    let mut get = stranger("curl");
    encrypts(&mut get);
    get.arg("-o").arg(scene.scratch.join("arrived")).arg(scene.url(implicit, &size));
    run(&mut get).succeeded();
    let mut put = stranger("curl");
    encrypts(&mut put);
    put.arg("-T").arg(scene.setting.folder().join(&size)).arg(scene.url(implicit, &stored));
    run(&mut put).succeeded();
    scene.compare("arrived", &stored);
    // A client that does not know the certificate, or does not encrypt, gets nothing.
    let mut stranger_to_it = stranger("curl");
    stranger_to_it.args(["-sS", "--ssl-reqd"]).arg(scene.url(implicit, &size));
    run(&mut stranger_to_it).exited(60);
    let mut plain = stranger("curl");
    plain.arg("-sS").arg(scene.server.url(&size));
    run(&mut plain).exited(67);
}

fn lftp(scene: &Scene<'_>, implicit: bool) {
    let (size, stored) = (SIZES[6].file(), format!("in/tls-lftp-{implicit}"));
    let script = format!(
        "set ssl:ca-file {}; set ftp:ssl-allow-anonymous yes; set ftp:ssl-force yes; \
         set ftp:ssl-protect-data yes; open {}; \
         get {size} -o {}; put {} -o {stored}; bye",
        scene.certificate(),
        scene.url(implicit, ""),
        scene.scratch.join("arrived").display(),
        scene.setting.folder().join(&size).display(),
    );
    run(stranger("lftp").args(["-e", &script])).succeeded();
    scene.compare("arrived", &stored);
}

fn ftplib(scene: &Scene<'_>) {
    const SCRIPT: &str = "
import ftplib, ssl, sys
certificate, port, name, arrived, source, stored = sys.argv[1:]
context = ssl.create_default_context(cafile=certificate)
ftp = ftplib.FTP_TLS(context=context)
ftp.connect('localhost', int(port))
ftp.login()
ftp.prot_p()
with open(arrived, 'wb') as file:
    ftp.retrbinary('RETR ' + name, file.write)
with open(source, 'rb') as file:
    ftp.storbinary('STOR ' + stored, file)
assert name in [entry for entry, facts in ftp.mlsd()]
ftp.quit()
";
    let size = SIZES[6].file();
    let mut python = stranger("python3");
    python.args(["-c", SCRIPT, &scene.certificate(), &scene.server.address.port().to_string()]);
    python.arg(&size).arg(scene.scratch.join("arrived"));
    python.arg(scene.setting.folder().join(&size)).arg("in/tls-ftplib");
    run(&mut python).succeeded();
    scene.compare("arrived", "in/tls-ftplib");
}

/// ftplib with what it lacks: each data connection resumes the session of the control connection,
/// at both ports.
fn ftplib_reuse(scene: &Scene<'_>, version: &str) {
    const SCRIPT: &str = "
import ftplib, ssl, socket, sys
certificate, port, implicit, version, name, arrived, source, stored = sys.argv[1:]
context = ssl.create_default_context(cafile=certificate)
context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
class Reuses(ftplib.FTP_TLS):
    def ntransfercmd(self, cmd, rest=None):
        data, size = ftplib.FTP.ntransfercmd(self, cmd, rest)
        data = self.context.wrap_socket(data, server_hostname=self.host, session=self.sock.session)
        return data, size
class Implicit(Reuses):
    def connect(self, host, port):
        self.host = host
        sock = socket.create_connection((host, port))
        self.af = sock.family
        self.sock = self.context.wrap_socket(sock, server_hostname=host)
        self.file = self.sock.makefile('r', encoding=self.encoding)
        self.welcome = self.getresp()
    def login(self, *args):
        ftplib.FTP.login(self, *args)
for kind, port in [(Reuses, port), (Implicit, implicit)]:
    ftp = kind(context=context)
    ftp.connect('localhost', int(port))
    ftp.login()
    if kind is Reuses:
        ftp.prot_p()
    else:
        ftp._prot_p = True
    with open(arrived, 'wb') as file:
        ftp.retrbinary('RETR ' + name, file.write)
    with open(source, 'rb') as file:
        ftp.storbinary('STOR ' + stored, file)
    assert name in [entry for entry, facts in ftp.mlsd()]
    ftp.quit()
";
    let (size, stored) = (SIZES[6].file(), format!("in/tls-ftplib-{version}"));
    let mut python = stranger("python3");
    python.args(["-c", SCRIPT, &scene.certificate(), &scene.server.address.port().to_string()]);
    python.args([&scene.implicit.to_string(), version, &size]).arg(scene.scratch.join("arrived"));
    run(python.arg(scene.setting.folder().join(&size)).arg(&stored)).succeeded();
    scene.compare("arrived", &stored);
}

/// ftplib as it comes begins a session of its own for each data connection, as another client
/// would that is quicker.
fn ftplib_without_reuse(scene: &Scene<'_>) {
    const SCRIPT: &str = "
import ftplib, ssl, sys
certificate, port, name = sys.argv[1:]
context = ssl.create_default_context(cafile=certificate)
ftp = ftplib.FTP_TLS(context=context)
ftp.connect('localhost', int(port))
ftp.login()
ftp.prot_p()
arrived = []
try:
    try:
        ftp.retrbinary('RETR ' + name, arrived.append)
    except OSError:
        ftp.voidresp()
    raise SystemExit('it was sent')
except ftplib.Error as refused:
    assert str(refused).startswith('522 '), refused
assert not arrived
ftp.voidcmd('NOOP')
ftp.quit()
";
    let mut python = stranger("python3");
    python.args(["-c", SCRIPT, &scene.certificate(), &scene.server.address.port().to_string()]);
    run(python.arg(SIZES[6].file())).succeeded();
}

/// A data connection that was arranged under one protection is not used under another: neither is a
/// file sent in the clear, nor does the server fail.
fn protection_changes(scene: &Scene<'_>) {
    const SCRIPT: &str = "
import ftplib, ssl, socket, sys
certificate, port, name = sys.argv[1:]
context = ssl.create_default_context(cafile=certificate)
for first, second in [('P', 'C'), ('C', 'P')]:
    ftp = ftplib.FTP_TLS(context=context)
    ftp.connect('localhost', int(port))
    ftp.login()
    ftp.voidcmd('TYPE I')
    ftp.voidcmd('PBSZ 0')
    ftp.voidcmd('PROT ' + first)
    data = socket.create_connection(ftp.makepasv())
    if first == 'P':
        data = context.wrap_socket(data, server_hostname='localhost')
    ftp.voidcmd('PROT ' + second)
    try:
        ftp.sendcmd('RETR ' + name)
        raise SystemExit('it was sent')
    except ftplib.Error as refused:
        assert str(refused).startswith(('425', '521', '522')), refused
    ftp.voidcmd('NOOP')
    ftp.quit()
";
    let mut python = stranger("python3");
    python.args(["-c", SCRIPT, &scene.certificate(), &scene.server.address.port().to_string()]);
    run(python.arg(SIZES[6].file())).succeeded();
}
