//! `bookmark`: addresses are kept under names, forgotten, listed.

use clap::Subcommand;
use serde_json::json;

use crate::bookmarks::{file, is_name, read, write};
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::say;

#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Bookmark {
    /// Give a name, of letters, digits, - and _, to an address.
    Add {
        /// The name, at least two characters.
        name: String,
        /// The address of a folder: ftp://user@host:port/folder/.
        url: String,
    },
    /// Forget a name.
    Remove {
        /// The name.
        name: String,
    },
    /// List the names and their addresses.
    List {
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(bookmark: &Bookmark) -> Result<(), Problem> {
    let path = file().ok_or(Problem::NoHome)?;
    let mut bookmarks = read(&path)?;
    match bookmark {
        Bookmark::Add { name, url } => {
            if !is_name(name) {
                return Err(Problem::BookmarkName { name: name.clone() });
            }
            Remote::parse(url)?;
            bookmarks.insert(name.clone(), url.clone());
            write(&path, &bookmarks)
        }
        Bookmark::Remove { name } => {
            if bookmarks.remove(name).is_none() {
                return Err(Problem::NoBookmark { name: name.clone() });
            }
            write(&path, &bookmarks)
        }
        Bookmark::List { json } => {
            for (name, url) in &bookmarks {
                if *json {
                    say!("{}", json!({ "name": name, "url": url }));
                } else {
                    say!("{name:<16} {url}");
                }
            }
            Ok(())
        }
    }
}
