//! Messages that are written into the memory from which they are sent.

use std::{fmt, io, iter};

use stackwright_contract::services::Batch;
use stackwright_wire::Message;

/// Memory for one or several messages of equal length, reserved in the layout in which the stack
/// transmits them: where it knows one, committing copies nothing. Worth it for messages of several
/// packets, and several at once for streams of them.
///
/// It is written as a file is ([`io::Write`]), message behind message, or [in
/// place](SendBuffer::each_mut), and then committed. Only what was written is sent; the last
/// message may be shorter than the others. The memory is used again and again, but what another
/// association sent or received is never shown.
///
/// ```
/// use std::io::Write;
/// use stackwright_contract::services::MessageProperties;
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
/// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// # let one = endpoint.connect(endpoint.local().unwrap())?;
/// let mut buffer = one.reserve(1000, 3);
/// buffer.write_all(&[7; 1000])?;
/// write!(buffer, "{} degrees", 12.5)?;
/// one.commit(buffer, MessageProperties::default())?;
/// # let other = endpoint.accept()?;
/// assert_eq!(other.receive()?.0, [7; 1000]);
/// assert_eq!(other.receive()?.0, b"12.5 degrees");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct SendBuffer<M> {
    /// All messages, contiguous or in a gapped buffer. Nobody else holds their block.
    octets: M,
    /// The octets of each.
    len: usize,
    /// The octets that were written, from the front on.
    written: usize,
    is_gapped: bool,
    /// Its content can only be what this association sent or received itself.
    is_own: bool,
}

impl<M: Message> SendBuffer<M> {
    /// Returns the memory for messages of `len` octets, which the stack has laid out with gaps for
    /// headers, or not.
    pub(crate) fn new(octets: M, len: usize, is_gapped: bool) -> Self {
        SendBuffer { octets, len, written: 0, is_gapped, is_own: false }
    }

    /// Returns the same memory, whose content need not be hidden where it is the association's own.
    pub(crate) fn owned(self, is_own: bool) -> Self {
        SendBuffer { is_own, ..self }
    }

    /// Returns whether the stack has laid it out with gaps for headers, so that nothing is copied.
    /// Where it has not, a message that exists already is better
    /// [sent](crate::blocking::Association::send_message) as it is.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert!(!one.reserve(10_000, 1).is_gapped(), "UDP puts no header into a message");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_gapped(&self) -> bool {
        self.is_gapped
    }

    /// Returns the number of messages that were reserved.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert_eq!(one.reserve(10_000, 3).messages(), 3);
    /// assert_eq!(one.reserve(10_000, 1000).messages(), 6, "no more than are sent at once");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn messages(&self) -> usize {
        (self.octets.len() / self.len.max(1)).max(1)
    }

    /// Returns the number of octets that may still be written.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use std::io::Write;
    /// let mut buffer = one.reserve(1000, 2);
    /// buffer.write_all(&[0; 500])?;
    /// assert_eq!(buffer.remaining(), 1500);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn remaining(&self) -> usize {
        self.octets.len() - self.written
    }

    /// Lends the octets of each message to be written in place, segment by segment. All of them
    /// count as written from then on: those that were not are zero, or, on an endpoint that never
    /// had another association, what this one sent or received before.
    ///
    /// ```
    /// # use stackwright_contract::services::MessageProperties;
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut buffer = one.reserve(5, 2);
    /// for (n, pieces) in buffer.each_mut().enumerate() {
    ///     pieces.flatten().take(3).for_each(|octet| *octet = n as u8 + 1);
    /// }
    /// one.commit(buffer, MessageProperties::default())?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive()?.0, [1, 1, 1, 0, 0]);
    /// assert_eq!(other.receive()?.0, [2, 2, 2, 0, 0]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn each_mut(&mut self) -> impl Iterator<Item = impl Iterator<Item = &mut [u8]>> {
        if !self.is_own {
            self.unwritten().for_each(|piece| piece.fill(0));
        }
        self.written = self.octets.len();
        let (mut segments, len) = (self.octets.segments_mut(), self.len);
        iter::from_fn(move || {
            let message = segments.split_to(len);
            (message.len() > 0).then(|| message.map(|(_, piece)| piece))
        })
    }

    /// Keeps only the first `octets` octets that were written; nothing happens where no more were.
    ///
    /// ```
    /// # use stackwright_contract::services::MessageProperties;
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut buffer = one.reserve(1000, 1);
    /// buffer.each_mut().flatten().for_each(|piece| piece[..2].copy_from_slice(b"hi"));
    /// buffer.truncate(2);
    /// one.commit(buffer, MessageProperties::default())?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive()?.0, b"hi");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn truncate(&mut self, octets: usize) {
        self.written = self.written.min(octets);
    }

    /// Lends the octets that were not written, segment by segment.
    fn unwritten(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let mut segments = self.octets.segments_mut();
        let _written = segments.split_to(self.written);
        segments.map(|(_, piece)| piece)
    }

    /// Returns the length of its messages in octets.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Returns what was written.
    pub(crate) fn into_octets(mut self) -> M {
        self.octets.truncate(self.written);
        self.octets
    }
}

impl<M: Message> From<SendBuffer<M>> for Batch<M> {
    fn from(buffer: SendBuffer<M>) -> Self {
        let (len, octets) = (buffer.len(), buffer.into_octets());
        // One message, which may be empty.
        if octets.len() <= len { octets.into() } else { Batch::new(octets, len) }
    }
}

impl<M: Message> fmt::Debug for SendBuffer<M> {
    /// Shows all but its octets: those of the block include what it held before.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SendBuffer { len, written, is_gapped, .. } = self;
        f.debug_struct("SendBuffer")
            .field("messages", &self.messages())
            .field("len", len)
            .field("written", written)
            .field("is_gapped", is_gapped)
            .finish()
    }
}

impl<M: Message> io::Write for SendBuffer<M> {
    /// Appends to what was written; writes nothing where no octets [remain](SendBuffer::remaining).
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut rest = octets;
        for piece in self.unwritten() {
            let (now, later) = rest.split_at(rest.len().min(piece.len()));
            piece[..now.len()].copy_from_slice(now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let written = octets.len() - rest.len();
        self.written += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
