//! Folders with all below them, parts of files, and several files at once, between our server and
//! lftp, curl, wget, ncftp and Python's ftplib.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{stranger, trial};

type Move = fn(&Scene);

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, &'static str, Move); 16] = [
        ("lftp/mirror", "lftp", lftp_mirror),
        ("lftp/mirror-reverse", "lftp", lftp_mirror_reverse),
        ("lftp/mirror-again", "lftp", lftp_mirror_again),
        ("lftp/pget", "lftp", lftp_pget),
        ("lftp/resume-get", "lftp", lftp_resume_get),
        ("lftp/resume-put", "lftp", lftp_resume_put),
        ("lftp/names", "lftp", lftp_names),
        ("curl/resume-upload", "curl", curl_resume_upload),
        ("curl/append", "curl", curl_append),
        ("curl/mlsd", "curl", curl_mlsd),
        ("curl/parallel", "curl", curl_parallel),
        ("curl/folders-made", "curl", curl_folders_made),
        ("wget/recursive", "wget", wget_recursive),
        ("ncftp/tree", "ncftpput", ncftp_tree),
        ("ncftp/resume", "ncftpget", ncftp_resume),
        ("ftplib/tree", "python3", ftplib_tree),
    ];
    all.map(|(name, program, moves)| {
        trial(name.into(), &[program], false, move || moves(&Scene::new()))
    })
    .into()
}

/// The files of a tree, odd names among them.
const FILES: [(&str, usize); 7] = [
    ("empty", 0),
    ("one", 1),
    ("a folder/in it", 1000),
    ("a folder/deeper/file", 100_000),
    ("a folder/deeper/ünï", 10),
    ("b/large", 3_000_000),
    ("[b]/#1", 20),
];

/// A server of ours with a tree in its folder `tree`, and a place near.
struct Scene {
    server: Server,
    served: Scratch,
    near: Scratch,
}

impl Scene {
    fn new() -> Self {
        let served = Scratch::new();
        plant(&served.join("tree"));
        let server = ours(served.path(), false, &["--writable", "--no-sync"]);
        Scene { server, served, near: Scratch::new() }
    }

    fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// A file of three megabytes on the server.
    fn large(&self) -> Vec<u8> {
        fs::read(self.served.join("tree/b/large")).expect("it was planted")
    }

    fn lftp(&self, script: &str) -> Outcome {
        let mut command = stranger("lftp");
        let begin = "set net:max-retries 2; set net:timeout 20; set cmd:fail-exit yes; \
                     set net:connection-limit 8";
        let port = self.server.address.port();
        let near = self.near.path().display();
        command.args(["--norc", "-c"]);
        command
            .arg(format!("{begin}; open -u ftp,x -p {port} 127.0.0.1; lcd {near}; {script}; bye"));
        run(&mut command).succeeded()
    }
}

fn plant(root: &Path) {
    for (nth, (name, size)) in FILES.iter().enumerate() {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("room");
        fs::write(path, octets(nth as u64, *size)).expect("room");
    }
    fs::create_dir(root.join("nothing in it")).expect("room");
}

