//! Transfers that are interrupted, and go on by another command.
//!
//! `STACKWRIGHT_KILLS=20` kills each side twenty times in each direction, and not three times.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Outcome, PATIENCE, Running, eventually, run};
use stackwright_programs::scratch::Scratch;

use super::{Server, complaints, events, path, program};

const LENGTH: usize = 500_000;
/// Of octets a second: the file takes two and a half seconds, the last of them with a journal.
const RATE: &str = "200k";
/// How many octets may be sent twice for a kill: the distance of a journal, and some reads.
const TWICE: u64 = (64 << 10) + (16 << 10);

/// A server, and a person with journals of his own.
struct Scene {
    server: Server,
    here: Scratch,
    state: Scratch,
}

impl Scene {
    fn new() -> Self {
        // How quickly a disk syncs is not what is tried.
        let memory = Path::new("/dev/shm");
        let folder = || if memory.is_dir() { Scratch::below(memory) } else { Scratch::new() };
        Scene { server: Server::start(), here: folder(), state: folder() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.env("XDG_STATE_HOME", self.state.path()).args(words);
        command
    }

    fn say(&self, words: &[&str]) -> Outcome {
        run(&mut self.command(words))
    }

    /// The words of a transfer, and its source and target.
    fn copy(&self, verb: &'static str) -> (Vec<String>, [PathBuf; 2]) {
        let (near, far) = (self.here.join("f"), self.server.folder.join("f"));
        let url = self.server.url("f");
        let near_word = path(&near).to_owned();
        let (words, ends) = match verb {
            "get" => ([verb.into(), url, near_word], [far, near]),
            _ => ([verb.into(), near_word, url], [near, far]),
        };
        (words.into(), ends)
    }

    fn start(&self, words: &[String]) -> Running {
        let mut command = self.command(&["--version"][..0]);
        command.args(words).args(["--limit-rate", RATE, "--retries", "0", "--quiet"]);
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    fn transfers(&self) -> Vec<Value> {
        events(&self.say(&["transfers", "--json"]).succeeded())
    }

    /// Where the part of a file is, and its length.
    fn part(target: &Path) -> u64 {
        let entries = fs::read_dir(target.parent().expect("a folder")).expect("a folder of ours");
        let parts = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
        parts.map(|part| part.metadata().map_or(0, |found| found.len())).max().unwrap_or(0)
    }

    /// Goes on with what was interrupted, by its journal if it has one, and insists on the file.
    fn finish(&self, words: &[String], ends: &[PathBuf; 2], part: u64) {
        let journals = self.transfers();
        let again = match &journals[..] {
            [] => self.say(
                &[&words.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--json"]].concat(),
            ),
            [one] => {
                assert_eq!(one["state"], "paused", "{one}");
                self.say(&["resume", one["id"].as_str().expect("a name"), "--json"])
            }
            more => panic!("{more:?}"),
        };
        let told = events(&again.succeeded());
        let there = told.iter().find_map(|told| told["resumed_at"].as_u64()).unwrap_or(0);
        assert!(
            part.saturating_sub(there) <= TWICE,
            "{part} octets were there, {there} were known"
        );
        assert!(fs::read(&ends[1]).expect("the file") == fs::read(&ends[0]).expect("the file"));
        assert!(self.transfers().is_empty(), "what is done has no journal");
        assert_eq!(Self::part(&ends[1]), 0, "nothing else is left");
        fs::remove_file(&ends[1]).expect("a folder of ours");
    }
}

/// Moments of a transfer in milliseconds, one in each of equal parts of it: as many as
/// `STACKWRIGHT_KILLS` says, or three.
fn moments() -> impl Iterator<Item = u64> {
    let kills =
        env::var("STACKWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let mut random = fastrand::Rng::with_seed(kills);
    (0..kills).map(move |nth| (nth * 2400 + random.u64(..2400)) / kills)
}

/// Kills one side of transfers at these moments.
fn kill(verb: &'static str, kills_server: bool) {
    let mut scene = Scene::new();
    let (words, ends) = scene.copy(verb);
    fs::write(&ends[0], octets(7, LENGTH)).expect("a folder of ours");
    for moment in moments() {
        let mut running = scene.start(&words);
        thread::sleep(Duration::from_millis(moment));
        if kills_server {
            scene.server.running.kill();
            assert!(eventually(PATIENCE, || running.ended().is_some()), "the client is stuck");
            let code = running.ended().and_then(|status| status.code());
            assert!(matches!(code, Some(3 | 7)), "{moment}: {code:?}");
            scene.server.restart();
        } else {
            assert!(running.alive(), "{moment}");
            running.kill();
        }
        let part = Scene::part(&ends[1]);
        assert!(part > 0 || moment < 1000, "{moment}: nothing is left");
        scene.finish(&words, &ends, part);
    }
}

#[test]
fn a_fetch_whose_client_is_killed_goes_on() {
    kill("get", false);
}

#[test]
fn a_fetch_whose_server_is_killed_goes_on() {
    kill("get", true);
}

#[test]
fn an_upload_whose_client_is_killed_goes_on() {
    kill("put", false);
}

#[test]
fn an_upload_whose_server_is_killed_goes_on() {
    kill("put", true);
}

/// Ctrl-C, as a person does it, and what that person is told.
fn interrupt(scene: &Scene, words: &[&str], target: &Path) -> Outcome {
    let mut command = scene.command(words);
    command.args(["--limit-rate", RATE]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let number = child.id().to_string();
    let grown = eventually(Duration::from_secs(20), || Scene::part(target) > 10_000);
    let status = Command::new("kill").args(["-INT", &number]).status();
    assert!(grown && status.is_ok_and(|status| status.success()), "nothing arrives");
    let output = child.wait_with_output().expect("it ends");
    Outcome {
        command: format!("{words:?}"),
        status: output.status,
        output: output.stdout,
        complaints: output.stderr,
        memory: 0,
    }
}

#[test]
fn an_interrupted_transfer_says_how_to_go_on_and_is_listed() {
    let scene = Scene::new();
    let (words, ends) = scene.copy("get");
    fs::write(&ends[0], octets(7, LENGTH)).expect("a folder of ours");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = interrupt(&scene, &words, &ends[1]).exited(7);
    let listed = scene.transfers();
    let id = listed[0]["id"].as_str().expect("a name");
    let next = format!("`stackwright resume {id}` goes on");
    assert!(complaints(&told).contains(&next), "{}", complaints(&told));
    let shown = scene.say(&["transfers"]).succeeded().text();
    assert!(shown.contains(&next) && shown.contains("of 488.28 KiB"), "{shown}");
    scene.say(&["resume"]).succeeded();
    assert!(fs::read(&ends[1]).expect("the file") == octets(7, LENGTH));
    assert!(scene.transfers().is_empty());
}

#[test]
fn what_is_forgotten_leaves_nothing() {
    let scene = Scene::new();
    let (words, ends) = scene.copy("get");
    fs::write(&ends[0], octets(7, LENGTH)).expect("a folder of ours");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    interrupt(&scene, &words, &ends[1]).exited(7);
    let listed = scene.transfers();
    scene.say(&["forget", listed[0]["id"].as_str().expect("a name")]).succeeded();
    assert_eq!((scene.transfers().len(), scene.here.names().len()), (0, 0));
    scene.say(&["resume", "7f3a"]).exited(2);
    scene.say(&["forget", "../../x"]).exited(2);
}

/// Another length, or another time with the same length.
#[test]
fn a_source_that_changed_meanwhile_starts_over_and_says_so() {
    for (length, why) in [(LENGTH + 1, "it has another size now"), (LENGTH, "it was modified")] {
        let scene = Scene::new();
        let (words, ends) = scene.copy("get");
        fs::write(&ends[0], octets(7, LENGTH)).expect("a folder of ours");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        interrupt(&scene, &words, &ends[1]).exited(7);
        // The time that a server tells has seconds.
        let other = octets(8, length);
        fs::write(&ends[0], &other).expect("a folder of ours");
        let later = std::time::SystemTime::now() + Duration::from_secs(5);
        let source = fs::File::options().write(true).open(&ends[0]).expect("the file");
        source.set_modified(later).expect("a file of ours");
        let told = scene.say(&["resume"]).succeeded();
        assert!(
            complaints(&told).contains(&format!("starts over: {why}")),
            "{}",
            complaints(&told)
        );
        assert!(fs::read(&ends[1]).expect("the file") == other);
    }
}

/// What is whole is not copied again.
#[test]
fn a_folder_goes_on_too() {
    let scene = Scene::new();
    let [far, near] = [scene.server.folder.join("d"), scene.here.join("d")];
    fs::create_dir(&far).expect("a folder of ours");
    for name in ["a", "b", "c"] {
        fs::write(far.join(name), octets(7, LENGTH / 3)).expect("a folder of ours");
    }
    let url = scene.server.url("d/");
    let mut running = scene.start(&["get".into(), url, path(scene.here.path()).into()]);
    // One file is whole, and another one is not.
    let some = || near.is_dir() && scene.transfers().iter().any(|told| told["known"] != 0);
    assert!(eventually(PATIENCE, some), "nothing arrives");
    let status = Command::new("kill").args(["-INT", &running.number().to_string()]).status();
    assert!(status.expect("kill is there").success());
    assert!(eventually(PATIENCE, || running.ended().is_some()));
    assert_eq!(running.ended().and_then(|status| status.code()), Some(7));
    let told = events(&scene.say(&["resume", "--json"]).succeeded());
    let summary = told.last().expect("a summary");
    assert!(summary["same"].as_u64() >= Some(1), "{summary}");
    for name in ["a", "b", "c"] {
        assert!(fs::read(near.join(name)).expect("a file") == octets(7, LENGTH / 3), "{name}");
    }
    assert!(scene.transfers().is_empty());
}

/// It would wait for the disk.
#[test]
fn a_quick_transfer_has_no_journal() {
    let scene = Scene::new();
    let (words, ends) = scene.copy("get");
    fs::write(&ends[0], octets(7, LENGTH)).expect("a folder of ours");
    scene.say(&words.iter().map(String::as_str).collect::<Vec<_>>()).succeeded();
    assert_eq!(scene.state.names(), [""; 0]);
}

/// Journals that cannot be read are said to be none, and stop nothing.
#[test]
fn torn_journals_and_those_of_a_later_version_are_told() {
    let scene = Scene::new();
    let folder = scene.state.join("stackwright/transfers");
    fs::create_dir_all(&folder).expect("a folder of ours");
    for (id, text) in
        [("aaaa", "attempts = 1\ncom"), ("bbbb", ""), ("cccc", "version = 2\nx = 1\n")]
    {
        fs::write(folder.join(format!("{id}.toml")), text).expect("a folder of ours");
    }
    let told = scene.say(&["transfers"]).succeeded();
    let said = complaints(&told);
    assert!(said.contains("2 journals are torn, and dropped: aaaa bbbb"), "{said}");
    assert!(said.contains("cccc is of a later version"), "{said}");
    for id in ["aaaa", "cccc"] {
        scene.say(&["resume", id]).exited(1);
    }
    assert_eq!(scene.say(&["resume"]).succeeded().text(), "There is nothing to resume.\n");
    assert_eq!(scene.say(&["resume", "--json"]).succeeded().text(), "");
    scene.say(&["forget", "aaaa", "bbbb"]).succeeded();
    assert!(!complaints(&scene.say(&["transfers"])).contains("torn"));
}
