//! Addresses of servers: `scheme://user:password@host:port/path` (RFC 3986 §3), as far as this
//! program has them.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};

use percent_encoding::percent_decode_str;

use crate::problem::Problem;

/// The parts of an address. What is borrowed is as it was written: percent-encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    /// In small letters.
    pub(crate) scheme: String,
    /// Neither is ever empty.
    pub(crate) user: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
    /// A name in small letters, an IPv4 address, or an IPv6 address in brackets, with its zone if
    /// it has one. Never empty.
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    /// Empty, or begins with `/`.
    pub(crate) path: &'a str,
}

impl<'a> Address<'a> {
    /// Takes an address apart.
    ///
    /// # Errors
    /// Says what is wrong with it, and what to write in its place.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.contains(|letter: char| letter.is_control()) {
            return Err("it contains control characters; percent-encode them, such as %09");
        }
        let (scheme, rest) = text.split_once("://").ok_or("it has no ://")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if path.contains(['?', '#']) {
            return Err("it contains ? or #; if a name contains it, write %3F or %23");
        }
        let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (host, port) = host_and_port(place)?;
        let some = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        let scheme = scheme.to_ascii_lowercase();
        Ok(Address { scheme, user: some(user), password: some(password), host, port, path })
    }
}

pub(crate) fn host_and_port(place: &str) -> Result<(String, Option<u16>), &'static str> {
    let (host, port) = if let Some(literal) = place.strip_prefix('[') {
        let (literal, behind) =
            literal.split_once(']').ok_or("the ] after the IPv6 address is missing")?;
        let port = behind.strip_prefix(':').unwrap_or(behind);
        if port.len() == behind.len() && !port.is_empty() {
            return Err("only a port may follow the ], as in [::1]:2121");
        }
        (internet_6(literal)?, port)
    } else {
        let (host, port) = place.rsplit_once(':').unwrap_or((place, ""));
        if host.contains(':') {
            return Err("put the IPv6 address in brackets, as in [::1]");
        }
        (name(host)?, port)
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    let is_number = port.bytes().all(|digit| digit.is_ascii_digit());
    let port = port
        .parse()
        .ok()
        .filter(|_| is_number)
        .ok_or("the port is not a number from 0 to 65535")?;
    Ok((host, Some(port)))
}

/// An IPv6 address, perhaps with a zone behind `%25` (RFC 6874), or behind a bare `%`, as `ip
/// address` shows it.
fn internet_6(literal: &str) -> Result<String, &'static str> {
    let (address, zone) = match literal.split_once('%') {
        None => (literal, None),
        Some((address, zone)) => {
            let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
            let zone = percent_decode_str(zone).decode_utf8().ok();
            let is_sound =
                |zone: &str| !zone.is_empty() && zone.bytes().all(|octet| octet.is_ascii_graphic());
            let zone = zone.filter(|zone| is_sound(zone));
            (
                address,
                Some(zone.ok_or("the % must be followed by an interface, as in [fe80::1%25eth0]")?),
            )
        }
    };
    let address: Ipv6Addr =
        address.parse().map_err(|_| "the brackets do not contain an IPv6 address, as in [::1]")?;
    Ok(match zone {
        None => format!("[{address}]"),
        Some(zone) => format!("[{address}%{zone}]"),
    })
}

/// The name of a host, or an IPv4 address.
fn name(host: &str) -> Result<String, &'static str> {
    let host =
        percent_decode_str(host).decode_utf8().map_err(|_| "the host is not a valid name")?;
    if host.is_empty() {
        return Err("it names no host");
    }
    if !host.is_ascii() {
        return Err("the host has non-ASCII letters; write its DNS form, which begins with xn--");
    }
    if !host.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-._~".contains(&octet)) {
        return Err("the host is not a valid name: use letters, digits, hyphens and dots");
    }
    Ok(host.to_ascii_lowercase())
}

/// Every address of a host, in the order to try them. There is at least one.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Problem> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let unknown = |why| Problem::Host { host: host.into(), why };
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(unknown)?.collect();
    if addresses.is_empty() {
        return Err(unknown(std::io::Error::other("it has no address")));
    }
    Ok(addresses)
}

