//! Stacks described in files: where they are found, and how a flaw in one is shown.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use stackwright::compose::graph::{DESCRIPTION_MOST, Description, Flaw};
use stackwright::contract::CallSign;
use stackwright::dsr;
use stackwright_drivers::packet;

use crate::air::{AirEnds, AirLink};
use crate::flawed::Flawed;
use crate::inet::Inet;
use crate::placement::Placement;
use crate::problem::Problem;
use crate::remote::Below;

/// The descriptions that every program has with it, by the commands that they describe.
const BUILT_IN: [(&[&str], &str); 26] = [
    (&["get", "put", "ls"], include_str!("../stacks/get.toml")),
    (&["get-tls"], include_str!("../stacks/get-tls.toml")),
    (&["get-artp"], include_str!("../stacks/get-artp.toml")),
    (&["get-xtp"], include_str!("../stacks/get-xtp.toml")),
    (&["get-inet"], include_str!("../stacks/get-inet.toml")),
    (&["get-radio"], include_str!("../stacks/get-radio.toml")),
    (&["serve"], include_str!("../stacks/serve.toml")),
    (&["serve-artp"], include_str!("../stacks/serve-artp.toml")),
    (&["serve-xtp"], include_str!("../stacks/serve-xtp.toml")),
    (&["serve-inet"], include_str!("../stacks/serve-inet.toml")),
    (&["socks"], include_str!("../stacks/socks.toml")),
    (&["xkernel-rpc"], include_str!("../stacks/xkernel-rpc.toml")),
    (&["ping"], include_str!("../stacks/ping.toml")),
    (&["ftp-radio"], include_str!("../stacks/ftp-radio.toml")),
    (&["thesis-radio"], include_str!("../stacks/thesis-radio.toml")),
    (&["radio"], include_str!("../stacks/radio.toml")),
    (&["radio-hub"], include_str!("../stacks/radio-hub.toml")),
    (&["artp"], include_str!("../stacks/artp.toml")),
    (&["udp"], include_str!("../stacks/udp.toml")),
    (&["xtp"], include_str!("../stacks/xtp.toml")),
    (&["stream+xtp"], include_str!("../stacks/stream+xtp.toml")),
    (&["tcp"], include_str!("../stacks/tcp.toml")),
    (&["xtp+ip"], include_str!("../stacks/xtp+ip.toml")),
    (&["xstp"], include_str!("../stacks/xstp.toml")),
    (&["group-talk"], include_str!("../stacks/group-talk.toml")),
    (&["group-store"], include_str!("../stacks/group-store.toml")),
];

/// The name of the stack of a client by radio.
const GET_RADIO: &str = "get-radio";

/// A description that was read, with its text, so that flaws can be shown in it.
pub(crate) struct Described {
    /// As whoever asked for it called it.
    pub(crate) name: String,
    pub(crate) description: Description,
    text: String,
}

impl Described {
    /// One that is built in, or else a file.
    pub(crate) fn load(name: &Path) -> Result<Self, Problem> {
        let built_in =
            BUILT_IN.iter().find(|(names, _)| names.iter().any(|known| name == Path::new(known)));
        let text = match built_in {
            Some((_, text)) => (*text).to_owned(),
            None => read(name).map_err(|why| Problem::NoStack { name: name.into(), why })?,
        };
        Self::read(name.display().to_string(), text)
    }

    /// One that is built in, on this device and at this address. A TUN device has packets, any
    /// other has frames between stations.
    pub(crate) fn on_device(name: &str, inet: &Inet) -> Result<Self, Problem> {
        const STATIONS: &str = "\"resolve\"\nover = \"ethernet\"\n\n[ethernet]";
        let Described { mut text, .. } = Self::load(Path::new(name))?;
        if inet.xdp || packet::address(&inet.device).is_ok() {
            let frames = if inet.xdp { "\"xdp\"" } else { "\"packet\"" };
            text = text.replace("\"point\"", STATIONS).replace("\"tun\"", frames);
        }
        let text = text
            .replace("\"10.77.0.2/24\"", &format!("\"{}\"", inet.network))
            .replace("\"sw0\"", &format!("{:?}", inet.device));
        Self::read(name.into(), text)
    }

