//! FTP addresses (RFC 1738 §3.2).

use std::net::{SocketAddr, ToSocketAddrs};

use percent_encoding::percent_decode_str;
use url::Url;

use crate::problem::Problem;

/// What FTP's streams stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// The kernel's TCP.
    Tcp,
    /// ARTP over UDP.
    Artp,
}

impl Below {
    /// How an address begins.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Below::Tcp => "ftp",
            Below::Artp => "ftp+artp",
        }
    }

    /// The port where a server is when nobody says another.
    fn port(self) -> u16 {
        match self {
            Below::Tcp => stackwright::ftp::PORT,
            Below::Artp => stackwright::artp::PORT,
        }
    }
}

/// A place on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) below: Below,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `None` is anonymous.
    pub(crate) user: Option<String>,
    /// From the folder into which the server puts the user. Begins with `/`.
    pub(crate) path: String,
}

impl Remote {
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = |why| Problem::Url { url: without_password(text), why };
        let url = Url::parse(text).map_err(|_| wrong("it cannot be read"))?;
        let below = [Below::Tcp, Below::Artp].into_iter().find(|below| below.scheme() == url.scheme());
        let below = below.ok_or_else(|| wrong("it begins neither with ftp:// nor with ftp+artp://"))?;
        if url.password().is_some() {
            return Err(wrong("a password on the command line could be seen by everybody on this machine"));
        }
        let decoded = |text: &str, why| {
            let text = percent_decode_str(text).decode_utf8().map_err(|_| wrong(why))?;
            if text.contains(['\r', '\n', '\0']) { Err(wrong(why)) } else { Ok(text.into_owned()) }
        };
        let path = if url.path().is_empty() { "/" } else { url.path() };
        Ok(Remote {
            below,
            host: url
                .host_str()
                .filter(|host| !host.is_empty())
                .ok_or_else(|| wrong("it names no host"))?
                .into(),
            port: url.port().unwrap_or(below.port()),
            user: match url.username() {
                "" => None,
                user => Some(decoded(user, "its user cannot be a user's name")?),
            },
            path: decoded(path, "its path cannot be a file's name")?,
        })
    }

    /// Every address of the host, in the order to try them.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>, Problem> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let addresses = (host, self.port).to_socket_addrs();
        addresses.map(Iterator::collect).map_err(|why| Problem::Host { host: host.into(), why })
    }

    /// The last part of the path; `None` for a folder.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.path.rsplit('/').next().filter(|name| !name.is_empty() && *name != "." && *name != "..")
    }
}

/// An address as it may be shown.
fn without_password(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            let _ = url.set_password(Some("****"));
            url.into()
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let remote = Remote::parse("ftp://al%20ice@[::1]:2121/a%2520b/c").unwrap();
        assert_eq!((remote.host.as_str(), remote.port), ("[::1]", 2121));
        assert_eq!((remote.user.as_deref(), remote.path.as_str()), (Some("al ice"), "/a%20b/c"));
        assert_eq!(remote.file_name(), Some("c"));
        assert_eq!(Remote::parse("ftp://host").unwrap().port, 21);
        let remote = Remote::parse("ftp+artp://al%20ice@host").unwrap();
        assert_eq!((remote.below, remote.port, remote.path.as_str()), (Below::Artp, 4330, "/"));
        assert_eq!((remote.user.as_deref(), remote.file_name()), (Some("al ice"), None));
        let remote = Remote::parse("ftp+artp://[::1]:7/a/../b%20c").unwrap();
        assert_eq!((remote.host.as_str(), remote.port, remote.path.as_str()), ("[::1]", 7, "/b c"));
        assert_eq!(Remote::parse("ftp://host/%2Fetc/x").unwrap().path, "//etc/x");
    }

    #[test]
    fn what_is_wrong_is_said_and_a_password_is_not() {
        for wrong in [
            "host/path",
            "http://host/",
            "ftp://h/a%0d%0aDELE%20x",
            "ftp://h/%ff",
            "ftp+artp:/h",
            "ftp+artp://",
        ] {
            assert!(Remote::parse(wrong).is_err(), "{wrong}");
        }
        let told = Remote::parse("ftp://user:secret@host/").unwrap_err().to_string();
        assert!(!told.contains("secret") && told.contains("command line"), "{told}");
    }
}
