//! The TCP connection beside the transport: lines of JSON, the plan one way, the receiver's count
//! the other.
//!
//! It is idle while a run is measured; only the word to stop and the count pass, at its end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, Tried as _};

/// What the receiver says before a run.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Answer {
    /// It listens there.
    Ready {
        port: u16,
        /// The certificate that the sender has to trust, in DER, where there is one.
        certificate: Option<Vec<u8>>,
    },
    /// It cannot, and why.
    Failed(String),
}

/// What the receiver says after a run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Count {
    /// What its application got.
    pub(crate) octets: u64,
    /// From the first of them to this count.
    pub(crate) seconds: f64,
    /// Processor time since the plan came.
    pub(crate) processor: f64,
}

/// How the receiver's side of a run came out.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Verdict {
    Counted(Count),
    Failed(String),
}

/// The sender's word that time is over, or that all requests were answered.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Stop;

/// The half that speaks.
#[derive(Debug)]
pub(crate) struct Mouth(TcpStream);

/// The half that hears.
#[derive(Debug)]
pub(crate) struct Ear(BufReader<TcpStream>);

/// # Errors
/// When the connection cannot have two handles.
pub(crate) fn halves(stream: TcpStream) -> Result<(Mouth, Ear), Problem> {
    stream.set_nodelay(true).tried("the control connection")?;
    let other = stream.try_clone().tried("the control connection")?;
    Ok((Mouth(other), Ear(BufReader::new(stream))))
}

impl Mouth {
    /// # Errors
    /// When the other end is gone.
    pub(crate) fn say(&mut self, what: &impl Serialize) -> Result<(), Problem> {
        let mut line = serde_json::to_vec(what).tried("the control connection")?;
        line.push(b'\n');
        self.0.write_all(&line).tried("the other end is gone")
    }
}

impl Ear {
    /// The next word; nothing when the other end has closed.
    ///
    /// # Errors
    /// When the other end is gone, or says what is not understood.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Problem> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).tried("the other end is gone")?;
        if length == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).tried("what the other end said is not understood")
    }
}
