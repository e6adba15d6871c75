//! The command line of `stackwright serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use crate::inet::Inet;
use crate::placement::Placement;
use crate::quantity::patience;
use crate::stacks::PACKET;

#[derive(Args)]
#[command(group = ArgGroup::new("encrypted").multiple(true))]
#[command(after_help = "\
Examples:
  stackwright serve ~/pub
  stackwright serve ~/pub --writable --user anna --listen 0.0.0.0:2121
  stackwright serve ~/pub --tls
  stackwright serve ~/pub --artp=0.0.0.0:4330")]
pub(crate) struct Serve {
    /// The folder to serve; clients cannot leave it.
    pub(crate) folder: PathBuf,
    /// Listen at this address [default: 127.0.0.1:2121]; may be repeated. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Listen at this address for implicit TLS (ftps://ADDR:PORT/); may be repeated.
    #[arg(long, value_name = "ADDR:PORT", group = "encrypted", conflicts_with_all = ["artp", "xtp", "stack"])]
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// Serve over ARTP instead of TCP, at this UDP address [default: 127.0.0.1:4330]; may be
    /// repeated.
    ///
    /// Clients use ftp+artp://ADDR:PORT/.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4330",
        conflicts_with_all = ["listen", "stack"]
    )]
    pub(crate) artp: Vec<SocketAddr>,
    /// Serve over XTP instead of TCP, at this UDP address [default: 127.0.0.1:4360]; may be
    /// repeated.
    ///
    /// Clients use ftp+xtp://ADDR:PORT/. XTP has no congestion control: use it on networks of your
    /// own.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4360",
        conflicts_with_all = ["listen", "artp", "stack"]
    )]
    pub(crate) xtp: Vec<SocketAddr>,
    /// Serve at an address that the system does not have, over TCP and IP of our own: on this
    /// device (TUN, TAP, veth or a network card), such as sw0=10.77.0.2/24. Port 2121 there, unless
    /// --listen says another.
    #[arg(
        long,
        value_name = "DEVICE=ADDR/LENGTH",
        conflicts_with_all = ["artp", "xtp", "stack", "tls", "listen_tls"]
    )]
    pub(crate) inet: Option<Inet>,
    /// Where the transport is: `library`, `server=FOLDER` of `stackwright host`, or
    /// `granted=FOLDER`: here, with low ports that such a server opens.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    #[arg(conflicts_with_all = ["stack", "inet"])]
    pub(crate) placement: Placement,
    /// The longest packet of ARTP or XTP, in octets [default: 1472, over IPv6 1452].
    ///
    /// The default fits into an Ethernet frame of 1500 octets. Use less for a tunnel, more for a
    /// local network with jumbo frames. ARTP's ends agree on the smaller value, at least 191; XTP's
    /// each use their own, at least 256.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// Allow uploads; for clients on other machines this needs --user.
    #[arg(long)]
    pub(crate) writable: bool,
    /// Require a login as this user; the password is prompted for unless --password-file is given.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Read the user's password from the first line of FILE.
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Let everyone else download, as `anonymous`.
    #[arg(long, requires = "user")]
    pub(crate) anonymous: bool,
    /// Let clients open data connections (PASV, EPSV) to these ports only: those that a firewall
    /// forwards.
    #[arg(long, value_name = "FROM-TO", value_parser = ports, conflicts_with_all = ["artp", "xtp"])]
    pub(crate) passive_ports: Option<RangeInclusive<u16>>,
    /// Announce this IPv4 address for data connections: that of a NAT router, or of a container's
    /// host. It must forward the ports of --passive-ports.
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["artp", "xtp"])]
    pub(crate) public_address: Option<Ipv4Addr>,
    /// Encrypt with TLS when a client asks for it (AUTH TLS); --tls=required refuses other clients.
    ///
    /// The certificate is made on the first run, and kept; clients pin the fingerprint that is
    /// shown.
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "offered",
        group = "encrypted",
        conflicts_with_all = ["artp", "xtp", "stack"]
    )]
    pub(crate) tls: Option<TlsWish>,
    /// The certificates, the server's own first, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "encrypted", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Refuse encrypted data connections that do not resume the TLS session of their control
    /// connection: another client may have opened them.
    #[arg(long, value_enum, value_name = "HOW", requires = "encrypted")]
    pub(crate) session_reuse: Option<ReuseWish>,
    /// Serve at most N clients at once [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<usize>,
    /// Serve at most N of them from one address (one /64 of IPv6) [default: 200].
    #[arg(long, value_name = "N")]
    pub(crate) sessions_per_address: Option<usize>,
    /// Idle timeout of sessions and of transfers without progress, such as 900 or 15m [default:
    /// 5m].
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub(crate) idle: Option<Duration>,
    /// Run the stack described in FILE instead of the built-in one; see `stackwright explain`.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// Confirm uploads before they reach the disk: faster, but a power failure may lose them.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the FTP dialogue on standard error, without passwords.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Parses a range of ports: `50000-50100`, or one port.
fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (port(from), port(to)) {
        (Some(from), Some(to)) if from <= to => Ok(from..=to),
        _ => Err("a range of ports is FROM-TO, such as 50000-50100".into()),
    }
}

/// Which clients use TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsWish {
    /// For clients that ask for it.
    Offered,
    /// For everyone.
    Required,
}

/// Whether a data connection has to resume the TLS session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseWish {
    /// Always. Some clients never do.
    Require,
    /// Once an earlier connection of the client has resumed (the default).
    Prefer,
    /// Never.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ports() {
        assert_eq!(ports("50000-50100"), Ok(50_000..=50_100));
        assert_eq!(ports("50000"), Ok(50_000..=50_000));
        for wrong in ["", "0-5", "5-4", "1-65536", "a-b", "1-2-3"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }
}
