//! Clients that nobody here wrote, over TLS, with our server.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, assert_same};
use stackwright_programs::processes::run;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{Setting, stranger, trial};

/// Clients that do not encrypt are refused.
const REQUIRED: &str = "--tls=required";

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let of = |name: &str, program: &'static str, tls: &'static str, moves: fn(&Scene)| {
        let with = setting.clone();
        trial(format!("tls/{name}"), &["openssl", program], false, move || {
            moves(&Scene::new(&with, tls));
        })
    };
    vec![
        of("curl", "curl", REQUIRED, curl),
        of("lftp", "lftp", REQUIRED, lftp),
        of("ftplib", "python3", REQUIRED, ftplib),
        of("protection-changes", "python3", "--tls=offered", protection_changes),
    ]
}

/// A server with a certificate for `localhost`.
struct Scene<'a> {
    setting: &'a Setting,
    scratch: Scratch,
    server: Server,
}

impl<'a> Scene<'a> {
    fn new(setting: &'a Setting, tls: &str) -> Self {
        let scratch = Scratch::new();
        let [certificate, key] = ["certificate", "key"].map(|name| scratch.join(name));
        let mut openssl = stranger("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        openssl.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        openssl.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
        run(openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate)).succeeded();
        let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
        let options = [tls, "--certificate", &certificate, "--key", &key];
        let options = [&options[..], &["--writable", "--no-sync"]].concat();
        let server = ours(setting.folder().path(), false, &options);
        Scene { setting, scratch, server }
    }

    fn certificate(&self) -> String {
        self.scratch.join("certificate").display().to_string()
    }

    /// Compares what a client fetched, and stored, with the file of 1 MB.
    fn compare(&self, arrived: &str, stored: &str) {
        let content = self.setting.content(SIZES[6]);
        for file in [self.scratch.join(arrived), self.setting.folder().join(stored)] {
            assert_same(&fs::read(&file).expect("the file"), content);
        }
    }
}

fn curl(scene: &Scene<'_>) {
    let size = SIZES[6].file();
    let encrypts = |command: &mut Command| {
        command.args(["-sS", "--ssl-reqd", "--cacert", &scene.certificate()]);
    };
    let mut get = stranger("curl");
    encrypts(&mut get);
    get.arg("-o").arg(scene.scratch.join("arrived")).arg(scene.server.url(&size));
    run(&mut get).succeeded();
    let mut put = stranger("curl");
    encrypts(&mut put);
    put.arg("-T").arg(scene.setting.folder().join(&size)).arg(scene.server.url("in/tls-curl"));
    run(&mut put).succeeded();
    scene.compare("arrived", "in/tls-curl");
    // Who does not know the certificate, or does not encrypt, gets nothing.
    let mut stranger_to_it = stranger("curl");
    stranger_to_it.args(["-sS", "--ssl-reqd"]).arg(scene.server.url(&size));
    run(&mut stranger_to_it).exited(60);
    let mut plain = stranger("curl");
    plain.arg("-sS").arg(scene.server.url(&size));
    run(&mut plain).exited(67);
}

fn lftp(scene: &Scene<'_>) {
    let size = SIZES[6].file();
    let script = format!(
        "set ssl:ca-file {}; set ftp:ssl-allow-anonymous yes; set ftp:ssl-force yes; \
         set ftp:ssl-protect-data yes; open {}; \
         get {size} -o {}; put {} -o in/tls-lftp; bye",
        scene.certificate(),
        scene.server.url(""),
        scene.scratch.join("arrived").display(),
        scene.setting.folder().join(&size).display(),
    );
    run(stranger("lftp").args(["-e", &script])).succeeded();
    scene.compare("arrived", "in/tls-lftp");
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
