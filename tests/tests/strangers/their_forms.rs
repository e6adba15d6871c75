//! Files in other forms than plain ones, between our server and clients that nobody here wrote:
//! lines in TYPE A, compressed in MODE Z, in blocks.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use stackwright_programs::content::assert_same;
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{stranger, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("curl/lines".into(), &["curl"], false, curl_lines),
        trial("lftp/lines".into(), &["lftp"], false, lftp_lines),
        trial("lftp/compressed".into(), &["lftp"], false, lftp_compressed),
        trial("ftplib/forms".into(), &["python3"], false, ftplib_forms),
    ]
}

const TEXT: &[u8] = b"one\ntwo\n\nfour";

/// A folder with a text and numbers, as text that is long.
fn served() -> (Scratch, Server) {
    let folder = Scratch::new();
    fs::write(folder.join("text"), TEXT).expect("room for a file");
    let numbers: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    fs::write(folder.join("numbers"), numbers).expect("room for a file");
    fs::write(folder.join("nothing"), "").expect("room for a file");
    let server = ours(folder.path(), false, &["--writable", "--no-sync"]);
    (folder, server)
}

fn same(one: &Path, other: &Path) {
    let read = |path: &Path| fs::read(path).expect("a file that arrived");
    assert_same(&read(one), &read(other));
}

/// curl makes the lines of this system of those that arrive, and the other way round.
fn curl_lines() {
    let (folder, server) = served();
    let near = Scratch::new();
    let curl = || {
        let mut command = stranger("curl");
        command.args(["--silent", "--show-error"]);
        command
    };
    for name in ["text", "numbers", "nothing"] {
        let url = server.url(&format!("{name};type=a"));
        run(curl().arg("--output").arg(near.join(name)).arg(url)).succeeded();
        assert_same(
            &fs::read(near.join(name)).unwrap_or_default(),
            &fs::read(folder.join(name)).expect("it is served"),
        );
        let url = server.url(&format!("new {name};type=a")).replace(' ', "%20");
        run(curl().arg("--upload-file").arg(folder.join(name)).arg(url)).succeeded();
        same(&folder.join(&format!("new {name}")), &folder.join(name));
    }
}

fn lftp(server: &Server, script: &str) -> Outcome {
    let mut command: Command = stranger("lftp");
    let port = server.address.port();
    let begin = "set net:max-retries 2; set net:timeout 20; set cmd:fail-exit yes";
    command.args(["--norc", "-c"]);
    command.arg(format!("{begin}; open -u ftp,x -p {port} 127.0.0.1; {script}"));
    run(&mut command).succeeded()
}

/// lftp counts on TYPE A as what a session begins with.
fn lftp_lines() {
    let (folder, server) = served();
    let near = Scratch::new();
    for name in ["text", "numbers", "nothing"] {
        let (here, there) = (near.join(name), folder.join(name));
        let (to, from) = (here.display(), there.display());
        lftp(&server, &format!("get -a {name} -o {to}; put -a {from} -o new.{name}"));
        same(&here, &there);
        same(&folder.join(&format!("new.{name}")), &there);
    }
}

fn lftp_compressed() {
    let (folder, server) = served();
    let near = Scratch::new();
    for name in ["text", "numbers", "nothing"] {
        let (here, there) = (near.join(name), folder.join(name));
        let (to, from) = (here.display(), there.display());
        let settings = "set ftp:use-mode-z yes; set ftp:mode-z-level 9";
        let listed =
            lftp(&server, &format!("{settings}; get {name} -o {to}; put {from} -o new.{name}; ls"));
        same(&here, &there);
        same(&folder.join(&format!("new.{name}")), &there);
        assert!(listed.text().contains(&format!("new.{name}")), "{}", listed.text());
    }
}

fn ftplib_forms() {
    let (folder, server) = served();
    let mut command = stranger("python3");
    command.arg("-c").arg(FORMS).arg(server.address.port().to_string());
    run(&mut command).succeeded();
    assert_same(&fs::read(folder.join("lines")).expect("it was stored"), b"x\ny\nz\n");
    assert_same(&fs::read(folder.join("expanded")).expect("it was stored"), &[b'q'; 1000]);
    assert!(!folder.join("bomb").exists() && !folder.join("garbage").exists());
}

/// ftplib has lines; what goes through its data connections in other modes is the script's.
const FORMS: &str = r#"
import ftplib, io, sys, zlib
def login():
    ftp = ftplib.FTP()
    ftp.connect("127.0.0.1", int(sys.argv[1]), timeout=30)
    ftp.login()
    return ftp
ftp = login()
lines = []
ftp.retrlines("RETR text", lines.append)
assert lines == ["one", "two", "", "four"], lines
ftp.storlines("STOR lines", io.BytesIO(b"x\ny\r\nz"))

ftp.voidcmd("MODE Z")
got = io.BytesIO()
ftp.retrbinary("RETR numbers", got.write)
assert len(got.getvalue()) < 800000
assert zlib.decompress(got.getvalue()) == b"".join(b"%d\n" % n for n in range(200000))
ftp.storbinary("STOR expanded", io.BytesIO(zlib.compress(b"q" * 1000)))
try:
    ftp.storbinary("STOR bomb", io.BytesIO(zlib.compress(bytes(200 << 20), 9)))
    raise AssertionError("a bomb was stored")
except (ftplib.error_temp, OSError):
    pass

ftp = login()
ftp.voidcmd("TYPE I")
ftp.voidcmd("MODE B")
data = ftp.transfercmd("RETR text")
block = b"\0\0\x0D" + b"one\ntwo\n\nfour" + b"\x40\0\0"
def read(count):
    got = b""
    while len(got) < count:
        piece = data.recv(count - len(got))
        assert piece, got
        got += piece
    return got
for _ in range(3):
    assert read(len(block)) == block
    assert ftp.voidresp().startswith("250")
    assert ftp.sendcmd("RETR text").startswith("125")
assert read(len(block)) == block
assert ftp.voidresp().startswith("250")
assert ftp.sendcmd("STOR garbage").startswith("125")
data.sendall(b"GET / HTTP/1.1\r\n\r\n")
assert ftp.getmultiline().startswith("451")
"#;