/// Insists that a tree is the one that was planted.
#[track_caller]
fn assert_planted(root: &Path) {
    for (nth, (name, size)) in FILES.iter().enumerate() {
        let found = fs::read(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_same(&found, &octets(nth as u64, *size));
    }
}

fn lftp_mirror(scene: &Scene) {
    scene.lftp("mirror --parallel=3 tree copy");
    assert_planted(&scene.near.join("copy"));
    assert!(scene.near.join("copy/nothing in it").is_dir());
}

fn lftp_mirror_reverse(scene: &Scene) {
    plant(&scene.near.join("mine"));
    scene.lftp("mirror --reverse --parallel=3 mine theirs");
    assert_planted(&scene.served.join("theirs"));
    assert!(scene.served.join("theirs/nothing in it").is_dir());
    // What is gone here goes there.
    fs::remove_file(scene.near.join("mine/one")).expect("it is ours");
    fs::remove_dir_all(scene.near.join("mine/b")).expect("it is ours");
    scene.lftp("mirror --reverse --delete mine theirs");
    assert!(!scene.served.join("theirs/one").exists() && !scene.served.join("theirs/b").exists());
}

/// Sizes and times are told so that nothing is fetched twice.
fn lftp_mirror_again(scene: &Scene) {
    scene.lftp("mirror tree copy");
    fs::write(scene.served.join("tree/one"), "another").expect("it is ours");
    let told = scene.lftp("mirror --verbose=1 tree copy").text();
    assert!(told.contains("one") && !told.contains("large"), "{told}");
    assert_same(&fs::read(scene.near.join("copy/one")).expect("the file"), b"another");
}

fn lftp_pget(scene: &Scene) {
    scene.lftp("set pget:min-chunk-size 100k; pget -n 4 tree/b/large -o large");
    assert_same(&fs::read(scene.near.join("large")).expect("the file"), &scene.large());
}

fn lftp_resume_get(scene: &Scene) {
    let large = scene.large();
    fs::write(scene.near.join("large"), &large[..1_234_567]).expect("room");
    scene.lftp("get -c tree/b/large -o large");
    assert_same(&fs::read(scene.near.join("large")).expect("the file"), &large);
}

fn lftp_resume_put(scene: &Scene) {
    let large = scene.large();
    fs::write(scene.near.join("large"), &large).expect("room");
    fs::write(scene.served.join("large"), &large[..1_234_567]).expect("room");
    scene.lftp("put -c large -o large");
    assert_same(&fs::read(scene.served.join("large")).expect("the file"), &large);
}

fn lftp_names(scene: &Scene) {
    scene.lftp(
        "mkdir -p 'x y/z'; mv tree/one 'x y/z/1 2'; chmod 600 'x y/z/1 2'; rm tree/empty; \
         rmdir 'tree/nothing in it'; rm -r tree/b",
    );
    let moved = scene.served.join("x y/z/1 2");
    assert_eq!(fs::metadata(&moved).expect("it was moved").len(), 1);
    for gone in ["tree/one", "tree/empty", "tree/nothing in it", "tree/b"] {
        assert!(!scene.served.join(gone).exists(), "{gone}");
    }
}

fn curl() -> Command {
    let mut command = stranger("curl");
    command.args(["--silent", "--show-error", "--globoff"]);
    command
}

fn curl_resume_upload(scene: &Scene) {
    let large = scene.large();
    fs::write(scene.near.join("large"), &large).expect("room");
    fs::write(scene.served.join("large"), &large[..1_234_567]).expect("room");
    let mut command = curl();
    command.args(["--continue-at", "-", "--upload-file"]).arg(scene.near.join("large"));
    run(command.arg(scene.url("large"))).succeeded();
    assert_same(&fs::read(scene.served.join("large")).expect("the file"), &large);
}

fn curl_append(scene: &Scene) {
    fs::write(scene.near.join("more"), "more").expect("room");
    for _ in 0..2 {
        let mut command = curl();
        command.args(["--append", "--upload-file"]).arg(scene.near.join("more"));
        run(command.arg(scene.url("log"))).succeeded();
    }
    assert_same(&fs::read(scene.served.join("log")).expect("the file"), b"moremore");
}

fn curl_mlsd(scene: &Scene) {
    let listed = run(curl().args(["--request", "MLSD"]).arg(scene.url("tree/"))).succeeded();
    let text = listed.text();
    let line = text.lines().find(|line| line.ends_with("; one")).expect("a line of each file");
    assert!(line.contains("type=file;") && line.contains("size=1;"), "{line}");
}

fn curl_parallel(scene: &Scene) {
    let mut command = curl();
    command.args(["--parallel", "--parallel-max", "5", "--remote-name-all"]);
    command.arg("--output-dir").arg(scene.near.path());
    for name in ["tree/one", "tree/b/large", "tree/a%20folder/deeper/file", "tree/%5Bb%5D/%231"] {
        command.arg(scene.url(name));
    }
    run(&mut command).succeeded();
    assert_same(&fs::read(scene.near.join("large")).expect("the file"), &scene.large());
    assert_eq!(scene.near.names().len(), 4);
}

fn curl_folders_made(scene: &Scene) {
    fs::write(scene.near.join("file"), "content").expect("room");
    for method in ["multicwd", "singlecwd", "nocwd"] {
        let mut command = curl();
        command.args(["--ftp-create-dirs", "--ftp-method", method, "--upload-file"]);
        let path = format!("made/by/{method}/file");
        if method == "nocwd" {
            fs::create_dir_all(scene.served.join("made/by/nocwd")).expect("room");
        }
        run(command.arg(scene.near.join("file")).arg(scene.url(&path))).succeeded();
        assert_same(&fs::read(scene.served.join(&path)).expect("the file"), b"content");
    }
}

fn wget_recursive(scene: &Scene) {
    let mut command = stranger("wget");
    command.args(["--quiet", "--recursive", "--level=inf", "--no-host-directories"]);
    command.arg("--no-parent").arg("--directory-prefix").arg(scene.near.path());
    run(command.arg(scene.url("tree/"))).succeeded();
    assert_planted(&scene.near.join("tree"));
}

fn ncftp(program: &str, scene: &Scene) -> Command {
    let mut command = stranger(program);
    command.args(["-V", "-t", "30", "-r", "1", "-P"]);
    command.arg(scene.server.address.port().to_string());
    command
}

fn ncftp_tree(scene: &Scene) {
    plant(&scene.near.join("mine"));
    let mut put = ncftp("ncftpput", scene);
    put.args(["-R", "-m", "127.0.0.1", "/made"]).arg(scene.near.join("mine"));
    run(&mut put).succeeded();
    assert_planted(&scene.served.join("made/mine"));
    let mut get = ncftp("ncftpget", scene);
    get.args(["-R", "127.0.0.1"]).arg(scene.near.path()).arg("/made/mine");
    fs::remove_dir_all(scene.near.join("mine")).expect("it is ours");
    run(&mut get).succeeded();
    assert_planted(&scene.near.join("mine"));
    let listed = run(stranger("ncftpls").args(["-1", &scene.url("tree/")])).succeeded().text();
    assert!(listed.lines().any(|line| line == "a folder"), "{listed}");
}

fn ncftp_resume(scene: &Scene) {
    let large = scene.large();
    fs::write(scene.near.join("large"), &large[..1_234_567]).expect("room");
    let mut get = ncftp("ncftpget", scene);
    get.args(["-z", "127.0.0.1"]).arg(scene.near.path()).arg("/tree/b/large");
    run(&mut get).succeeded();
    assert_same(&fs::read(scene.near.join("large")).expect("the file"), &large);
}

fn ftplib_tree(scene: &Scene) {
    const SCRIPT: &str = r#"
import ftplib, os, sys
port, near = sys.argv[1:]
ftp = ftplib.FTP(encoding="utf-8")
ftp.connect("127.0.0.1", int(port), timeout=30)
ftp.login()

def fetch(folder, near):
    os.makedirs(near)
    for name, facts in list(ftp.mlsd(folder)):
        here, there = os.path.join(near, name), folder + "/" + name
        if facts["type"] == "dir":
            fetch(there, here)
        elif facts["type"] == "file":
            with open(here, "wb") as file:
                ftp.retrbinary("RETR " + there, file.write)
            assert os.path.getsize(here) == int(facts["size"]) == ftp.size(there), name
        else:
            assert facts["type"] in ("cdir", "pdir"), facts

fetch("/tree", os.path.join(near, "copy"))
# Part of a file, at both ends.
content = open(os.path.join(near, "copy", "b", "large"), "rb").read()
rest = []
ftp.retrbinary("RETR /tree/b/large", rest.append, rest=1234567)
assert b"".join(rest) == content[1234567:]
ftp.quit()
"#;
    let mut python = stranger("python3");
    python.args(["-c", SCRIPT, &scene.server.address.port().to_string()]);
    run(python.arg(scene.near.path())).succeeded();
    assert_planted(&scene.near.join("copy"));
}
