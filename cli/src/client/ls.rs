//! `ls`: the names in a folder on a server.

use std::path::PathBuf;

use stackwright::contract::services::FolderEntry;
use stackwright::copy::Request;

use super::listing::{Form, Listing};
use crate::arguments::Ls;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::transfer::{self, Local, SERVER, Watch};

pub(crate) fn run(ls: &Ls) -> Result<(), Problem> {
    let remote = Remote::parse(&ls.url)?;
    let request = Request::List { job: transfer::JOB, side: SERVER, path: remote.path.clone() };
    let listing = Listing::new(match ls {
        Ls { connection, .. } if connection.json => Form::Json,
        Ls { long: true, human, .. } => Form::Long { human: *human },
        Ls { .. } => Form::Short,
    });
    let mut count = 0_u64;
    // They are shown as they come: a listing may have no end.
    let mut show = |entries: &[FolderEntry]| {
        count += entries.len() as u64;
        listing.show(entries);
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
