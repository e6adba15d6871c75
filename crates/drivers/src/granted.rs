//! What a program without rights has a server open for it.
//!
//! It asks by a line, such as `udp 0.0.0.0:990`, `tcp [::]:21`, `ip4 36`, `ip6 36` or
//! `serial /dev/ttyUSB0`.

use std::fmt;
use std::io::{self, ErrorKind, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// Octets of the longest question and of the longest answer.
pub(crate) const LINE_MOST: usize = 512;
/// How long a program may take to ask, and a server to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What a program asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    Tcp(SocketAddr),
    Udp(SocketAddr),
    Ip { protocol: u8, ipv4: bool },
    Serial(PathBuf),
}

impl fmt::Display for Wanted {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Tcp(at) => write!(to, "tcp {at}"),
            Wanted::Udp(at) => write!(to, "udp {at}"),
            Wanted::Ip { protocol, ipv4: true } => write!(to, "ip4 {protocol}"),
            Wanted::Ip { protocol, ipv4: false } => write!(to, "ip6 {protocol}"),
            Wanted::Serial(path) => write!(to, "serial {}", path.display()),
        }
    }
}

impl FromStr for Wanted {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, which) = text.split_once(' ').ok_or(())?;
        let protocol = || which.parse().ok().filter(|protocol| *protocol != 0).ok_or(());
        match kind {
            "tcp" => which.parse().map(Wanted::Tcp).map_err(|_| ()),
            "udp" => which.parse().map(Wanted::Udp).map_err(|_| ()),
            "ip4" => Ok(Wanted::Ip { protocol: protocol()?, ipv4: true }),
            "ip6" => Ok(Wanted::Ip { protocol: protocol()?, ipv4: false }),
            "serial" => Ok(Wanted::Serial(which.into())),
            _ => Err(()),
        }
    }
}

/// A server's socket from which a program has opened what it has no right to.
#[derive(Debug)]
pub struct GrantClient {
    path: PathBuf,
    on_refusal: fn(String),
}

impl GrantClient {
    /// Asks at this socket; `on_refusal` is called with each sentence in which the server says why
    /// it refuses something.
    pub fn new(path: PathBuf, on_refusal: fn(String)) -> Self {
        GrantClient { path, on_refusal }
    }

    /// Has something opened.
    pub(crate) fn open(&self, wanted: &Wanted) -> io::Result<OwnedFd> {
        let mut server = UnixStream::connect(&self.path).inspect_err(|why| {
            (self.on_refusal)(format!(
                "no server opens it at {}: {why}; run `stackwright host` with a [[grant]] for it",
                self.path.display()
            ));
        })?;
        server.set_read_timeout(Some(PATIENCE))?;
        server.set_write_timeout(Some(PATIENCE))?;
        server.write_all(format!("{wanted}\n").as_bytes())?;
        let mut answer = [0; LINE_MOST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut came = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut answer)];
        let octets = recvmsg(&server, into, &mut came, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let granted = came.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        granted.ok_or_else(|| {
            if octets > 0 {
                (self.on_refusal)(String::from_utf8_lossy(&answer[..octets]).into_owned());
            }
            ErrorKind::PermissionDenied.into()
        })
    }
}
