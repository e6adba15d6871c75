//! Cases that users of other programs reported, with real processes and the programs that they
//! were reported of. `protocols/ftp/README.md` names the tests of all of them.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright_programs::content::octets;
use stackwright_programs::control::Control;
use stackwright_programs::processes::{Running, eventually, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{may_mount, ours, proftpd, pure_ftpd};

use crate::scripted::{Scripted, Turn};
use crate::setting::{ignorable, our_client, stranger, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        ignorable("reported/growing-file/pure-ftpd".into(), &["pure-ftpd"], false, || {
            if !may_mount() {
                return Some("pure-ftpd serves one folder only; this needs to mount".into());
            }
            let served = Scratch::new();
            growing_file(&served, || pure_ftpd(served.path(), false));
            None
        }),
        trial("reported/growing-file/proftpd".into(), &["proftpd"], false, || {
            let served = Scratch::new();
            growing_file(&served, || proftpd(served.path()));
        }),
        trial("reported/growing-file/ours".into(), &[], false, || {
            let served = Scratch::new();
            growing_file(&served, || ours(served.path(), false, &[]));
        }),
        trial("reported/link-to-itself/wget".into(), &["wget"], false, || {
            let mut command = stranger("wget");
            command.args(["--quiet", "--recursive", "--level=inf", "--no-host-directories"]);
            link_to_itself(|url, near| {
                run(command.arg("--directory-prefix").arg(near.path()).arg(url))
            });
        }),
        trial("reported/link-to-itself/lftp".into(), &["lftp"], false, || {
            let mut command = stranger("lftp");
            link_to_itself(|url, near| {
                let script = format!("open {url}; mirror . {}; bye", near.path().display());
                run(command.args(["--norc", "-c", &script]))
            });
        }),
        trial("reported/keepalive/server".into(), &[], false, keepalive_of_the_server),
        trial("reported/keepalive/client".into(), &[], false, keepalive_of_the_client),
    ]
}

/// A log that is written while it is fetched: what is there at the end of it is whole
/// (https://github.com/binaricat/Netcatty/pull/2670).
fn growing_file<S>(served: &Scratch, start: impl FnOnce() -> S)
where
    S: std::borrow::Borrow<stackwright_programs::servers::Server>,
{
    let path = served.join("log");
    fs::write(&path, octets(1, 20_000_000)).expect("room for the file");
    let server = start();
    let ended = Arc::new(AtomicBool::new(false));
    let grows = {
        let (ended, mut log) =
            (ended.clone(), File::options().append(true).open(&path).expect("the file"));
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                log.write_all(&[b'x'; 10_000]).expect("room for more");
                thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let near = Scratch::new();
    for nth in 0..3 {
        let fetched = near.join(&format!("{nth}"));
        run(our_client("get").arg(server.borrow().url("log")).arg(&fetched)).succeeded();
        let fetched = fs::read(fetched).expect("the file");
        let whole = fs::read(&path).expect("the file");
        assert!(fetched.len() >= 20_000_000 && whole.starts_with(&fetched), "it is its beginning");
    }
    ended.store(true, Ordering::Relaxed);
    grows.join().expect("it grew");
}

/// A recursive client that follows what is listed as a folder does not follow a link to the folder
/// itself for ever (https://github.com/bolcom/libunftp/pull/507); and what cannot be fetched, such
/// as a named pipe, is not listed.
fn link_to_itself(copy: impl FnOnce(&str, &Scratch) -> stackwright_programs::processes::Outcome) {
    let (served, near) = (Scratch::new(), Scratch::new());
    fs::write(served.join("file"), "content").expect("a folder of ours");
    symlink(".", served.join("self")).expect("a folder of ours");
    symlink("no where", served.join("dead")).expect("a folder of ours");
    symlink("/etc", served.join("out")).expect("a folder of ours");
    run(Command::new("mkfifo").arg(served.join("pipe"))).succeeded();
    let server = ours(served.path(), false, &[]);
    let _ = copy(&server.url(""), &near);
    assert_eq!(fs::read(near.join("file")).expect("it was fetched"), b"content");
    for link in ["self", "out", "dead"] {
        // They may make a link of a link.
        let made = fs::symlink_metadata(near.join(link));
        assert!(!made.is_ok_and(|made| made.is_dir()), "{link} was taken for a folder");
    }
    assert!(fs::symlink_metadata(near.join("pipe")).is_err());
}

/// Whether the socket at `local` that is connected to `remote` has its keepalive timer armed, as
/// the kernel tells it: `tr` is 02 (proc_net_tcp).
fn is_kept_alive(local: u16, remote: u16) -> bool {
    let sockets = fs::read_to_string("/proc/net/tcp").expect("Linux");
    sockets.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, here, there, _, _, timer, ..] = words[..] else { return false };
        here.ends_with(&format!(":{local:04X}"))
            && there.ends_with(&format!(":{remote:04X}"))
            && timer.starts_with("02:")
    })
}

/// A control connection is idle while a long transfer runs, and a firewall may forget it
/// (https://github.com/lavv17/lftp/issues/423).
fn keepalive_of_the_server() {
    let served = Scratch::new();
    let server = ours(served.path(), false, &[]);
    let control = Control::guest(server.address).expect("a login");
    let remote = control.stream().local_addr().expect("a connected socket").port();
    let within = Duration::from_secs(5);
    assert!(eventually(within, || is_kept_alive(server.address.port(), remote)));
}

fn keepalive_of_the_client() {
    let held = Scripted::start(vec![0; 10], |session, verb, _| {
        if verb != "RETR" {
            return Ok(Turn::Usual);
        }
        session.opening()?;
        thread::sleep(Duration::from_secs(6));
        Ok(Turn::Leave)
    });
    let near = Scratch::new();
    let mut command = our_client("get");
    command.arg(held.url("it")).arg(near.join("it")).args(["--retries", "0"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let running = Running::start(&mut command);
    let port = held.address.port();
    let is_kept_alive = || {
        let sockets = fs::read_to_string("/proc/net/tcp").expect("Linux");
        let clients = sockets.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (here, there) = (words.next()?, words.next()?);
            there.ends_with(&format!(":{port:04X}")).then(|| here.rsplit_once(':'))?
        });
        let ports: Vec<u16> =
            clients.filter_map(|(_, port)| u16::from_str_radix(port, 16).ok()).collect();
        ports.into_iter().any(|local| is_kept_alive(local, port))
    };
    assert!(eventually(Duration::from_secs(5), is_kept_alive));
    drop(running);
}
