//! FTP addresses (RFC 1738 §3.2).

use std::net::SocketAddr;

use percent_encoding::percent_decode_str;

use crate::address::{self, Address};
use crate::air::{self, AirLink};
use crate::bookmarks;
use crate::problem::Problem;

/// What FTP's streams stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// The kernel's TCP.
    Tcp,
    /// TLS from the first octet, over TCP.
    Tls,
    /// ARTP over UDP.
    Artp,
    /// XTP over UDP.
    Xtp,
    /// XSTP over IPv4 and AX.25.
    Radio,
}

impl Below {
    const ALL: [Below; 5] = [Below::Tcp, Below::Tls, Below::Artp, Below::Xtp, Below::Radio];

    /// How an address begins.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Below::Tcp => "ftp",
            Below::Tls => "ftps",
            Below::Artp => "ftp+artp",
            Below::Xtp => "ftp+xtp",
            Below::Radio => "ftp+xstp+ax25",
        }
    }

    /// The names of the stacks of a client and a server over it, of those that are built in.
    pub(crate) fn stacks(self) -> [&'static str; 2] {
        match self {
            Below::Tcp | Below::Tls => ["get-tls", "serve"],
            Below::Artp => ["get-artp", "serve-artp"],
            Below::Xtp => ["get-xtp", "serve-xtp"],
            Below::Radio => ["get-radio", "radio"],
        }
    }

    /// The port where a server is when nobody says another.
    pub(crate) fn port(self) -> u16 {
        match self {
            Below::Tcp | Below::Radio => stackwright::ftp::PORT,
            Below::Tls => stackwright::ftp::TLS_PORT,
            Below::Artp => stackwright::artp::PORT,
            Below::Xtp => stackwright::xtp::PORT,
        }
    }
}

/// The options that not everything below FTP has a use for, and what has.
const OPTIONS: [(&str, &[Below]); 4] = [
    ("--placement", &[Below::Tcp, Below::Tls, Below::Artp, Below::Xtp]),
    ("--packet", &[Below::Artp, Below::Xtp]),
    ("--proxy", &[Below::Tcp, Below::Tls]),
    ("--call", &[Below::Radio]),
];

/// Refuses an option that is given and of which nothing of `below` has a use.
///
/// # Errors
/// What has one.
pub(crate) fn check_option(
    option: &'static str,
    is_given: bool,
    below: &[Below],
) -> Result<(), Problem> {
    let by = OPTIONS.iter().find(|(name, _)| *name == option).map_or(&[][..], |(_, by)| *by);
    if !is_given || below.iter().any(|below| by.contains(below)) {
        return Ok(());
    }
    let schemes =
        |all: &[Below]| all.iter().map(|below| below.scheme()).collect::<Vec<_>>().join(", ");
    Err(Problem::Unhonoured { option, transport: schemes(below), by: schemes(by) })
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
    /// The way by radio; the host is the station then, at its TNC.
    pub(crate) air: Option<AirLink>,
}

impl Remote {
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let text = &bookmarks::expand(text)?;
        let wrong = |why| Problem::Url { url: address::without_password(text), why };
        let (text, settings) = air::split(text);
        let url = Address::parse(text).map_err(wrong)?;
        let below = Below::ALL.into_iter().find(|below| below.scheme() == url.scheme);
        let below = below.ok_or_else(|| {
            wrong("it must begin with ftp://, ftps://, ftp+artp://, ftp+xtp:// or ftp+xstp+ax25://")
        })?;
        let air = (below == Below::Radio).then(|| AirLink::read(&url, settings));
        let air = air.transpose().map_err(wrong)?;
        if url.password.is_some() {
            return Err(wrong(
                "a password on the command line is visible to all users of this machine",
            ));
        }
        let decoded = |text: &str, why| {
            let text = percent_decode_str(text).decode_utf8().map_err(|_| wrong(why))?;
            if text.contains(['\r', '\n', '\0']) { Err(wrong(why)) } else { Ok(text.into_owned()) }
        };
        Ok(Remote {
            below,
            port: url.port.filter(|_| air.is_none()).unwrap_or(below.port()),
            host: air.as_ref().map_or(url.host, AirLink::place),
            // By radio, the station's call sign stands there.
            user: (url.user.filter(|_| air.is_none()))
                .map(|user| decoded(user, "the user name is not valid"))
                .transpose()?,
            air,
            path: decoded(
                &without_dots(as_it_is(url.path).map_err(wrong)?),
                "the path is not a valid file name",
            )?,
        })
    }

    /// Every address of the host, in the order to try them.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>, Problem> {
        match &self.air {
            Some(air) => Ok(vec![(air.peer_address(), stackwright::ftp::PORT).into()]),
            None => address::resolve(&self.host, self.port),
        }
    }

    /// The last part of the path; `None` for a folder.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.path
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty() && *name != "." && *name != "..")
    }
}