    /// One that is built in, for a client or a server, whose transport is where `placement` says.
    pub(crate) fn placed(name: &str, below: Below, placement: &Placement) -> Result<Self, Problem> {
        const OVER_UDP: &str = "over = \"udp\"\npacket = 1472\n\n[udp]\n";
        let (stack, here, protocol) = match below {
            Below::Artp => ("artp", OVER_UDP, "server"),
            Below::Xtp => ("stream+xtp", OVER_UDP, "stream server"),
            _ => ("tcp", "[tcp]\n", "stream server"),
        };
        let Described { mut text, .. } = Self::load(Path::new(name))?;
        debug_assert!(text.contains(here), "the stack has {stack}");
        if let Some(socket) = placement.socket(stack)? {
            let head = if here == OVER_UDP { "" } else { here };
            let there = format!("{head}protocol = {protocol:?}\nat = {socket:?}\n");
            text = text.replace(here, &there);
        }
        Self::read(name.into(), text)
    }

    /// The stack of a client by radio, for this link from the station `call`.
    pub(crate) fn on_air(air: &AirLink, call: Option<&str>) -> Result<Self, Problem> {
        Self::read(GET_RADIO.into(), Self::text_on_air(air, call)?)
    }

    /// The same of IP alone.
    pub(crate) fn ip_on_air(air: &AirLink, call: Option<&str>) -> Result<Self, Problem> {
        let text = Self::text_on_air(air, call)?;
        let below = text.split_once("[ip]").and_then(|(_, below)| below.split_once("[disk]"));
        let (below, _) = below.expect("the client's stack has both");
        Self::read("ping".into(), format!("top = \"ip\"\n\n[ip]{below}"))
    }

    fn text_on_air(air: &AirLink, call: Option<&str>) -> Result<String, Problem> {
        let AirEnds { call, own, peer } = air.ends(call)?;
        let via: Vec<_> = air.via.iter().map(CallSign::to_string).collect();
        let Described { text, .. } = Self::load(Path::new(GET_RADIO))?;
        let text = text
            .replace("10.0.0.1=N0CALL-1", &format!("{peer}={}", air.peer))
            .replace("10.0.0.2/8", &own.to_string())
            .replace("\"N0CALL-2\"", &format!("\"{call}\""))
            .replace("\"N0CALL-1\"", &format!("\"{}\"", air.peer))
            .replace("via = \"\"", &format!("via = \"{}\"", via.join(" ")))
            .replace("rate = 1200", &format!("rate = {}", air.rate))
            .replace("\"tcp://127.0.0.1:8001\"", &format!("{:?}", air.line));
        if !air.dsr {
            return Ok(text);
        }
        let packet = 236 - dsr::Config::default().overhead();
        Ok(text
            .replace("packet = 236", &format!("packet = {packet}"))
            .replace("\"resolve\"", "\"dsr\"\n\n[dsr]\nover = \"resolve\""))
    }

    /// One that is built in, of a group whose members are `with` these, or heard by multicast.
    pub(crate) fn of_group(
        name: &str,
        (with, multicast): (&[SocketAddr], bool),
        detect: Duration,
        founds: bool,
        key: Option<u128>,
    ) -> Result<Self, Problem> {
        let with: Vec<_> = with.iter().map(SocketAddr::to_string).collect();
        let Described { text, .. } = Self::load(Path::new(name))?;
        let founding = "founding = 1000 # ms\n";
        let often = detect.as_millis() / 6;
        let multicast =
            if multicast { format!("multicast = {often} # ms\n") } else { String::new() };
        let text = text
            .replace("with = \"", &format!("{multicast}with = \""))
            .replace("127.0.0.1:4371 127.0.0.1:4372", &with.join(" "))
            .replace("silence = 500", &format!("silence = {}", detect.as_millis()))
            .replace("report = 83", &format!("report = {often}"))
            .replace(founding, if founds { founding } else { "" });
        let Some(key) = key else { return Self::read(name.into(), text) };
        let seal =
            format!("[seal]\nprotocol = \"group seal\"\nover = \"group\"\nkey = \"{key:032x}\"");
        let text = text.replace("over = \"group\"", "over = \"seal\"");
        Self::read(name.into(), text.replace("[group]", &format!("{seal}\n\n[group]")))
    }

