//! Routes: the longest prefix leads, and of equally long ones the smallest metric.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::address::has_prefix;
use crate::{Config, IpRoute};

/// The routes of a host or a router. They are few, and looked through in order; an association
/// keeps what it has found.
#[derive(Debug)]
pub(crate) struct Routes {
    /// The first that fits is the best.
    routes: Vec<IpRoute>,
}

impl Routes {
    pub(crate) fn new(config: &Config) -> Self {
        let mut routes = config.routes.clone();
        for (interface, IpInterface { addresses }) in (0..).zip(&config.interfaces) {
            routes.extend(addresses.iter().map(|(prefix, length)| IpRoute {
                prefix: *prefix,
                length: *length,
                interface,
                next_hop: None,
                metric: 0,
            }));
        }
        routes.sort_by_key(|route| (u8::MAX - route.length, route.metric));
        Routes { routes }
    }

    /// Returns the interface and the next hop on the way to `host`.
    #[inline]
    pub(crate) fn resolve(&self, host: IpAddr) -> Option<(u16, IpAddr)> {
        let fits = |route: &&IpRoute| has_prefix(host, route.prefix, route.length);
        let route = self.routes.iter().find(fits)?;
        Some((route.interface, route.next_hop.unwrap_or(host)))
    }
}

use crate::config::IpInterface;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_leads_and_then_the_smallest_metric() {
        let host = |text: &str| text.parse::<IpAddr>().expect("an address");
        let interface =
            |address, length| IpInterface { addresses: Vec::from([(host(address), length)]) };
        let mut config = Config::new(Vec::from([
            interface("10.0.0.1", 24),
            interface("10.0.1.1", 24),
            interface("2001:db8::1", 64),
        ]))
        .through(host("10.0.0.254"), 0)
        .through(host("2001:db8::fe"), 2);
        for (prefix, length, interface, next_hop, metric) in [
            ("10.0.2.0", 24, 0, "10.0.0.9", 5),
            ("10.0.2.0", 24, 1, "10.0.1.9", 4),
            ("10.0.2.128", 25, 1, "10.0.1.8", 9),
            ("10.0.0.7", 32, 1, "10.0.1.7", 0),
        ] {
            let (prefix, next_hop) = (host(prefix), Some(host(next_hop)));
            config.routes.push(IpRoute { prefix, length, interface, next_hop, metric });
        }
        let routes = Routes::new(&config);
        for (to, interface, next_hop) in [
            ("10.0.0.5", 0, "10.0.0.5"),
            ("10.0.0.7", 1, "10.0.1.7"),
            ("10.0.1.5", 1, "10.0.1.5"),
            ("10.0.2.5", 1, "10.0.1.9"),
            ("10.0.2.200", 1, "10.0.1.8"),
            ("8.8.8.8", 0, "10.0.0.254"),
            ("2001:db8::5", 2, "2001:db8::5"),
            ("2001:db9::5", 2, "2001:db8::fe"),
        ] {
            assert_eq!(routes.resolve(host(to)), Some((interface, host(next_hop))), "{to}");
        }
        assert_eq!(
            Routes::new(&Config::host(host("10.0.0.1"), 24)).resolve(host("10.9.0.1")),
            None
        );
    }
}
