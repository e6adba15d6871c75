//! Scripts of TCP: `tests/scripts/*.toml`, against ours in simulated time and against the kernel's.
//! What the kernel does not do is no script, unless it says why it is ours only.
//!
//! | file | what |
//! | --- | --- |
//! | `segment.rs` | segments, and the words for them |
//! | `host.rs`, `ours.rs`, `kernel.rs` | who is tried |
//! | `script.rs` | the lines of a script |
//! | `differential.rs` | the same losses for each pair of the two |

#[path = "../../../crates/drivers/tests/all/namespace.rs"]
#[allow(dead_code, reason = "tests of drivers make networks as root, too")]
mod namespace;

mod differential;
mod host;
mod kernel;
mod ours;
mod script;
mod segment;

use std::path::PathBuf;
use std::{fs, thread};

use serde::Deserialize;
use stackwright::tcp::Config;
use stackwright_simulator::seeds;

use kernel::Kernel;
use namespace::rootless;
use ours::Ours;
use script::Run;

/// A file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Script {
    /// What it shows, and where that is specified.
    #[allow(dead_code, reason = "for people")]
    about: String,
    /// Why the kernel does not do so.
    ours_only: Option<String>,
    lines: String,
}

fn scripts() -> Vec<(String, Script)> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "scripts"].iter().collect();
    let files = fs::read_dir(folder).expect("a folder of scripts");
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut scripts = Vec::new();
    for file in files {
        let path = file.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let script = toml::from_str(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        if name.contains(&only) {
            scripts.push((name, script));
        }
    }
    scripts.sort_by(|one, other| one.0.cmp(&other.0));
    scripts
}

/// Says which scripts failed, and how.
fn judge(failures: Vec<Option<String>>) {
    assert!(!failures.is_empty(), "there are scripts");
    let failures = Vec::from_iter(failures.into_iter().flatten());
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn our_tcp_does_what_each_script_says() {
    let run = |(name, script): (String, Script)| {
        let mut host = Ours::new(0, Config::new([7; 16]));
        let failed = Run::new(&mut host).all(&script.lines).err()?;
        Some(format!("{name}: {failed}"))
    };
    judge(scripts().into_iter().map(run).collect());
}

#[test]
fn the_kernel_does_what_each_script_says() {
    rootless("the_kernel_does_what_each_script_says", || {
        let run = |(name, script): (String, Script)| {
            let failed = Run::new(&mut Kernel::new(0)).all(&script.lines).err()?;
            Some(format!("{name}: {failed}"))
        };
        let all = scripts().into_iter().filter(|(_, script)| script.ours_only.is_none());
        // Each on a thread, which has a network of its own.
        let threads = Vec::from_iter(all.map(|script| thread::spawn(move || run(script))));
        judge(threads.into_iter().map(|it| it.join().expect("it ends")).collect());
    });
}

/// `SEEDS=20` tries twenty times as many.
#[test]
fn our_tcp_deviates_from_the_kernel_where_there_is_a_reason() {
    rootless("our_tcp_deviates_from_the_kernel_where_there_is_a_reason", || {
        let mut found = Vec::new();
        let all = Vec::from_iter(seeds(12));
        for some in all.chunks(6) {
            let threads = some.iter().map(|seed| {
                let seed = *seed;
                thread::spawn(move || differential::seed(seed))
            });
            let threads = Vec::from_iter(threads);
            found.extend(threads.into_iter().flat_map(|it| it.join().expect("it ends")));
        }
        differential::judge(all.len(), &found);
    });
}
