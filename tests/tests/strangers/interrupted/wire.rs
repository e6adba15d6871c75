//! A network of three network namespaces: a client's, a server's, and a router between them that
//! limits the rate, and that can be made to discard everything without a word. Its queue is longer
//! than what TCP sends ahead, and one processor does it all: nothing is lost by chance, and no
//! connection overtakes another.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Command, Stdio, id};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use stackwright_programs::place::Place;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 88, 1, 2);

/// The network. It is gone when this is dropped.
pub(super) struct Wire {
    /// The client's namespace, the router's and the server's.
    names: [String; 3],
}

/// One side of it.
pub(super) struct End<'a> {
    namespace: &'a str,
    address: Ipv4Addr,
}

impl Place for End<'_> {
    fn address(&self) -> IpAddr {
        self.address.into()
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.namespace, "taskset", "--cpu-list", processor()]);
        command.arg(program);
        command
    }
}

impl Wire {
    /// Puts it up. `rate` is that of both directions, as `tc` takes it.
    ///
    /// # Panics
    /// Where iproute2 complains.
    pub(super) fn new(rate: &str) -> Self {
        let wire = Self::unconfigured();
        let [client, router, server] = &wire.names;
        for (device, end) in [("near", client), ("far", server)] {
            let near = ["link", "add", "name", device, "netns", end, "type", "veth"];
            ip(&[&near[..], &["peer", "name", device, "netns", router]].concat());
        }
        for (namespace, device, address) in [
            (client, "near", "10.88.0.2/24"),
            (router, "near", "10.88.0.1/24"),
            (router, "far", "10.88.1.1/24"),
            (server, "far", "10.88.1.2/24"),
        ] {
            ip(&["-n", namespace, "address", "add", address, "dev", device]);
            ip(&["-n", namespace, "link", "set", device, "up"]);
        }
        ip(&["-n", client, "route", "add", "default", "via", "10.88.0.1"]);
        ip(&["-n", server, "route", "add", "default", "via", "10.88.1.1"]);
        let forward = "echo 1 >/proc/sys/net/ipv4/ip_forward";
        ip(&["netns", "exec", router, "sh", "-c", forward]);
        for device in ["near", "far"] {
            let limit = ["qdisc", "add", "dev", device, "root", "tbf", "rate", rate];
            let limit = [&["netns", "exec", router, "tc"], &limit[..]].concat();
            ip(&[&limit[..], &["burst", "128kb", "latency", "400ms"]].concat());
        }
        wire
    }

    fn unconfigured() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("stackwright-{}-{number}-{side}", id());
        let wire = Wire { names: ["client", "router", "server"].map(name) };
        for name in &wire.names {
            ip(&["netns", "add", name]);
        }
        wire
    }

    pub(super) fn client(&self) -> End<'_> {
        End { namespace: &self.names[0], address: CLIENT }
    }

    pub(super) fn server(&self) -> End<'_> {
        End { namespace: &self.names[2], address: SERVER }
    }

    /// Discards all packets from now on.
    pub(super) fn block(&self) {
        self.blackhole("add");
    }

    /// Forwards them again.
    pub(super) fn unblock(&self) {
        self.blackhole("del");
    }

    fn blackhole(&self, verb: &str) {
        for address in [CLIENT, SERVER] {
            let address = address.to_string();
            ip(&["-n", &self.names[1], "route", verb, "blackhole", &address]);
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = quiet(&["netns", "del", name]);
        }
    }
}

/// Whether this process may make such a network.
pub(super) fn may_be_put_up() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let name = format!("stackwright-{}-try", id());
        quiet(&["netns", "add", &name]) && quiet(&["netns", "del", &name])
    })
}

/// The first processor that this process may use.
fn processor() -> &'static str {
    static PROCESSOR: OnceLock<String> = OnceLock::new();
    PROCESSOR.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let first = list.unwrap_or("0").trim();
        first.split([',', '-']).next().unwrap_or("0").into()
    })
}

#[track_caller]
fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("iproute2");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {complaints}", arguments.join(" "));
}

fn quiet(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    let command = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
