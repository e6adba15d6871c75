//! Passwords: from a file, from `~/.netrc` or from a person, never from the command line.

use std::io::{self, IsTerminal};
use std::path::Path;

use ring::digest::SHA256;
use stackwright::ftp::server::{Accounts, Anonymous, Rights};

use crate::netrc::{self, Login};
use crate::problem::Problem;
use crate::remote::Remote;

/// The user and the password for a server; `None` is anonymous.
pub(crate) fn login(
    remote: &Remote,
    file: Option<&Path>,
) -> Result<Option<(String, String)>, Problem> {
    if remote.air.is_some() {
        return Ok(None); // a password would be heard by all
    }
    let user = remote.user.as_deref();
    if file.is_none() {
        let host = remote.host.trim_matches(['[', ']']);
        if let Some(Login { user: known, password: Some(password) }) = netrc::find(host, user)?
            && let Some(user) = user.map(str::to_owned).or(known)
        {
            return Ok(Some((user, password)));
        }
    }
    let anonymous = |user: &&str| file.is_none() && ANONYMOUS.contains(&&*user.to_lowercase());
    let with_password = |user: &str| match Some(user).filter(anonymous) {
        Some(_) => Ok((user.to_owned(), "anonymous@".into())),
        None => Ok((user.to_owned(), password(user, file)?)),
    };
    user.map(with_password).transpose()
}

/// Users without a password: any will do (RFC 1635).
const ANONYMOUS: [&str; 2] = ["anonymous", "ftp"];

/// The password of `user`.
pub(crate) fn password(user: &str, file: Option<&Path>) -> Result<String, Problem> {
    match file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|why| Problem::PasswordFile { path: path.into(), why })?;
            // Some editors begin a file with a mark of its encoding.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            Ok(text.lines().next().unwrap_or_default().into())
        }
        None if io::stdin().is_terminal() => {
            Ok(rpassword::prompt_password(format!("Password of {user}: "))?)
        }
        None => Err(Problem::NoPassword { user: user.into() }),
    }
}

/// The one user of a server, and everybody else who may only read, where that is wished.
pub(crate) struct OnlyUser {
    name: [u8; 32],
    password: [u8; 32],
    rights: Rights,
    guests: Option<Anonymous>,
}

impl OnlyUser {
    pub(crate) fn new(name: &str, password: &str, rights: Rights) -> Self {
        OnlyUser { name: digest(name), password: digest(password), rights, guests: None }
    }

    /// Lets `anonymous` read, too.
    pub(crate) fn with_guests(self) -> Self {
        OnlyUser { guests: Some(Anonymous(Rights { write: false })), ..self }
    }
}

impl Accounts for OnlyUser {
    fn admits(&self, user: &str, password: &str) -> Option<Rights> {
        // Digests are compared, so that the time tells nothing about how much of a guess was right.
        let is_user = digest(user) == self.name && digest(password) == self.password;
        let guests = || self.guests?.admits(user, password);
        is_user.then_some(self.rights).or_else(guests)
    }
}

fn digest(text: &str) -> [u8; 32] {
    let digest = ring::digest::digest(&SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 octets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_file_is_the_password() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["pass \n", "pass \r\nnext\n", "\u{feff}pass \r\n"] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(password("ann", Some(file.path())).unwrap(), "pass ");
        }
    }

    #[test]
    fn who_is_anonymous_is_not_asked_for_a_password() {
        for user in ["anonymous", "Anonymous", "ftp"] {
            let remote = Remote::parse(&format!("ftp://{user}@192.0.2.1/")).unwrap();
            let expected = (user.to_owned(), "anonymous@".to_owned());
            assert_eq!(login(&remote, None).unwrap(), Some(expected));
        }
    }

    #[test]
    fn only_the_user_with_the_password() {
        let only = OnlyUser::new("ann", "x", Rights { write: true });
        let both = OnlyUser::new("ann", "x", Rights { write: true }).with_guests();
        assert_eq!(both.admits("ann", "x"), Some(Rights { write: true }));
        assert_eq!(both.admits("anonymous", "any"), Some(Rights { write: false }));
        assert_eq!(both.admits("ann", "y"), None);
        assert_eq!(only.admits("ann", "x"), Some(Rights { write: true }));
        assert_eq!(only.admits("ann", "y"), None);
        assert_eq!(only.admits("anonymous", "x"), None);
    }
}
