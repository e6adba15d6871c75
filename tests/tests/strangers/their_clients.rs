//! curl, ncftp and Python's ftplib against our server.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, Sized, assert_same};
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{loopback, ours};

use crate::setting::{Setting, family, ignorable, mode, stranger, trial};
use crate::their_servers::compare_and_remove;

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add =
        |name: String, program: &'static str, six: bool, run: Box<dyn FnOnce(&Setting) + Send>| {
            let with = setting.clone();
            trials.push(trial(name, &[program], six, move || run(&with)));
        };
    for size in SIZES {
        for (how, options) in CURL {
            for six in [false, true] {
                // Only the small and the middle ones in every way: the largest tell nothing new.
                if size.octets > 1_000_000 && (six || how == "no-epsv") {
                    continue;
                }
                let of = format!("{how}/{}/{}", family(six), size.name);
                let get = Box::new(move |with: &Setting| curl_get(with, options, six, size));
                add(format!("curl/get/{of}"), "curl", six, get);
                let put = Box::new(move |with: &Setting| curl_put(with, options, how, six, size));
                add(format!("curl/put/{of}"), "curl", six, put);
            }
        }
        for active in [false, true] {
            let of = format!("{}/ipv4/{}", mode(active), size.name);
            let get = Box::new(move |with: &Setting| ncftp_get(with, active, size));
            add(format!("ncftp/get/{of}"), "ncftpget", false, get);
            let put = Box::new(move |with: &Setting| ncftp_put(with, active, size));
            add(format!("ncftp/put/{of}"), "ncftpput", false, put);
        }
    }
    for six in [false, true] {
        add(
            format!("curl/list/{}", family(six)),
            "curl",
            six,
            Box::new(move |with| curl_list(with, six)),
        );
        add(
            format!("curl/resume/{}", family(six)),
            "curl",
            six,
            Box::new(move |with| curl_resume(with, six)),
        );
        for active in [false, true] {
            let name = format!("ftplib/transfers/{}/{}", mode(active), family(six));
            let transfers =
                move |with: &Setting| drop(ftplib(with, TRANSFERS, active, six).succeeded());
            add(name, "python3", six, Box::new(transfers));
        }
    }
    add("curl/password".into(), "curl", false, Box::new(|_| curl_password()));
    add("curl/read-only".into(), "curl", false, Box::new(curl_read_only));
    let with = setting.clone();
    trials.push(ignorable("ftplib/changes".into(), &["python3"], false, move || {
        let outcome = ftplib(&with, CHANGES, false, false);
        if outcome.status.code() == Some(77) {
            return Some("the server has no MKD".into());
        }
        outcome.succeeded();
        None
    }));
    trials
}

const CURL: [(&str, &[&str]); 3] =
    [("passive", &[]), ("no-epsv", &["--disable-epsv"]), ("active", &["--ftp-port", "-"])];

fn curl(options: &[&str]) -> Command {
    let mut command = stranger("curl");
    command.args(["--silent", "--show-error", "--globoff"]).args(options);
    command
}

fn curl_get(setting: &Setting, options: &[&str], six: bool, size: Sized) {
    let url = setting.ours(six).url(&size.file());
    let scratch = Scratch::new();
    run(curl(options).arg("--output").arg(scratch.join("arrived")).arg(url)).succeeded();
    // curl makes no file for nothing.
    assert_same(&fs::read(scratch.join("arrived")).unwrap_or_default(), setting.content(size));
}

fn curl_put(setting: &Setting, options: &[&str], how: &str, six: bool, size: Sized) {
    let name = format!("curl-{how}-{}-{}", family(six), size.file());
    let url = setting.ours(six).url(&name);
    run(curl(options).arg("--upload-file").arg(setting.folder().join(&size.file())).arg(url))
        .succeeded();
    compare_and_remove(&setting.folder().join(&name), setting.content(size));
}