/// An address as it may be shown, however wrong it is: what may be a password is left out.
pub(crate) fn without_password(text: &str) -> String {
    let start = text.find("://").map_or(0, |end| end + "://".len());
    let rest = &text[start..];
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
    // A password that was not encoded may hold a slash: then no @ is before it.
    let Some(at) = authority.rfind('@').or_else(|| rest.rfind('@')) else { return text.into() };
    let literal = if rest.starts_with('[') { rest.find(']').unwrap_or(0) } else { 0 };
    let Some(colon) = rest[literal.min(at)..at].find(':').map(|colon| literal + colon + 1) else {
        return text.into();
    };
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    match authority.get(colon..) {
        Some(port) if colon < at && !(at > authority.len() && is_port(port)) => {
            format!("{}****{}", &text[..start + colon], &rest[at..])
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address<'_> {
        Address::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn an_address_has_its_parts() {
        let whole = read("FTP://me:secret@Host.Example:2121/a%20b/c");
        assert_eq!(
            (whole.scheme.as_str(), whole.user, whole.password),
            ("ftp", Some("me"), Some("secret"))
        );
        assert_eq!(
            (whole.host.as_str(), whole.port, whole.path),
            ("host.example", Some(2121), "/a%20b/c")
        );
        let bare = read("ordered+artp://h");
        assert_eq!((bare.user, bare.password, bare.port, bare.path), (None, None, None, ""));
        assert_eq!(bare.scheme, "ordered+artp");
    }

    #[test]
    fn what_is_empty_is_not_there() {
        let empty = read(" x://:@h:/ ");
        assert_eq!((empty.user, empty.password, empty.port, empty.path), (None, None, None, "/"));
        assert_eq!(read("x://me:@h").password, None);
        assert_eq!(read("x://:secret@h").password, Some("secret"));
    }

    #[test]
    fn a_user_ends_with_the_last_at_sign_before_the_path() {
        assert_eq!(read("x://a@b@h/c@d").user, Some("a@b"));
        assert_eq!((read("x://h/a@b:c").user, read("x://h/a@b:c").path), (None, "/a@b:c"));
        assert_eq!(read("x://a:b:c@h").password, Some("b:c"));
    }

    #[test]
    fn hosts_are_names_and_addresses_of_both_families() {
        for (text, host, port) in [
            ("x://127.0.0.1:7", "127.0.0.1", Some(7)),
            ("x://my_host-1.example.", "my_host-1.example.", None),
            ("x://%61bc", "abc", None),
            ("x://[::1]", "[::1]", None),
            ("x://[0:0::1]:2121/a", "[::1]", Some(2121)),
            ("x://[::ffff:192.0.2.1]:", "[::ffff:192.0.2.1]", None),
            ("x://me@[fe80::1%25eth0]:21", "[fe80::1%eth0]", Some(21)),
            ("x://[fe80::1%eth0]", "[fe80::1%eth0]", None),
            ("x://[fe80::1%25en%2D1]", "[fe80::1%en-1]", None),
        ] {
            let address = read(text);
            assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (text, says) in [
            ("host/path", "://"),
            ("ftp:/host", "://"),
            ("", "://"),
            ("x://", "no host"),
            ("x:///path", "no host"),
            ("x://me@", "no host"),
            ("x://:21/", "no host"),
            ("x://::1/", "brackets"),
            ("x://fe80::1%25eth0", "brackets"),
            ("x://[::1", "]"),
            ("x://[::1]2121", "[::1]:2121"),
            ("x://[host]", "IPv6"),
            ("x://[127.0.0.1]", "IPv6"),
            ("x://[]", "IPv6"),
            ("x://[fe80::1%]", "interface"),
            ("x://[fe80::1%25a%20b]", "interface"),
            ("x://h:65536", "65535"),
            ("x://h:+1", "65535"),
            ("x://h:ftp", "65535"),
            ("x://b\u{fc}cher.example", "xn--"),
            ("x://%ff", "not a valid name"),
            ("x://a b/", "not a valid name"),
            ("x://a%2Fb/", "not a valid name"),
            ("x://h/a?b", "%3F"),
            ("x://h?b", "%3F"),
            ("x://h/a#b", "%23"),
            ("x://h/a\nb", "%09"),
        ] {
            let why = Address::parse(text).expect_err(text);
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn hosts_have_addresses() {
        let here = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(resolve("127.0.0.1", 7).unwrap(), [here("127.0.0.1:7")]);
        assert_eq!(resolve("[::1]", 7).unwrap(), [here("[::1]:7")]);
        assert_eq!(resolve(&read("x://[fe80::1%251]").host, 7).unwrap(), [here("[fe80::1%1]:7")]);
        assert!(resolve("nobody.invalid", 7).is_err());
    }

    #[test]
    fn no_password_is_shown() {
        for (text, shown) in [
            ("ftp://me:secret@h/p", "ftp://me:****@h/p"),
            ("ftp://me:secret@h:99999/", "ftp://me:****@h:99999/"),
            ("ftp://:secret@h", "ftp://:****@h"),
            ("ftp://me:se:c@ret@h/a@b", "ftp://me:****@h/a@b"),
            ("ftp://me:sec/ret@h", "ftp://me:****@h"),
            ("ftp://me:12/34x@h", "ftp://me:12/34x@h"), // h is a file's name here, of the host me
            ("me:secret@h", "me:****@h"),
            ("ftp:/me:secret@h", "ftp:****@h"),
            ("ftp://[::1]:21/a@b", "ftp://[::1]:21/a@b"),
            ("ftp://[::1/a@b", "ftp://[:****@b"),
            ("ftp://h:21/a@b:c", "ftp://h:21/a@b:c"),
            ("ftp://h/a:b@c", "ftp://h/a:b@c"),
            ("ftp://me@h:21/a:b", "ftp://me@h:21/a:b"),
            ("ftp://me:@h", "ftp://me:@h"),
            ("ftp://h/a", "ftp://h/a"),
        ] {
            assert_eq!(without_password(text), shown, "{text}");
        }
    }
}
