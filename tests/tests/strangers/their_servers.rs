//! Our client against vsftpd and pure-ftpd.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::{SIZES, Sized, assert_same};
use stackwright_programs::processes::run;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::may_mount;

use crate::setting::{Setting, family, mode, our_client, stranger, trial};

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for six in [false, true] {
        for active in [false, true] {
            let how = format!("{}/{}", mode(active), family(six));
            for size in SIZES {
                let with = setting.clone();
                trials.push(trial(
                    format!("vsftpd/get/{how}/{}", size.name),
                    &["vsftpd"],
                    six,
                    move || {
                        get(&with, &with.vsftpd(six).url(&size.file()), active, size);
                    },
                ));
                let with = setting.clone();
                trials.push(trial(
                    format!("vsftpd/put/{how}/{}", size.name),
                    &["vsftpd"],
                    six,
                    move || {
                        put(&with, six, active, size);
                    },
                ));
            }
            // A machine that does not let us mount is no machine that lacks a stranger.
            if may_mount() {
                let size = SIZES[6];
                let with = setting.clone();
                trials.push(trial(
                    format!("pure-ftpd/get/{how}/{}", size.name),
                    &["pure-ftpd"],
                    six,
                    move || {
                        get(&with, &with.pure_ftpd(six).url(&size.file()), active, size);
                    },
                ));
            }
        }
        let with = setting.clone();
        trials.push(trial(format!("vsftpd/ls/{}", family(six)), &["vsftpd"], six, move || {
            list(&with, six)
        }));
        let with = setting.clone();
        trials.push(trial(
            format!("vsftpd/get/{}/absent", family(six)),
            &["vsftpd"],
            six,
            move || absent(&with, six),
        ));
    }
    let with = setting.clone();
    trials.push(trial(
        "valgrind/get/passive/ipv4/1MB".into(),
        &["valgrind", "vsftpd"],
        false,
        move || checked(&with),
    ));
    trials
}

fn get(setting: &Setting, url: &str, active: bool, size: Sized) {
    let scratch = Scratch::new();
    let arrived = scratch.join("arrived");
    let outcome = run(our_client("get")
        .arg(url)
        .arg(&arrived)
        .args(active.then_some("--active"))
        .arg("--json"));
    assert_done(&outcome.succeeded().text(), size);
    assert_same(&fs::read(&arrived).expect("the file"), setting.content(size));
    assert_eq!(scratch.names(), ["arrived"], "nothing else is left");
}

fn put(setting: &Setting, six: bool, active: bool, size: Sized) {
    let name = format!("in/put-{}-{}-{}", mode(active), family(six), size.file());
    let url = setting.vsftpd(six).url(&name);
    let source = setting.folder().join(&size.file());
    let outcome = run(our_client("put")
        .arg(source)
        .arg(url)
        .args(active.then_some("--active"))
        .arg("--json"));
    assert_done(&outcome.succeeded().text(), size);
    compare_and_remove(&setting.folder().join(&name), setting.content(size));
}

fn list(setting: &Setting, six: bool) {
    let listed =
        run(our_client("ls").arg(setting.vsftpd(six).url("")).arg("--json")).succeeded().text();
    for size in SIZES {
        assert!(listed.contains(&size.file()), "{} is not in {listed}", size.file());
    }
}

fn absent(setting: &Setting, six: bool) {
    let scratch = Scratch::new();
    let outcome = run(our_client("get")
        .arg(setting.vsftpd(six).url("no such file"))
        .arg(scratch.join("arrived"))
        .arg("--json"));
    assert!(outcome.exited(1).text().contains("\"failed\""), "the last line says so");
    assert!(scratch.names().is_empty(), "{:?} is left", scratch.names());
}

/// The client under a checker of memory, which also knows system calls that read what was never
/// written.
fn checked(setting: &Setting) {
    let scratch = Scratch::new();
    let size = SIZES[6];
    let arrived = scratch.join("arrived");
    let mut command: Command = stranger("valgrind");
    // Optimised code looks at an enum's data before, or beside, the variant that has them, and then
    // does not use what it saw: no error, but valgrind cannot know. What it can know is where
    // memory is read that is not ours.
    command.args(["--quiet", "--error-exitcode=99", "--undef-value-errors=no"]);
    command.arg(our_client("get").get_program()).arg("get");
    run(command.arg(setting.vsftpd(false).url(&size.file())).arg(&arrived)).succeeded();
    assert_same(&fs::read(&arrived).expect("the file"), setting.content(size));
}

/// The last line of a transfer tells how much was moved.
fn assert_done(text: &str, size: Sized) {
    let last = text.lines().last().unwrap_or_default();
    let line: serde_json::Value =
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last:?}"));
    assert_eq!(line["event"], "done", "{last}");
    assert_eq!(line["octets"], size.octets, "{last}");
    assert!(line["seconds"].is_number(), "{last}");
}

pub(crate) fn compare_and_remove(file: &Path, content: &[u8]) {
    assert_same(&fs::read(file).expect("the file"), content);
    let _ = fs::remove_file(file);
}
