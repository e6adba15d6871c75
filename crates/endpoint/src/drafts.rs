//! Messages that are written where they will leave from, together.

use stackwright_contract::services::Batch;
use stackwright_wire::Message;

/// Messages of one length to be written, which lie as they will leave, one behind the other, and are sent at once: a
/// [draft](crate::Draft) of several. Where the stack knows how, what is done for each message by itself is done for all of them: it is
/// worth the trouble for who streams messages of several packets.
///
/// ```
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
/// # let one = endpoint.connect(endpoint.local().unwrap())?;
/// let mut drafts = one.drafts(1000, 3);
/// for (place, pieces) in drafts.each().enumerate() {
///     pieces.for_each(|piece| piece.fill(place as u8));
/// }
/// one.send_drafts(drafts)?;
/// # let other = endpoint.accept()?;
/// for place in 0..3 {
///     assert_eq!(other.receive()?.0, [place; 1000]);
/// }
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Drafts<M> {
    pub(crate) all: M,
    pub(crate) octets: usize,
    laid_out: bool,
}

impl<M: Message> From<Drafts<M>> for Batch<M> {
    fn from(drafts: Drafts<M>) -> Self {
        Batch::new(drafts.all, drafts.octets)
    }
}

impl<M: Message> Drafts<M> {
    /// Nobody else holds the messages of so many octets, which the stack has laid out, or not.
    pub(crate) fn new(all: M, octets: usize, laid_out: bool) -> Self {
        Drafts { all, octets, laid_out }
    }

    /// Whether the stack has laid them out.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert!(!one.drafts(10_000, 6).is_laid_out(), "UDP writes nothing between the octets of a message");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_laid_out(&self) -> bool {
        self.laid_out
    }

    /// How many there are.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert_eq!(one.drafts(10_000, 3).messages(), 3);
    /// assert_eq!(one.drafts(10_000, 1000).messages(), 6, "no more than leave together");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn messages(&self) -> usize {
        self.all.len() / self.octets
    }

    /// Keeps only the first `messages` messages; nothing happens where there are no more. At least one stays.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut drafts = one.drafts(10_000, 6);
    /// drafts.truncate(2);
    /// assert_eq!(drafts.messages(), 2);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn truncate(&mut self, messages: usize) {
        self.all.truncate(messages.max(1).saturating_mul(self.octets));
    }

    /// The octets of each message, piece by piece, to be written in place. At first they are zero, or what was in an earlier message, which
    /// somebody else may have sent.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let mut drafts = one.drafts(5000, 2);
    /// let octets: Vec<usize> = drafts.each().map(|pieces| pieces.map(|piece| piece.len()).sum()).collect();
    /// assert_eq!(octets, [5000, 5000]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn each(&mut self) -> impl Iterator<Item = impl Iterator<Item = &mut [u8]>> {
        self.all.messages_mut(self.octets)
    }
}