fn curl_list(setting: &Setting, six: bool) {
    let url = setting.ours(six).url("");
    for options in [&[][..], &["--list-only"], &["--ftp-port", "-"]] {
        let listed = run(curl(options).arg(&url)).succeeded().text();
        for size in SIZES {
            assert!(listed.contains(&size.file()), "{} is not in {listed}", size.file());
        }
    }
    // A long listing tells sizes, in the place where everybody looks for them.
    let listed = run(curl(&[]).arg(&url)).succeeded().text();
    let line =
        listed.lines().find(|line| line.ends_with(" 10kB.bin")).expect("the file of 10 000 octets");
    assert!(line.split_whitespace().any(|word| word == "10000"), "{line}");
}

fn curl_resume(setting: &Setting, six: bool) {
    let size = SIZES[6];
    let url = setting.ours(six).url(&size.file());
    let scratch = Scratch::new();
    let (arrived, content) = (scratch.join("arrived"), setting.content(size));
    fs::write(&arrived, &content[..123_457]).expect("a folder of ours");
    run(curl(&["--continue-at", "-", "--output"]).arg(&arrived).arg(url)).succeeded();
    assert_same(&fs::read(&arrived).expect("the file"), content);
}

fn curl_password() {
    let (served, secrets) = (Scratch::new(), Scratch::new());
    fs::write(served.join("file"), "content").expect("a folder of ours");
    let password = secrets.join("password");
    fs::write(&password, "correct horse\n").expect("a folder of ours");
    let server = ours(
        served.path(),
        false,
        &["--user", "ada", "--password-file", &password.display().to_string()],
    );
    let url = server.url("file");
    assert_same(
        &run(&mut curl(&["--user", "ada:correct horse", &url])).succeeded().output,
        b"content",
    );
    for wrong in ["ada:wrong", "ada:", "bob:correct horse", "anonymous:guest@example.org"] {
        // 67: the server denied the login.
        let outcome = run(&mut curl(&["--user", wrong, &url])).exited(67);
        assert!(outcome.output.is_empty(), "{wrong} got something");
    }
}

fn curl_read_only(setting: &Setting) {
    let served = Scratch::new();
    let server = ours(served.path(), false, &[]);
    let outcome =
        run(curl(&["--upload-file"]).arg(setting.folder().join("1kB.bin")).arg(server.url("new")));
    assert!(!outcome.status.success(), "a folder that is not writable was written");
    assert!(served.names().is_empty(), "{:?} is left", served.names());
}

fn ncftp(program: &str, setting: &Setting, active: bool) -> Command {
    let mut command = stranger(program);
    // Version, progress and retries are of no interest; -F and -E say who connects.
    command.args(["-V", "-t", "30", "-r", "1", if active { "-E" } else { "-F" }]);
    let port = setting.ours(false).address.port();
    command.args(["-P", &port.to_string()]);
    command
}

fn ncftp_get(setting: &Setting, active: bool, size: Sized) {
    let scratch = Scratch::new();
    let mut command = ncftp("ncftpget", setting, active);
    command.arg(loopback(false).to_string()).arg(scratch.path()).arg(format!("/{}", size.file()));
    run(&mut command).succeeded();
    assert_same(&fs::read(scratch.join(&size.file())).expect("the file"), setting.content(size));
}

fn ncftp_put(setting: &Setting, active: bool, size: Sized) {
    let scratch = Scratch::new();
    let name = format!("ncftp-{}-{}", mode(active), size.file());
    fs::hard_link(setting.folder().join(&size.file()), scratch.join(&name))
        .expect("one file system");
    let mut command = ncftp("ncftpput", setting, active);
    command.arg(loopback(false).to_string()).arg("/").arg(scratch.join(&name));
    run(&mut command).succeeded();
    compare_and_remove(&setting.folder().join(&name), setting.content(size));
}

fn ftplib(setting: &Setting, script: &str, active: bool, six: bool) -> Outcome {
    let server = setting.ours(six);
    let mut command = stranger("python3");
    command.arg("-c").arg([FTPLIB, script].concat());
    command.args([server.address.ip().to_string(), server.address.port().to_string()]);
    command.arg(mode(active)).arg(format!("python-{}-{}", mode(active), family(six)));
    run(&mut command)
}

