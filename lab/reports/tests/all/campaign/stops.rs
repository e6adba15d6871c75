//! A campaign that is stopped, or killed, and goes on.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::campaign::setting::{Said, Setting};

/// Waits until `done`, which `lab` shall bring about before it ends. How long that takes is the
/// machine's affair.
#[track_caller]
fn until(lab: &mut Child, mut done: impl FnMut() -> bool) {
    while !done() {
        assert!(lab.try_wait().expect("it can be asked").is_none(), "it ended before");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `done`, which processes that have no parent any more bring about.
fn sooner_or_later(mut done: impl FnMut() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(5));
    }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).expect("it is small")).expect("it is not zero")
}

fn start(setting: &Setting) -> Child {
    let mut lab = setting.with_results(&["--jobs", "2"]);
    lab.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    lab.spawn().expect("the program starts")
}

/// Whether the process still runs; one that has ended and is not yet looked after does not.
fn runs(number: &str) -> bool {
    let Ok(raw) = number.trim().parse() else { return false };
    let state = std::fs::read_to_string(format!("/proc/{raw}/stat")).unwrap_or_default();
    test_kill_process(pid(raw)).is_ok() && !state.contains(") Z ")
}

/// A cell that has written what looks like a result, says so, and then waits for the word.
const WAITS: &str = "echo 1 > \"$2\"; echo $1 >> began; \
    while [ $1 -gt 4 ] && [ ! -e go ]; do sleep 0.01; done; echo $1 >> ended";

#[test]
fn killed_in_the_middle_it_goes_on() {
    let setting = Setting::shell(WAITS, 12, "");
    let mut lab = start(&setting);
    until(&mut lab, || setting.lines("began").len() == 6);
    kill_process(pid(lab.id()), Signal::KILL).expect("it runs");
    lab.wait().expect("it ends");
    let results = |setting: &Setting| {
        setting
            .files("results/s")
            .into_iter()
            .filter(|name| name.ends_with(".json"))
            .collect::<Vec<_>>()
    };
    assert_eq!(results(&setting).len(), 4, "what was being made is no result");
    assert_eq!(setting.files("results/s").iter().filter(|name| name.ends_with(".part")).count(), 2);
    // Those that nobody waits for any more end too.
    std::fs::write(setting.path("go"), "").expect("it can be written");
    sooner_or_later(|| setting.lines("ended").len() == 6);

    let said = setting.run(&[]).ended(0);
    assert!(said.out.contains("8 done") && said.out.contains("4 before"), "{}", said.out);
    assert_eq!(results(&setting).len(), 12);
    assert_eq!(setting.files("results/s").len(), 13, "half results are gone");
    for done in ["1", "2", "3", "4"] {
        assert_eq!(
            setting.lines("began").iter().filter(|seed| *seed == done).count(),
            1,
            "{done} ran once"
        );
    }
}

/// Whoever runs the tests under `nohup` wants what they start to outlive the terminal, and
/// campaigns obey.
fn hears_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_none_or(|bits| bits & 1 == 0)
}

#[test]
fn interrupted_it_ends_its_children_and_says_how_to_go_on() {
    let signals = [(Signal::INT, "trap '' TERM;"), (Signal::TERM, ""), (Signal::HUP, "")];
    for (signal, deaf) in
        signals.into_iter().filter(|(signal, _)| *signal != Signal::HUP || hears_hangup())
    {
        // A cell has a child of its own; once, both are deaf to polite words.
        let script = format!(
            "{deaf} if [ $1 = 1 ] || [ -e go ]; then echo 1 > \"$2\"; exit 0; fi; \
             sh -c \"{deaf} sleep 600\" & echo $! >> running; echo $$ >> running; wait; wait"
        );
        let setting = Setting::shell(&script, 5, "");
        let mut lab = start(&setting);
        until(&mut lab, || {
            setting.lines("running").len() == 4
                && setting.files("results/s").contains(&"seed=1.json".into())
        });
        kill_process(pid(lab.id()), signal).expect("it runs");
        let said = Said::from(lab.wait_with_output().expect("it ends")).ended(130);
        assert!(
            said.err.contains("1 of 5 cells are done and kept; the same command continues"),
            "{}",
            said.err
        );
        sooner_or_later(|| !setting.lines("running").iter().any(|number| runs(number)));
        assert_eq!(
            setting.files("results/s"),
            ["command", "seed=1.json"],
            "no half results, no blame"
        );
        std::fs::write(setting.path("go"), "").expect("it can be written");
        setting.run(&[]).ended(0);
    }
}

#[test]
fn two_at_once_do_not_run_the_same_cells() {
    let setting = Setting::shell(WAITS, 6, "");
    let mut lab = start(&setting);
    until(&mut lab, || setting.lines("began").len() == 6);
    let said = setting.run(&[]).ended(1);
    assert!(said.err.contains("another process is running cells here"), "{}", said.err);
    let said = setting.run(&["--cell", "5"]).ended(1);
    assert!(said.err.contains("another process is running all cells here"), "{}", said.err);
    std::fs::write(setting.path("go"), "").expect("it can be written");
    Said::from(lab.wait_with_output().expect("it ends")).ended(0);
    assert_eq!(setting.lines("began").len(), 6);
}

#[test]
fn jobs_that_run_one_cell_each_run_side_by_side() {
    let setting = Setting::shell(WAITS, 6, "");
    let mut jobs: Vec<Child> = [4, 5]
        .map(|cell| {
            setting
                .with_results(&["--cell", &cell.to_string()])
                .stdout(Stdio::null())
                .spawn()
                .expect("it starts")
        })
        .into();
    until(&mut jobs[0], || setting.lines("began").len() == 2);
    let said = setting.run(&[]).ended(1);
    assert!(said.err.contains("another process is running cells here"), "{}", said.err);
    std::fs::write(setting.path("go"), "").expect("it can be written");
    for mut job in jobs {
        assert!(job.wait().expect("it ends").success());
    }
    assert_eq!(setting.files("results/s"), ["command", "seed=5.json", "seed=6.json"]);
}
