//! File transfer by static stacks and by graphs of the same parts, side by side; system calls and
//! instructions of a server. How we stand beside strangers, the lab's tables tell.
//!
//! ```text
//! cargo bench -p stackwright-cli --bench ftp [-- [graphs] [calls] [--runs N]]
//! ```
//!
//! A time is that of a whole process from its start to its end. The contestants take turns (A B C A
//! B C ...), so that what the machine does besides falls on all of them. A ratio is that of
//! medians; its interval is a bootstrap over the rounds.

mod calls;
mod contest;
mod graphs;
mod instructions;
mod terminal;

use std::env;
use std::fs;

use stackwright_programs::content::SIZES;
use stackwright_programs::processes::{built, use_program};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::served;

/// What every part of the benchmark stands on.
struct Ground {
    /// The served folder, with a file of each size.
    folder: Scratch,
    /// How often a small transfer is measured.
    runs: usize,
}

impl Ground {
    fn new(runs: usize) -> Self {
        let folder = served::folder(&SIZES).expect("room for the files");
        println!(
            "files: in {}; {} runs for a small file, fewer for a large one",
            folder.path().display(),
            runs
        );
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
            "graphs" | "calls" => parts.push(word),
            _ => {
                return eprintln!("what is {word}? There are: graphs calls --runs N");
            }
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);

    // A copy, as an installed program is: the linker leaves its output in the page cache in small
    // pieces, and starting it from there costs 7 % more than starting what was copied (ncftpget was
    // copied into its place, too).
    let installed = Scratch::new();
    let program = installed.join("stackwright");
    if let Err(why) = fs::copy(built("release/stackwright"), &program) {
        return println!(
            "nothing to measure, the release build of the program is not there: {why}"
        );
    }
    use_program(program.clone());
    println!(
        "program: {} ({} octets)",
        program.display(),
        fs::metadata(&program).map_or(0, |file| file.len())
    );
    let ground = Ground::new(runs);
    if wanted("graphs") {
        terminal::verdicts(&graphs::compare(&ground));
    }
    if wanted("calls") {
        calls::count(&ground);
        instructions::count(&ground);
    }
}
