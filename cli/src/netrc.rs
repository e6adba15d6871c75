//! Users and passwords from `~/.netrc`, the file that FTP clients share.
//!
//! Of its words `machine`, `default`, `login`, `password` and `account` are read; a macro (`macdef`)
//! is passed over. The file is used only if no one but its owner may read it.

use std::env;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::problem::Problem;

/// The longest file that is read, in octets.
const LONGEST: u64 = 1 << 20;

/// An entry: a user of a host, and the password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// Returns the entry for `user` at `host`, or the first one for the host where no user is named.
///
/// # Errors
/// If the file can be read by others: a password in it is known to them.
pub(crate) fn find(host: &str, user: Option<&str>) -> Result<Option<Login>, Problem> {
    let named = env::var_os("NETRC").map(PathBuf::from);
    let Some(path) = named.or_else(|| env::home_dir().map(|home| home.join(".netrc"))) else {
        return Ok(None);
    };
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let mut text = String::new();
    let read = file.metadata().and_then(|metadata| {
        (&file).take(LONGEST).read_to_string(&mut text)?;
        Ok(metadata.mode() & 0o077 != 0)
    });
    let open_to_others = read.map_err(|why| Problem::Path { path: path.clone(), why })?;
    match search(&text, host, user) {
        Some(login) if login.password.is_some() && open_to_others => {
            Err(Problem::OpenNetrc { path })
        }
        found => Ok(found),
    }
}

fn search(text: &str, host: &str, user: Option<&str>) -> Option<Login> {
    let mut found: Option<Login> = None;
    let mut here = false;
    let fits =
        |login: &Login| user.is_none() || login.user.is_none() || login.user.as_deref() == user;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "machine" | "default" => {
                    if let Some(login) = found.take_if(|login| here && fits(login)) {
                        return Some(login);
                    }
                    let named = if word == "machine" { words.next() } else { None };
                    here =
                        word == "default" || named.is_some_and(|it| it.eq_ignore_ascii_case(host));
                    found = here.then(Login::default);
                }
                "login" => {
                    let word = words.next().map(str::to_owned);
                    found.iter_mut().for_each(|login| login.user.clone_from(&word));
                }
                "password" => {
                    let word = words.next().map(str::to_owned);
                    found.iter_mut().for_each(|login| login.password.clone_from(&word));
                }
                "account" => drop(words.next()),
                // Up to an empty line.
                "macdef" => {
                    lines.by_ref().find(|line| line.trim().is_empty());
                    break;
                }
                word if word.starts_with('#') => break,
                _ => {}
            }
        }
    }
    found.filter(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# mine
machine ftp.example.org login ann password one
machine ftp.example.org
    login bob
    password two
macdef init
machine evil login x password y

machine other login carl account x password three
default login anonymous password me@here
";

    fn found(host: &str, user: Option<&str>) -> Option<(String, String)> {
        let login = search(FILE, host, user)?;
        Some((login.user?, login.password?))
    }

    #[test]
    fn the_first_entry_of_the_host_and_the_user_counts() {
        let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(found("ftp.example.org", None), login("ann", "one"));
        assert_eq!(found("FTP.example.org", Some("bob")), login("bob", "two"));
        assert_eq!(found("other", Some("carl")), login("carl", "three"));
        assert_eq!(found("evil", None), login("anonymous", "me@here"));
        assert_eq!(found("other", Some("dora")), None);
        assert_eq!(search("", "x", None), None);
    }
}
