//! The description of the two protocols in a file.

use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::str::FromStr;

use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::address::{bits, is_host};
use crate::{Config, Ip, IpInterface, IpRoute, Point};

const PARAMETERS: &[Parameter] = &[
    Parameter::required(
        "address",
        ParameterKind::Text,
        "its addresses with prefixes, such as 10.6.0.2/24; a comma between interfaces",
    ),
    Parameter::new(
        "routes",
        ParameterKind::Text,
        "such as 0.0.0.0/0 via 10.6.0.1, 10.9.0.0/16 on 1; a comma between them",
    ),
    Parameter::new("forwards", ParameterKind::Truth, "whether packets for others are forwarded"),
    Parameter::new("echo", ParameterKind::Truth, "whether echo requests are answered"),
    Parameter::new("fragments", ParameterKind::Truth, "whether long messages are fragmented"),
    Parameter::new("hops", ParameterKind::Number, "hops that packets may take, to 255"),
];

/// Returns the description of [`Ip`].
pub const fn described<M: Message>() -> Described<Ip<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| Ok(Ip::new(Config { seed, ..config(table)? })),
    }
}

/// Returns the description of [`Point`], which has no parameters.
pub const fn described_point<M: Message>() -> Described<Point<M>> {
    Described { parameters: &[], make: |_, _| Ok(Point::default()) }
}

fn read<T: FromStr>(text: &str, key: &'static str, what: &str) -> Result<T, Unfit> {
    text.parse().map_err(|_| Unfit { key, is: format!("is {what}, and `{text}` stands there") })
}

/// Reads an address, a slash, and the length of its prefix.
fn prefix(text: &str, key: &'static str) -> Result<(IpAddr, u8), Unfit> {
    const WHAT: &str = "addresses with prefixes, such as 10.6.0.2/24";
    let is = || Unfit { key, is: format!("is {WHAT}, and `{text}` stands there") };
    let (host, length) = text.split_once('/').ok_or_else(is)?;
    let (host, length) = (read(host, key, WHAT)?, read(length, key, WHAT)?);
    if length > bits(host) { Err(is()) } else { Ok((host, length)) }
}

fn route(text: &str, interfaces: &[IpInterface]) -> Result<IpRoute, Unfit> {
    const KEY: &str = "routes";
    let is = |why: &str| Unfit {
        key: KEY,
        is: format!("is a prefix, {why}, and `{text}` stands there"),
    };
    let mut words = text.split_whitespace();
    let (prefix, length) = prefix(words.next().unwrap_or_default(), KEY)?;
    let mut route = IpRoute { prefix, length, interface: u16::MAX, next_hop: None, metric: 0 };
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word {
            "via" => route.next_hop = Some(read(value, KEY, "a router's address after `via`")?),
            "on" => route.interface = read(value, KEY, "an interface's number after `on`")?,
            "metric" => route.metric = read(value, KEY, "a number after `metric`")?,
            _ => return Err(is("then `via`, `on` or `metric`, each with its value")),
        }
    }
    if route.interface == u16::MAX
        && let Some(router) = route.next_hop
    {
        // A router is on the link whose prefix it has.
        let has = |interface: &IpInterface| {
            let mut all = interface.addresses.iter();
            all.any(|(own, length)| crate::address::has_prefix(router, *own, *length))
        };
        let place = interfaces.iter().position(has);
        route.interface = place.map_or(u16::MAX, |place| place as u16);
    }
    let is_there = usize::from(route.interface) < interfaces.len();
    let is_same = route.next_hop.is_none_or(|router| router.is_ipv4() == prefix.is_ipv4());
    if is_there && is_same {
        return Ok(route);
    }
    Err(is("then `via` a router on a link of this host, or `on` an interface"))
}

fn config(table: &dyn ParameterTable) -> Result<Config, Unfit> {
    const KEY: &str = "address";
    let addresses = |text: &str| {
        let addresses = text.split_whitespace().map(|text| prefix(text, KEY));
        Ok(IpInterface { addresses: addresses.collect::<Result<_, _>>()? })
    };
    let text = table.text(KEY).unwrap_or_default();
    let interfaces: Vec<_> = text.split(',').map(addresses).collect::<Result<_, _>>()?;
    for (host, _) in interfaces.iter().flat_map(|interface| &interface.addresses) {
        if !is_host(*host) {
            let is = format!("is an address of one host, and `{host}` stands there");
            return Err(Unfit { key: KEY, is });
        }
    }
    let routes = table.text("routes").unwrap_or_default().split(',').map(str::trim);
    let routes = routes.filter(|text| !text.is_empty()).map(|text| route(text, &interfaces));
    let routes = routes.collect::<Result<_, _>>()?;
    let mut config = Config { routes, ..Config::new(interfaces) };
    config.forwards = table.truth("forwards").unwrap_or(config.forwards);
    config.answers_echo = table.truth("echo").unwrap_or(config.answers_echo);
    config.fragments = table.truth("fragments").unwrap_or(config.fragments);
    if let Some(hops) = table.within("hops", 1..=255)? {
        config.hop_limit = hops as u8;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table<'a>(&'a [(&'a str, &'a str)]);

    impl ParameterTable for Table<'_> {
        fn text(&self, key: &str) -> Option<&str> {
            self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
        }

        fn number(&self, _: &str) -> Option<i64> {
            None
        }

        fn truth(&self, key: &str) -> Option<bool> {
            self.text(key).map(|value| value == "true")
        }
    }

    #[test]
    fn a_file_describes_a_router() {
        let config = config(&Table(&[
            ("address", "10.6.0.2/24 2001:db8::2/64, 10.7.0.2/16"),
            ("routes", "0.0.0.0/0 via 10.7.0.1 metric 7, 10.9.0.0/16 on 0"),
            ("forwards", "true"),
        ]))
        .expect("a configuration");
        let host = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(config.interfaces[0].addresses[1], (host("2001:db8::2"), 64));
        assert_eq!(config.interfaces[1].addresses, [(host("10.7.0.2"), 16)]);
        let [default, other] = &config.routes[..] else { panic!("two routes") };
        assert_eq!((default.interface, default.metric), (1, 7));
        assert_eq!((other.interface, other.next_hop, other.length), (0, None, 16));
        assert!(config.forwards && config.answers_echo);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (address, routes) in [
            ("10.6.0.2", ""),
            ("10.6.0.2/33", ""),
            ("224.0.0.1/24", ""),
            ("10.6.0.2/24", "0.0.0.0/0 via 10.7.0.1"),
            ("10.6.0.2/24", "0.0.0.0/0"),
            ("10.6.0.2/24", "::/0 via 10.6.0.1"),
            ("10.6.0.2/24", "0.0.0.0/0 on 1"),
            ("10.6.0.2/24", "0.0.0.0/0 by 1"),
        ] {
            let table = [("address", address), ("routes", routes)];
            assert!(config(&Table(&table)).is_err(), "{address}; {routes}");
        }
    }
}
