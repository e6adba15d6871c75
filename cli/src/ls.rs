//! `ls`: the names in a folder on a server.

use std::path::Path;

use indicatif::HumanBytes;
use serde_json::json;
use stackwright::contract::services::{FileKind, FolderEntry};
use stackwright::copy::Request;

use crate::arguments::Ls;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::say;
use crate::transfer::{self, SERVER, Watch};

pub(crate) fn run(ls: &Ls) -> Result<(), Problem> {
    let remote = Remote::parse(&ls.url)?;
    let request = Request::List { side: SERVER, path: remote.path.clone() };
    let mut entries = Vec::new();
    // The disk is not used, but it has to be somewhere.
    transfer::run(
        &remote,
        &ls.connection,
        Path::new("."),
        &request,
        &mut Watch::Entries(&mut entries),
    )?;
    for entry in &entries {
        if ls.connection.json {
            let FolderEntry { name, status, .. } = entry;
            say!("{}", json!({ "name": name, "kind": kind(status.kind), "octets": status.size }));
        } else if entry.status.kind == FileKind::Folder {
            say!("{:>12}  {}/", "", entry.name);
        } else {
            say!("{:>12}  {}", HumanBytes(entry.status.size).to_string(), entry.name);
        }
    }
    if entries.is_empty() && !ls.connection.json {
        eprintln!("(nothing)");
    }
    Ok(())
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Folder => "folder",
        FileKind::Link | FileKind::Other => "other",
    }
}
