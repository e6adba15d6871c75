//! Where a transport is: in this process, or in a server that other programs use, too.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use stackwright::compose::Over;
use stackwright::wire::Pool;
use stackwright_drivers::ipc::Near;
use stackwright_drivers::unix::UnixStreams;
use stackwright_drivers::{GrantClient, Registry};

use crate::problem::Problem;
use crate::refused;
use crate::stacks::Message;

/// The name of the socket of a server's grants, which is that of no stack.
pub(crate) const GRANTS: &str = "grants";

/// A placement, as the command line says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In this process.
    #[default]
    Library,
    /// In a server, which has a socket for each of its stacks in this folder.
    Server(PathBuf),
    /// In this process, with descriptors from a server that has its socket in this folder.
    Granted(PathBuf),
}

impl FromStr for Placement {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            None if text == "library" => Ok(Placement::Library),
            Some(("server", folder)) if !folder.is_empty() => Ok(Placement::Server(folder.into())),
            Some(("granted", folder)) if !folder.is_empty() => {
                Ok(Placement::Granted(folder.into()))
            }
            _ => Err("it is `library`, `server=FOLDER` or `granted=FOLDER` of `stackwright host`"),
        }
    }
}

impl Placement {
    /// Whether it is a server.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Placement::Server(_))
    }

    /// Has what this program has no right to opened by the server, if it grants that.
    pub(crate) fn grant(&self, registry: &Registry) {
        if let Placement::Granted(folder) = self {
            registry.open_by(GrantClient::new(folder.join(GRANTS), refused::note));
        }
    }

    /// Refuses descriptors of a server, which no client needs.
    ///
    /// # Errors
    /// They are wanted.
    pub(crate) fn check_ungranted(&self) -> Result<(), Problem> {
        match self {
            Placement::Granted(_) => Err(Problem::Unhonoured {
                option: "--placement granted=",
                transport: "this command".into(),
                by: "perf and serve".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns the server's socket for a stack of this name, once somebody is there.
    ///
    /// # Errors
    /// Nobody is.
    pub(crate) fn socket(&self, stack: &str) -> Result<Option<PathBuf>, Problem> {
        let Placement::Server(folder) = self else { return Ok(None) };
        let path = folder.join(stack);
        match UnixStream::connect(&path) {
            Ok(_) => Ok(Some(path)),
            Err(why) => Err(Problem::NoServer { path, why }),
        }
    }
}

/// The stack behind a socket.
pub(crate) type Remote<T, const GIVES: u16> = Over<Near<T, GIVES>, UnixStreams<Message>>;

/// Returns the stack behind a socket.
pub(crate) fn remote<T, const GIVES: u16>(
    socket: PathBuf,
    registry: Arc<Registry>,
    lane: usize,
    pool: Arc<Pool<Message>>,
) -> Remote<T, GIVES>
where
    T: stackwright_drivers::ipc::Crossing<Message = Message>,
{
    Over::new(
        Near::default().on_refusal(refused::note),
        UnixStreams::new(socket, registry, lane, pool),
    )
}