/// The path without its transfer type (RFC 1738 §3.2.2): files are moved as they are, which is
/// `;type=i`.
fn as_it_is(path: &str) -> Result<&str, &'static str> {
    let Some((before, code)) = path.rsplit_once(";type=") else { return Ok(path) };
    match code {
        "i" | "I" => Ok(before),
        "a" | "A" => Err("text conversion is not supported; leave out ;type=a"),
        "d" | "D" => Err("use `stackwright ls` to list a folder; leave out ;type=d"),
        _ => Err("the type is unknown; leave out ;type=, or write %3B if a name contains ;"),
    }
}

/// The path without `.` and `..` (RFC 3986 §5.2.4), also where their dots are encoded.
fn without_dots(path: &str) -> String {
    let mut kept = Vec::new();
    let mut names = path.split('/').skip(1).peekable();
    while let Some(name) = names.next() {
        let last = names.peek().is_none().then_some("");
        match &*percent_decode_str(name).collect::<Vec<_>>() {
            b"." => kept.extend(last),
            b".." => {
                kept.pop();
                kept.extend(last);
            }
            _ => kept.push(name),
        }
    }
    format!("/{}", kept.join("/"))
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
        let remote = Remote::parse("ftps://host/a").unwrap();
        assert_eq!((remote.below, remote.port), (Below::Tls, 990));
        let remote = Remote::parse("ftp+artp://al%20ice@host").unwrap();
        assert_eq!((remote.below, remote.port, remote.path.as_str()), (Below::Artp, 4330, "/"));
        assert_eq!((remote.user.as_deref(), remote.file_name()), (Some("al ice"), None));
        let remote = Remote::parse("FTP+XTP://host/a").unwrap();
        assert_eq!((remote.below, remote.port), (Below::Xtp, 4360));
        let remote = Remote::parse("ftp+artp://[::1]:7/a/../b%20c").unwrap();
        assert_eq!((remote.host.as_str(), remote.port, remote.path.as_str()), ("[::1]", 7, "/b c"));
        assert_eq!(Remote::parse("ftp://host/%2Fetc/x").unwrap().path, "//etc/x");
        let remote = Remote::parse("ftp://me@[fe80::1%251]/x").unwrap();
        assert_eq!(remote.addresses().unwrap(), ["[fe80::1%1]:21".parse().unwrap()]);
    }

    #[test]
    fn paths_are_names_from_the_users_folder() {
        for (written, path) in [
            ("", "/"),
            ("/", "/"),
            ("/a b/c", "/a b/c"),
            ("/a%2Fb", "/a/b"),
            ("/%C3%A4/\u{e4}", "/\u{e4}/\u{e4}"),
            ("/100%", "/100%"),
            ("//a//b/", "//a//b/"),
            ("/a/./b/.", "/a/b/"),
            ("/a/../../b/..", "/"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/..b/.../c", "/a/..b/.../c"),
            ("/a;type=i", "/a"),
            ("/a/;type=I", "/a/"),
            ("/a%3Btype=a", "/a;type=a"),
            ("/a;b", "/a;b"),
        ] {
            let read = Remote::parse(&format!("ftp://host{written}")).map(|remote| remote.path);
            assert_eq!(read.ok().as_deref(), Some(path), "{written}");
        }
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
            "ftp://a%0d@h/",
            "ftp://h/a%00",
            "ftp://h/a?b",
            "ftp://h/a;type=a",
            "ftp://h/a;type=d",
            "ftp://h/a;type=",
        ] {
            assert!(Remote::parse(wrong).is_err(), "{wrong}");
        }
        let told = Remote::parse("ftp://user:secret@host/").unwrap_err().to_string();
        assert!(!told.contains("secret") && told.contains("command line"), "{told}");
    }
}
