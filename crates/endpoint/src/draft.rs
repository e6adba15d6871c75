//! A message that is written where it will leave from.

use std::io;

use stackwright_wire::Message;

/// A message to be written, which lies as it will leave: where the stack knows how, nothing of it is copied on its way down. That is
/// worth the trouble for messages of several packets, of which many are sent.
///
/// It is written as a file is ([`io::Write`]), or [in place](Draft::pieces), and then it is a [message](Draft::into_message). What was not
/// written is not sent.
///
/// ```
/// use std::io::Write;
/// use stackwright_contract::services::Quality;
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
/// # let one = endpoint.connect(endpoint.local().unwrap())?;
/// let mut draft = one.draft(10_000);
/// write!(draft, "{} degrees", 12.5)?;
/// one.send_message(draft.into_message(), Quality::default())?;
/// # let other = endpoint.accept()?;
/// assert_eq!(other.receive()?.0, b"12.5 degrees");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Draft<M> {
    message: M,
    written: usize,
    laid_out: bool,
}

impl<M: Message> Draft<M> {
    /// Nobody else holds the message, which the stack has laid out, or not.
    pub(crate) fn new(message: M, laid_out: bool) -> Self {
        Draft { message, written: 0, laid_out }
    }

    /// Whether the stack has laid it out. Where it has not, octets that lie somewhere already are as well sent from there.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert!(!one.draft(10_000).is_laid_out(), "UDP writes nothing between the octets of a message");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_laid_out(&self) -> bool {
        self.laid_out
    }

    /// How many octets it has room for.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert_eq!(one.draft(10_000).room(), 10_000);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn room(&self) -> usize {
        self.message.len() - self.written
    }

    /// All its octets, piece by piece, to be written in place, and then to be [counted](Draft::count). At first they are zero, or what was
    /// in an earlier message, which somebody else may have sent.
    ///
    /// ```
    /// # use stackwright_contract::services::Quality;
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut draft = one.draft(3);
    /// draft.pieces().for_each(|piece| piece.fill(b'x'));
    /// draft.count(3);
    /// one.send_message(draft.into_message(), Quality::default())?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive()?.0, b"xxx");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.message.pieces_mut()
    }

    /// So many octets more are as they shall be, behind those that were written before.
    ///
    /// ```
    /// # use stackwright_contract::services::Quality;
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut draft = one.draft(10);
    /// for (place, octet) in draft.pieces().flatten().take(4).enumerate() {
    ///     *octet = place as u8;
    /// }
    /// draft.count(4);
    /// one.send_message(draft.into_message(), Quality::default())?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive()?.0, [0, 1, 2, 3]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Where it has [room](Draft::room) for fewer.
    pub fn count(&mut self, octets: usize) {
        assert!(octets <= self.room(), "no more than there is room for");
        self.written += octets;
    }

    /// What was written, as a message.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::{BufferTree, Message};
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert_eq!(one.draft(10_000).into_message().len(), 0, "nothing was written");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_message(mut self) -> M {
        self.message.truncate(self.written);
        self.message
    }
}

impl<M: Message> io::Write for Draft<M> {
    /// Writes behind what was written; nothing where there is no room.
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let (mut skip, mut rest) = (self.written, octets);
        for piece in self.message.pieces_mut() {
            let Some(piece) = piece.get_mut(skip..) else {
                skip -= piece.len();
                continue;
            };
            skip = 0;
            let (now, later) = rest.split_at(rest.len().min(piece.len()));
            piece[..now.len()].copy_from_slice(now);
            rest = later;
        }
        let written = octets.len() - rest.len();
        self.written += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