    /// The same without all that stands beside its first top; as it is where that is all.
    pub(crate) fn first_top(self) -> Self {
        let Ok(mut table) = self.text.parse::<toml::Table>() else { return self };
        let top = match table.get("top") {
            Some(toml::Value::Array(tops)) => tops.first().cloned(),
            top => top.cloned(),
        };
        let Some(top) = top else { return self };
        let (mut waits, mut kept) = (vec![top.clone()], toml::Table::new());
        while let Some(next) = waits.pop() {
            let below = match next {
                toml::Value::Array(names) => names,
                toml::Value::String(name) => {
                    let Some((name, node)) = table.remove_entry(&name) else { continue };
                    let below = node.get("over").cloned().into_iter().collect();
                    kept.insert(name, node);
                    below
                }
                _ => continue,
            };
            waits.extend(below);
        }
        kept.insert("top".into(), top);
        Self::read(self.name.clone(), kept.to_string()).unwrap_or(self)
    }

    /// The same with more layers of a group on its top, none of which has parameters.
    pub(crate) fn topped(self, layers: &[&str]) -> Result<Self, Problem> {
        let Described { name, mut text, .. } = self;
        for layer in layers {
            let (before, rest) = text.split_once("top = \"").expect("it has one");
            let (top, rest) = rest.split_once('"').expect("it ends");
            let table = format!("[{layer}]\nprotocol = \"group {layer}\"\nover = \"{top}\"");
            text = format!("{before}top = \"{layer}\"\n\n{table}{rest}");
        }
        Self::read(name, text)
    }

    fn read(name: String, text: String) -> Result<Self, Problem> {
        match Description::read(&text) {
            Ok(description) => Ok(Described { name, description, text }),
            Err(flaw) => Err(flawed(&name, &text, &flaw)),
        }
    }

    /// The flaw, shown in the text.
    pub(crate) fn flawed(&self, flaw: &Flaw) -> Problem {
        flawed(&self.name, &self.text, flaw)
    }

    /// What is wrong with it for a command, though it fits in itself.
    pub(crate) fn unfit(&self, says: &str) -> Problem {
        let Described { name, .. } = self;
        Problem::Stack(Box::new(Flawed::whole(name, says)))
    }
}

/// Never more than a description may have, and an octet that tells that there is more.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(DESCRIPTION_MOST as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn flawed(file: &str, text: &str, flaw: &Flaw) -> Problem {
    let at = flaw.at().map(|at| (at.line, at.column));
    Problem::Stack(Box::new(Flawed::new(file, text, at, flaw.says())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flawed::LINE_MOST;

    #[test]
    fn what_is_built_in_is_found_by_the_names_of_commands() {
        let own =
            ["get-tls", "get-artp", "serve-artp", "get-xtp", "serve-xtp", "radio", "radio-hub"]
                .into_iter()
                .chain([
                    "get-radio",
                    "get-inet",
                    "serve-inet",
                    "socks",
                    "ping",
                    "xkernel-rpc",
                    "ftp-radio",
                    "thesis-radio",
                    "artp",
                    "udp",
                    "xtp",
                    "stream+xtp",
                    "tcp",
                    "xtp+ip",
                    "xstp",
                    "group-talk",
                    "group-store",
                ]);
        for name in ["get", "put", "ls", "serve"].into_iter().chain(own) {
            assert_eq!(
                Described::load(Path::new(name)).map(|stack| stack.name).ok().as_deref(),
                Some(name)
            );
        }
        let problem =
            Described::load(Path::new("no/such")).err().map(|problem| problem.to_string());
        assert!(problem.is_some_and(|says| says.contains("no/such")));
    }

    #[test]
    fn a_flaw_is_shown_in_its_line() {
        let flawed = |text: &str| match Described::read("a.toml".into(), text.into()) {
            Err(Problem::Stack(flawed)) => (flawed.to_string(), flawed.excerpt()),
            _ => panic!("it has a flaw"),
        };
        let (says, excerpt) = flawed("# first\ntop = \t3\n");
        assert_eq!(
            says,
            "a.toml:2:8: `top` is a node's name, or a list of them, and a number stands there"
        );
        assert_eq!(excerpt.as_deref(), Some("  2 | top =  3\n    |        ^"));
        let (says, excerpt) = flawed(&format!("[a]\nprotocol = 3 #{}\n", "x".repeat(LINE_MOST)));
        assert!(says.starts_with("a.toml:2:12: ") && excerpt.is_none(), "{says}");
    }
}
