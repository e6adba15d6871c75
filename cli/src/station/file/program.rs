//! `[[program]]`: programs at call signs of their own, as ax25d has them.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use stackwright::contract::CallSign;

use super::{CALL, Read, StationFile};
use crate::call::own_call;
use crate::station::reader::Table;

const PROGRAMS_MOST: usize = 16;
/// How many of one run at once: by default, and at most.
const CALLERS: u64 = 4;
const CALLERS_MOST: u64 = 16;

/// A program at a call sign.
#[derive(Debug)]
pub(crate) struct ProgramEntry {
    pub(crate) call: CallSign,
    /// The program and its arguments.
    pub(crate) run: Vec<String>,
    /// How many run at once.
    pub(crate) most: usize,
}

/// Reads the programs.
pub(super) fn programs(top: &Table<'_>, file: &StationFile) -> Read<Vec<ProgramEntry>> {
    let Some(entry) = top.get("program") else { return Ok(Vec::new()) };
    let items = entry.items("a list of tables: [[program]]")?;
    if items.len() > PROGRAMS_MOST {
        return Err(entry.mistake("a station has at most sixteen"));
    }
    let mut taken = [&[file.call], &file.aliases[..], &file.kiss_calls].concat();
    let program = |item: &super::Entry<'_>| program(&item.table()?, &mut taken);
    items.iter().map(program).collect()
}

fn program(table: &Table<'_>, taken: &mut Vec<CallSign>) -> Read<ProgramEntry> {
    table.only(&["call", "run", "callers"])?;
    let missing = |key, is| table.mistake(format!("its `{key}` is {is}"));
    let entry = table.get("call").ok_or_else(|| missing("call", CALL))?;
    let call = entry.parsed(CALL, own_call)?;
    if taken.contains(&call) {
        return Err(entry.mistake("it is used above: a program has a call sign of its own"));
    }
    taken.push(call);
    const RUN: &str = "a program and its arguments, such as [\"/usr/bin/cat\"]";
    let entry = table.get("run").ok_or_else(|| missing("run", RUN))?;
    let words = entry.items(RUN)?;
    let words: Read<Vec<_>> = words.iter().map(|word| Ok(word.text(RUN)?.to_owned())).collect();
    let run = words?;
    match run.first() {
        Some(program) if !is_executable(program) => {
            return Err(entry.mistake("there is no such program, or it may not be executed"));
        }
        Some(_) if !run.iter().any(|word| word.contains('\0')) => {}
        _ => return Err(entry.is_not(RUN)),
    }
    let callers = table.get("callers").map(|entry| entry.number(1..CALLERS_MOST + 1));
    Ok(ProgramEntry { call, run, most: callers.transpose()?.unwrap_or(CALLERS) as usize })
}

/// Returns whether there is such a program, in a folder of `PATH` where no path is said.
fn is_executable(program: &str) -> bool {
    let is_it = |path: &Path| {
        path.metadata()
            .is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return is_it(Path::new(program));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| is_it(&folder.join(program)))
}
