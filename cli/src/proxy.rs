//! Which proxy the client goes through, if any.

use std::env;
use std::net::SocketAddr;

use percent_encoding::percent_decode_str;
use stackwright::proxy::{Config, Kind, Login};

use crate::address::{self, Address};
use crate::netrc;
use crate::problem::Problem;

/// Returns the proxy for `host`: that of the command line, else that of the environment
/// (`ALL_PROXY`), unless `NO_PROXY` or the host itself says that none is needed.
pub(crate) fn choose(argument: Option<&str>, host: &str) -> Result<Option<Config>, Problem> {
    if let Some(url) = argument {
        if Address::parse(url).is_ok_and(|url| url.password.is_some()) {
            let why = "a password on the command line is visible to all users of this machine";
            return Err(Problem::Proxy { url: address::without_password(url), why });
        }
        return parse(url).map(Some);
    }
    let known = |name: &str| {
        let value = env::var(name).or_else(|_| env::var(name.to_ascii_lowercase()));
        value.ok().filter(|value| !value.is_empty())
    };
    match known("ALL_PROXY") {
        Some(url) if !is_direct(host, known("NO_PROXY").as_deref().unwrap_or_default()) => {
            parse(&url).map(Some)
        }
        _ => Ok(None),
    }
}

fn parse(text: &str) -> Result<Config, Problem> {
    let wrong = |why| Problem::Proxy { url: address::without_password(text), why };
    let url = Address::parse(text).map_err(wrong)?;
    let (kind, port) = match &*url.scheme {
        "socks5" | "socks5h" | "socks" => (Kind::Socks5, 1080),
        "http" => (Kind::HttpConnect, 8080),
        _ => return Err(wrong("it must begin with socks5:// or http://")),
    };
    if !matches!(url.path, "" | "/") {
        return Err(wrong("it has no path"));
    }
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(|text| text.into_owned())
            .map_err(|_| wrong("the user or the password is not valid"))
    };
    let user = url.user.map(decoded).transpose()?;
    let password = match url.password {
        Some(password) => Some(decoded(password)?),
        None => netrc::find(&url.host, user.as_deref())?
            .filter(|_| user.is_some())
            .and_then(|login| login.password),
    };
    let address = address::resolve(&url.host, url.port.unwrap_or(port))?;
    let address: SocketAddr = *address.first().ok_or_else(|| wrong("the host has no address"))?;
    let login = user.map(|user| Login { user, password: password.unwrap_or_default() });
    Ok(Config { login, ..Config::new(kind, address) })
}

/// Whether a host is reached without the proxy of the environment: this machine, and what the list
/// names (`example.org` is all hosts below it, too; `*` is all).
fn is_direct(host: &str, list: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    let is_loopback = bare.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let named = list.split([',', ' ']).map(|name| name.trim_start_matches('.')).any(|name| {
        let below = bare.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        !name.is_empty() && (name == "*" || bare.eq_ignore_ascii_case(name) || below)
    });
    is_loopback || bare == "localhost" || named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read() {
        let proxy = parse("socks5://ann:x%20y@127.0.0.1").unwrap();
        assert_eq!(
            (proxy.kind, proxy.address.internet()),
            (Kind::Socks5, "127.0.0.1:1080".parse().ok())
        );
        let login = proxy.login.expect("a login");
        assert_eq!((&*login.user, &*login.password), ("ann", "x y"));
        let proxy = parse("http://[::1]:3128/").unwrap();
        assert_eq!(proxy.kind, Kind::HttpConnect);
        assert_eq!(proxy.address.internet(), "[::1]:3128".parse().ok());
        for wrong in ["127.0.0.1:1080", "ftp://h", "http://127.0.0.1/path", "socks5://"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let told = choose(Some("http://ann:secret@127.0.0.1"), "x").unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn the_environments_list_of_hosts_without_a_proxy() {
        for (host, direct) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("localhost", true),
            ("ftp.example.org", true),
            ("example.org", true),
            ("anexample.org", false),
            ("192.0.2.1", false),
        ] {
            assert_eq!(is_direct(host, "a.b, .example.org"), direct, "{host}");
        }
        assert!(is_direct("x", "*") && !is_direct("x", ""));
    }
}
