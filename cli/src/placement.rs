//! Where a transport is: in this process, or in a server that other programs use, too.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use stackwright::compose::Over;
use stackwright::wire::Pool;
use stackwright_drivers::Registry;
use stackwright_drivers::ipc::Near;
use stackwright_drivers::unix::UnixStreams;

use crate::problem::Problem;
use crate::stacks::Message;

/// A placement, as the command line says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In this process.
    #[default]
    Library,
    /// In a server, which has a socket for each of its stacks in this folder.
    Server(PathBuf),
}

impl FromStr for Placement {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            None if text == "library" => Ok(Placement::Library),
            Some(("server", folder)) if !folder.is_empty() => Ok(Placement::Server(folder.into())),
            _ => Err("it is `library`, or `server=FOLDER` of `stackwright host`"),
        }
    }
}

impl Placement {
    /// Whether it is a server.
    pub(crate) fn is_server(&self) -> bool {
        *self != Placement::Library
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
    Over::new(Near::default(), UnixStreams::new(socket, registry, lane, pool))
}
