//! Bookmarks: `NAME:path` in place of an address.
//!
//! They lie in `$XDG_CONFIG_HOME/stackwright/bookmarks.toml` (else below `~/.config`), a line
//! `name = "ftp://…"` each.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::problem::Problem;

type Bookmarks = BTreeMap<String, String>;

/// Whether `text` begins with what can be the name of a bookmark.
pub(crate) fn is_meant(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, _)| is_name(name))
}

/// Returns the address that `text` stands for: where it is `NAME:path` and there is such a
/// bookmark, that of the bookmark and the path behind it.
pub(crate) fn expand(text: &str) -> Result<String, Problem> {
    let Some((name, path)) = text.split_once(':').filter(|(name, _)| is_name(name)) else {
        return Ok(text.to_owned());
    };
    // `ftp:/host` is an address that lacks a slash.
    if path.starts_with("//") || path.starts_with('/') && matches!(name, "ftp" | "ftps") {
        return Ok(text.to_owned());
    }
    let bookmarks = file().map(|file| read(&file)).transpose()?.unwrap_or_default();
    match bookmarks.get(name) {
        Some(url) => Ok(join(url, path)),
        None => Err(Problem::NoBookmark { name: name.to_owned() }),
    }
}

/// The address `url` with `path` behind it; what an address would take for something else is
/// escaped.
fn join(url: &str, path: &str) -> String {
    let path = path.replace('%', "%25").replace('?', "%3F").replace('#', "%23").replace(';', "%3B");
    // What an address by radio has behind its path stays behind it.
    let (url, settings) = url.split_at(url.find('?').unwrap_or(url.len()));
    let slash = if url.ends_with('/') || path.is_empty() { "" } else { "/" };
    format!("{url}{slash}{}{settings}", path.trim_start_matches('/'))
}

pub(crate) fn is_name(name: &str) -> bool {
    name.len() > 1
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

pub(crate) fn file() -> Option<PathBuf> {
    let config = env::var_os("XDG_CONFIG_HOME").filter(|folder| Path::new(folder).is_absolute());
    let config = config.map(PathBuf::from);
    let config = config.or_else(|| env::home_dir().map(|home| home.join(".config")))?;
    Some(config.join("stackwright").join("bookmarks.toml"))
}

pub(crate) fn read(path: &Path) -> Result<Bookmarks, Problem> {
    let problem = |why| Problem::Path { path: path.into(), why };
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|why| problem(std::io::Error::other(why.message().to_owned()))),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Bookmarks::new()),
        Err(why) => Err(problem(why)),
    }
}

/// Writes all of them, or leaves the file as it was.
pub(crate) fn write(path: &Path, bookmarks: &Bookmarks) -> Result<(), Problem> {
    let problem = |why| Problem::Path { path: path.into(), why };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(problem)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(problem)?;
    for (name, url) in bookmarks {
        // What an address consists of needs no escape in TOML but these two.
        let url = url.replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(file, "{name} = \"{url}\"").map_err(problem)?;
    }
    file.persist(path).map_err(|error| problem(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_behind_the_address() {
        assert_eq!(join("ftp://me@host/pub/", "a b/c"), "ftp://me@host/pub/a b/c");
        assert_eq!(join("ftp://host", "/x?;y"), "ftp://host/x%3F%3By");
        assert_eq!(join("ftp://host/a", ""), "ftp://host/a");
        assert_eq!(join("ftp+xstp+ax25://A/?rate=9", "x?"), "ftp+xstp+ax25://A/x%3F?rate=9");
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("bookmarks.toml");
        let bookmarks = Bookmarks::from([
            ("a-1".into(), "ftp://h/\"\\x".into()),
            ("b".into(), "ftp://h/".into()),
        ]);
        write(&path, &bookmarks).unwrap();
        assert_eq!(read(&path).unwrap(), bookmarks);
        assert!(read(folder.path().join("none").as_path()).unwrap().is_empty());
        fs::write(&path, "a = [").unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn addresses_and_files_are_no_bookmarks() {
        for text in ["ftp://host/x", "file", "a b:c", "x:y"] {
            assert_eq!(expand(text).ok().as_deref(), Some(text));
        }
    }
}
