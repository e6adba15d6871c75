//! A station and the way to it by radio, as an address says them:
//! `ftp+xstp+ax25://CALL@host:8001/path?via=RELAY-1`, where `host:8001` is the TNC, or
//! `ftp+xstp+ax25://CALL/path?line=serial:///dev/ttyUSB0`.

use std::net::Ipv4Addr;

use percent_encoding::percent_decode_str;
use stackwright::ax25::header::{DIGIPEATERS_MOST, DigipeaterPath};
use stackwright::contract::CallSign;

use crate::address::Address;
use crate::call::{other_call, own_call};
use crate::inet::Network;
use crate::line::LineAddress;
use crate::problem::Problem;
use crate::quantity::air_rate;

/// The way to a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AirLink {
    pub(crate) peer: CallSign,
    /// The address of the line to the TNC.
    pub(crate) line: String,
    pub(crate) via: Vec<CallSign>,
    /// On the air, in bit/s.
    pub(crate) rate: u32,
    /// Whether stations between both may relay (DSR).
    pub(crate) dsr: bool,
    /// The peer's address and the own one, where they do not follow from the call signs.
    address: Option<Ipv4Addr>,
    own: Option<Network>,
    /// The settings as they are written, behind the `?`; empty without.
    pub(crate) settings: String,
}

/// Both ends of it.
pub(crate) struct AirEnds {
    pub(crate) call: CallSign,
    pub(crate) own: Network,
    pub(crate) peer: Ipv4Addr,
}

const NO_TNC: &str = "it does not say where the TNC is: write CALL@host:8001 in place of CALL, or \
                      ?line=serial:///dev/ttyUSB0 behind the path";
const SETTINGS: &str = "after the ? only via, dsr, rate, line, address and own may be set, with & \
                        between them";

/// Splits the settings from an address by radio; other addresses have none.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme.trim());
    let is_radio = ["ax25", "ftp+xstp+ax25"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    text.split_once('?').filter(|_| is_radio).unwrap_or((text, ""))
}

impl AirLink {
    /// Reads the way to a station: its call sign stands before the `@`, or in the place of a host.
    ///
    /// # Errors
    /// Says what is wrong, and what to write in its place.
    pub(crate) fn read(address: &Address<'_>, settings: &str) -> Result<Self, &'static str> {
        let peer = other_call(address.user.unwrap_or(&address.host))?;
        let tnc = |user: &str| {
            let port = address.port.unwrap_or(crate::line::KISS_PORT);
            (!user.is_empty()).then(|| format!("tcp://{}:{port}", address.host))
        };
        let mut link = AirLink {
            peer,
            line: address.user.and_then(tnc).unwrap_or_default(),
            via: Vec::new(),
            rate: 1200,
            dsr: false,
            address: None,
            own: None,
            settings: settings.into(),
        };
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').ok_or(SETTINGS)?;
            let value = percent_decode_str(value).decode_utf8().map_err(|_| SETTINGS)?;
            link.set(key, &value)?;
        }
        if link.line.is_empty() {
            return Err(NO_TNC);
        }
        Ok(link)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        match key {
            "via" => {
                self.via = value.split(',').map(other_call).collect::<Result<_, _>>()?;
                if DigipeaterPath::through(&self.via).is_none() {
                    const { assert!(DIGIPEATERS_MOST == 8) };
                    return Err("a frame passes at most eight digipeaters");
                }
            }
            "rate" => self.rate = air_rate(value)?,
            "dsr" => self.dsr = value.parse().map_err(|_| "dsr is true or false")?,
            "line" if !self.line.is_empty() => {
                return Err("the TNC stands behind the @: leave out line");
            }
            "line" => {
                LineAddress::parse(value)?;
                self.line = value.into();
            }
            "address" => {
                const WRONG: &str = "address is the peer's, as in ?address=44.0.0.1";
                self.address = Some(value.parse().map_err(|_| WRONG)?);
            }
            "own" => {
                const WRONG: &str = "own is this station's address, as in ?own=44.0.0.2/24";
                let own = value.parse().ok().filter(|own: &Network| own.address.is_ipv4());
                self.own = Some(own.ok_or(WRONG)?);
            }
            _ => return Err(SETTINGS),
        }
        Ok(())
    }

