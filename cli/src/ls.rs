//! `ls`: the names in a folder on a server.

use std::path::PathBuf;

use indicatif::HumanBytes;
use serde_json::json;
use stackwright::contract::services::{FileKind, FolderEntry};
use stackwright::copy::Request;

use crate::arguments::Ls;
use crate::printable::Printable;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::say;
use crate::transfer::{self, JOB, Local, SERVER, Watch};

pub(crate) fn run(ls: &Ls) -> Result<(), Problem> {
    let remote = Remote::parse(&ls.url)?;
    let request = Request::List { job: JOB, side: SERVER, path: remote.path.clone() };
    let mut count = 0_u64;
    // They are shown as they come: a listing may have no end.
    let mut show = |entries: &[FolderEntry]| {
        count += entries.len() as u64;
        entries.iter().for_each(|entry| shown(entry, ls.connection.json));
    };
    // The disk is not used, but it has to be somewhere.
    let local = Local::Folder(PathBuf::from("."));
    let done =
        transfer::run(&remote, &ls.connection, &local, &request, &mut Watch::Entries(&mut show))?;
    if done.unreadable > 0 {
        let lines = if done.unreadable == 1 { "line" } else { "lines" };
        eprintln!(
            "stackwright: {} {lines} of the listing could not be understood and {} left out",
            done.unreadable,
            if done.unreadable == 1 { "is" } else { "are" },
        );
    }
    if count == 0 && !ls.connection.json {
        eprintln!("(nothing)");
    }
    Ok(())
}

fn shown(entry: &FolderEntry, json: bool) {
    let FolderEntry { name, status, target } = entry;
    if json {
        let mut told = json!({ "name": name, "kind": kind(status.kind), "octets": status.size });
        if let Some(modified) = status.modified {
            told["modified"] = modified.into();
        }
        if let Some(target) = target {
            told["target"] = target.as_str().into();
        }
        return say!("{told}");
    }
    let name = Printable(name);
    match (status.kind, target) {
        (FileKind::Folder, _) => say!("{:>12}  {name}/", ""),
        (FileKind::Link, Some(target)) => say!("{:>12}  {name} -> {}", "", Printable(target)),
        (FileKind::Link, None) => say!("{:>12}  {name} ->", ""),
        _ => say!("{:>12}  {name}", HumanBytes(status.size).to_string()),
    }
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Folder => "folder",
        FileKind::Link => "link",
        FileKind::Other => "other",
    }
}