/// What both scripts begin with. With IPv6 ftplib speaks EPSV and EPRT by itself.
const FTPLIB: &str = r#"
import ftplib, io, sys
host, port, mode, name = sys.argv[1:]
ftp = ftplib.FTP()
ftp.connect(host, int(port), timeout=30)
assert ftp.getwelcome().startswith("220")
ftp.login()
ftp.set_pasv(mode == "passive")

def fetch(path, **options):
    got = io.BytesIO()
    ftp.retrbinary("RETR " + path, got.write, **options)
    return got.getvalue()

def store(path, sent):
    ftp.storbinary("STOR " + path, io.BytesIO(sent))
"#;

/// Reading, storing, listing, aborting.
const TRANSFERS: &str = r#"
assert ftp.pwd() == "/", ftp.pwd()
ftp.voidcmd("TYPE I")
assert ftp.size("10kB.bin") == 10000
content = fetch("10kB.bin")
assert len(content) == 10000
assert fetch("/10kB.bin", rest=1234) == content[1234:]
assert fetch("10kB.bin") == content, "REST is for one transfer only"

ftp.cwd("in")
assert ftp.pwd() == "/in", ftp.pwd()
for length in 0, 1, 100, 1000, 10000, 100000, 1000000:
    sent = bytes(i * 7 % 256 for i in range(length))
    store(name + " " + mode, sent)
    assert fetch(name + " " + mode) == sent, length
    assert ftp.size(name + " " + mode) == length
assert name + " " + mode in ftp.nlst()
ftp.cwd("..")
assert ftp.pwd() == "/", ftp.pwd()
assert "10kB.bin" in ftp.nlst()
lines = []
ftp.dir(lines.append)
line = [line for line in lines if line.endswith(" 10kB.bin")]
assert len(line) == 1 and line[0].startswith("-") and " 10000 " in line[0], lines

# An abort in the middle of a long transfer; the association goes on.
ftp.voidcmd("TYPE I")
data = ftp.transfercmd("RETR /100MB.bin")
assert data.recv(1000)
code = ftp.abort()[:3]
data.close()
assert code in ("225", "226", "426"), code
if code == "426":
    assert ftp.getmultiline().startswith("226")
assert ftp.voidcmd("NOOP").startswith("200")
assert fetch("/10kB.bin") == content

def refused(command):
    try:
        ftp.voidcmd(command)
    except ftplib.error_perm as error:
        return str(error)[:1] == "5"

assert refused("SIZE nothing") and refused("CWD nothing") and refused("XYZZY")
assert ftp.quit().startswith("221")
"#;

/// Folders, names, appending, lines, facts. A server that has no such commands yet says so, and the
/// script ends with 77.
const CHANGES: &str = r#"
try:
    ftp.mkd(name)
except ftplib.error_perm as error:
    if str(error).startswith("502"):
        sys.exit(77)
    raise
ftp.cwd(name)
ftp.storbinary("APPE log", io.BytesIO(b"one "))
ftp.storbinary("APPE log", io.BytesIO(b"two"))
assert fetch("log") == b"one two"
facts = dict(ftp.mlsd(facts=["type", "size"]))
assert facts["log"]["type"] == "file" and facts["log"]["size"] == "7", facts
ftp.rename("log", "diary")
assert ftp.voidcmd("MDTM diary").startswith("213 2")
ftp.delete("diary")
assert ftp.nlst() == [], ftp.nlst()

# Lines: CRLF on the wire, whatever the file has.
ftp.storlines("STOR lines", io.BytesIO(b"first\nsecond\n"))
lines = []
ftp.retrlines("RETR lines", lines.append)
assert lines == ["first", "second"], lines
ftp.delete("lines")
ftp.cwd("..")
ftp.rmd(name)
assert name not in ftp.nlst()
assert ftp.quit().startswith("221")
"#;
