//! File transfer side by side: our client and ncftp against one server; our server, vsftpd and pure-ftpd with the same
//! clients; uploads; static stacks and graphs; system calls and instructions.
//!
//! ```text
//! cargo bench -p stackwright-cli --bench ftp [-- [clients] [servers] [uploads] [graphs] [calls] [--runs N]]
//! ```
//!
//! A time is that of a whole process from its start to its end. The contestants take turns (A B C A B C ...), so that what
//! the machine does besides falls on all of them. A ratio is that of medians; its interval is a bootstrap over the rounds.

mod calls;
mod clients;
mod contest;
mod graphs;
mod instructions;
mod raw;
mod servers_compared;
mod statistics;
mod terminal;
mod uploads;

// The tests' own harness: processes, servers and content are described once.
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../../tests/src/content.rs"]
mod content;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../../tests/src/control.rs"]
mod control;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../../tests/src/processes.rs"]
mod processes;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../../tests/src/scratch.rs"]
mod scratch;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../../tests/src/servers.rs"]
mod servers;

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::content::{SIZES, octets};
use crate::contest::Verdict;
use crate::scratch::{Scratch, open_to_all};

/// What every part of the benchmark stands on.
struct Ground {
    /// The served folder, with a file of each size.
    folder: Scratch,
    /// How often a small transfer is measured.
    runs: usize,
}

impl Ground {
    fn new(runs: usize) -> Self {
        // A memory file system, if there is one with room: disks are not what is compared.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { Scratch::below(memory) } else { Scratch::new() };
        println!(
            "files: in {}; {} runs for a small file, fewer for a large one",
            folder.path().display(),
            runs
        );
        for size in SIZES {
            // In pieces: what this process holds would be counted as its children's.
            let mut file = File::create(folder.join(&size.file())).expect("a folder of ours");
            for start in (0..size.octets).step_by(1_000_000) {
                let piece = octets(start as u64, 1_000_000.min(size.octets - start));
                file.write_all(&piece).expect("room for the files");
            }
        }
        open_to_all(&folder.join("in"));
        Self { folder, runs }
    }

    /// How often a transfer of so many octets is measured.
    fn rounds(&self, octets: usize) -> usize {
        match octets {
            0..=1_000_000 => self.runs,
            1_000_001..=10_000_000 => (self.runs / 2).max(5),
            _ => (self.runs / 4).max(5),
        }
    }
}

fn main() {
    // cargo itself adds `--bench`.
    let mut words = env::args().skip(1).filter(|word| word != "--bench");
    let (mut parts, mut runs) = (Vec::new(), 21);
    while let Some(word) = words.next() {
        match &*word {
            "--runs" => match words.next().and_then(|number| number.parse().ok()) {
                Some(number) if number > 0 => runs = number,
                _ => return eprintln!("--runs needs a number"),
            },
            "clients" | "servers" | "uploads" | "graphs" | "calls" => parts.push(word),
            _ => {
                return eprintln!("what is {word}? There are: clients servers uploads graphs calls --runs N");
            }
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);

    // A copy, as an installed program is: the linker leaves its output in the page cache in small pieces, and starting it
    // from there costs 7 % more than starting what was copied (ncftpget was copied into its place, too).
    let installed = Scratch::new();
    let program = installed.join("stackwright");
    if let Err(why) = fs::copy(processes::built("release/stackwright"), &program) {
        return println!("nothing to measure, the release build of the program is not there: {why}");
    }
    processes::use_program(program.clone());
    println!(
        "program: {} ({} octets)",
        program.display(),
        fs::metadata(&program).map_or(0, |file| file.len())
    );
    let ground = Ground::new(runs);
    let mut verdicts: Vec<Verdict> = Vec::new();
    if wanted("clients") {
        verdicts.extend(clients::compare(&ground));
    }
    if wanted("uploads") {
        verdicts.extend(uploads::compare(&ground));
    }
    if wanted("servers") {
        verdicts.extend(servers_compared::compare(&ground));
    }
    if wanted("graphs") {
        verdicts.extend(graphs::compare(&ground));
    }
    if wanted("calls") {
        calls::count(&ground);
        instructions::count(&ground);
    }
    terminal::verdicts(&verdicts);
}
