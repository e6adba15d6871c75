//! Files of servers, as they are written in addresses.

use std::fmt::Write;

use percent_encoding::percent_decode_str;
pub(crate) use stackwright::contract::path::{join, split};

use crate::problem::Problem;
use crate::remote::Remote;
use crate::{air, bookmarks};

/// What makes a name a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Returns the address of a path on the same server as `remote`.
pub(crate) fn url(remote: &Remote, path: &str) -> String {
    address(remote, path, &PATTERN)
}

/// Returns the address of what matches a pattern there.
pub(crate) fn pattern(remote: &Remote, path: &str) -> String {
    address(remote, path, &[])
}

fn address(remote: &Remote, path: &str, escaped: &[char]) -> String {
    let mut url = format!("{}://", remote.below.scheme());
    if let Some(user) = &remote.user {
        escape(&mut url, user, &[':', '@', '/']);
        url.push('@');
    }
    url.push_str(&remote.host);
    if remote.port != remote.below.port() {
        let _ = write!(url, ":{}", remote.port);
    }
    if !path.starts_with('/') {
        url.push('/');
    }
    escape(&mut url, path, escaped);
    if let Some(air) = remote.air.as_ref().filter(|air| !air.settings.is_empty()) {
        let _ = write!(url, "?{}", air.settings);
    }
    url
}

/// Writes a text so that an address does not take it for something else.
fn escape(url: &mut String, text: &str, more: &[char]) {
    for letter in text.chars() {
        let is_special = letter.is_control() || [' ', '%', '?', '#', ';'].contains(&letter);
        if is_special || more.contains(&letter) {
            let mut octets = [0; 4];
            for octet in letter.encode_utf8(&mut octets).bytes() {
                let _ = write!(url, "%{octet:02X}");
            }
        } else {
            url.push(letter);
        }
    }
}

/// Reads an address whose last name may be a pattern: then it has a `*` or `[` that is not
/// percent-encoded, and those that are stand for themselves. Returns whether it is one.
pub(crate) fn parse(text: &str) -> Result<(Remote, bool), Problem> {
    let mut remote = Remote::parse(text)?;
    let expanded = bookmarks::expand(text)?;
    let (expanded, _) = air::split(&expanded);
    let path =
        expanded.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    let Some((_, last)) = path.map(split).filter(|(_, last)| last.contains(['*', '['])) else {
        return Ok((remote, false));
    };
    let mut pattern = last.to_owned();
    for (encoded, literal) in [
        ("%2A", "[*]"),
        ("%2a", "[*]"),
        ("%3F", "[?]"),
        ("%3f", "[?]"),
        ("%5B", "[[]"),
        ("%5b", "[[]"),
    ] {
        pattern = pattern.replace(encoded, literal);
    }
    let pattern = percent_decode_str(&pattern).decode_utf8_lossy();
    remote.path = join(split(&remote.path).0, &pattern);
    Ok((remote, true))
}

/// Whether the last name of a path is a pattern.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains(PATTERN))
}

/// Whether a word is the address of a file on a server, and not a file of this machine.
pub(crate) fn is_address(word: &str) -> bool {
    word.contains("://") || bookmarks::is_meant(word)
}

/// Whether both are on one server, for the same user.
pub(crate) fn same_server(one: &Remote, other: &Remote) -> bool {
    (one.below, &one.host, one.port, &one.user, &one.air)
        == (other.below, &other.host, other.port, &other.user, &other.air)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_path() {
        for (url_of, path) in [
            ("ftp://ann@host:2121/x", "/a b/100%/c;d?e#f"),
            ("ftp+artp://[::1]/x", "/\u{e4}/[x]*"),
            ("ftp://a%40b@host/x", "//etc/x"),
            ("ftp+xstp+ax25://N0BBB@host/x?via=RELAY-1", "/a?b"),
            ("ftp+xstp+ax25://N0BBB/?rate=9600&line=pty:./tnc", "/a"),
        ] {
            let remote = Remote::parse(url_of).unwrap();
            let again = Remote::parse(&url(&remote, path)).unwrap();
            assert_eq!((again.path.as_str(), &again.user), (path, &remote.user));
            assert_eq!((again.port, again.host), (remote.port, remote.host));
        }
    }

    #[test]
    fn what_is_encoded_is_no_pattern() {
        let read = |text: &str| parse(text).map(|(remote, is)| (remote.path, is)).unwrap();
        assert_eq!(read("ftp://h/a/*.t%20t"), ("/a/*.t t".into(), true));
        assert_eq!(read("ftp://h/a*/b"), ("/a*/b".into(), false));
        assert_eq!(read("ftp://h/a%5B1%5D.txt"), ("/a[1].txt".into(), false));
        assert_eq!(read("ftp://h/%5B*"), ("/[[]*".into(), true));
        assert_eq!(read("ftp://[::1]"), ("/".into(), false));
    }

    #[test]
    fn patterns_are_in_the_last_name() {
        assert!(is_pattern("/a/*.txt") && is_pattern("x?") && is_pattern("/[ab]"));
        assert!(!is_pattern("/*/a") && !is_pattern("/a/"));
    }
}