    /// Returns the station at its TNC, as it stands in the place of a host.
    pub(crate) fn place(&self) -> String {
        let AirLink { peer, line, .. } = self;
        match line.strip_prefix("tcp://").filter(|_| !self.settings.contains("line=")) {
            Some(tnc) => format!("{peer}@{tnc}"),
            None => peer.to_string(),
        }
    }

    /// Returns the peer's address.
    pub(crate) fn peer_address(&self) -> Ipv4Addr {
        self.address.unwrap_or_else(|| self.peer.host())
    }

    /// Returns both ends of the link, where `call` is the own call sign.
    ///
    /// # Errors
    /// Without a call sign to transmit with, and where both ends would be one.
    pub(crate) fn ends(&self, call: Option<&str>) -> Result<AirEnds, Problem> {
        let own = call.ok_or(Problem::NoCall)?;
        let bad = |why| Problem::Call { call: own.into(), why };
        let call = own_call(own).map_err(bad)?;
        if call == self.peer || self.via.contains(&call) {
            return Err(bad("it is this station's own; name the other ones in the address"));
        }
        let (own, peer) = (self.own.unwrap_or_else(|| network_of(call)), self.peer_address());
        if own.address == peer {
            return Err(bad("both stations would have one address: set own= in the address"));
        }
        Ok(AirEnds { call, own, peer })
    }
}

/// Returns the address that follows from a call sign, in the network of all of them.
pub(crate) fn network_of(call: CallSign) -> Network {
    Network { address: call.host().into(), length: 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AirLink, &'static str> {
        let (address, settings) = text.split_once('?').unwrap_or((text, ""));
        AirLink::read(&Address::parse(address)?, settings)
    }

    #[test]
    fn a_station_is_behind_a_tnc() {
        let link = read("x://N0BBB-1@tnc.example/p").expect("a link");
        assert_eq!((link.line.as_str(), link.rate), ("tcp://tnc.example:8001", 1200));
        let ends = link.ends(Some("N0AAA")).expect("two ends");
        assert_eq!((ends.peer, ends.own.length), (link.peer.host(), 8));
        let text = "x://n0bbb/p?line=serial:///dev/ttyUSB0?baud=19200&via=RELAY-1,N0CCC&rate=9600\
                    &address=44.0.0.1&own=44.0.0.2/24";
        let link = read(text).expect("a link");
        assert_eq!(link.line, "serial:///dev/ttyUSB0?baud=19200");
        assert_eq!((link.via.len(), link.rate), (2, 9600));
        let ends = link.ends(Some("N0AAA")).expect("two ends");
        assert_eq!(
            (ends.peer, ends.own.to_string().as_str()),
            (Ipv4Addr::new(44, 0, 0, 1), "44.0.0.2/24")
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (text, says) in [
            ("x://N0BBB/p", "?line="),
            ("x://N0BBB@h/p?line=pty:x", "leave out line"),
            ("x://N0BBB/p?line=ttyUSB0", "serial:///dev/ttyUSB0"),
            ("x://N0/BBB@h/p", "?line="),
            ("x://N0BBB-16@h/p", "-1 to -15"),
            ("x://N0BBB@h/p?rate=7", "50 bit/s"),
            ("x://N0BBB@h/p?via=A,B,C,D,E,F,G,H,I", "eight"),
            ("x://N0BBB@h/p?own=44.0.0.2", "44.0.0.2/24"),
            ("x://N0BBB@h/p?address=fe80::1", "44.0.0.1"),
            ("x://N0BBB@h/p?speed=9", "only via"),
            ("x://N0BBB@h/p?dsr=1", "true or false"),
        ] {
            let why = read(text).expect_err(text);
            assert!(why.contains(says), "{text}: {why}");
        }
        let link = read("x://N0BBB@h/p?own=44.0.0.1/24&address=44.0.0.1").expect("a link");
        for (call, says) in [
            (None, "call sign"),
            (Some("N0CALL"), "examples"),
            (Some("N0BBB"), "own"),
            (Some("N0AAA"), "own="),
        ] {
            let why = link.ends(call).err().map(|why| why.to_string()).unwrap_or_default();
            assert!(why.contains(says), "{call:?}: {why}");
        }
    }
}
