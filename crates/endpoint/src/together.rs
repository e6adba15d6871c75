//! Messages that came together.

use stackwright_contract::services::{Quality, Run};
use stackwright_wire::Message;

/// Messages that came together, in the order in which they came, as the stack has them: of one length but the last, which may be shorter. There
/// is at least one. They are [read where they lie](Together::each), or taken apart as an iterator.
///
/// ```
/// use std::io::Write;
/// use stackwright_contract::services::Quality;
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
/// # let one = endpoint.connect(endpoint.local().unwrap())?;
/// let mut buffer = one.reserve(1000, 3);
/// buffer.write_all(&[7; 3000])?;
/// one.commit(buffer, Quality::default())?;
/// # let other = endpoint.accept()?;
/// let (mut messages, mut octets) = (0, 0);
/// while messages < 3 {
///     let together = other.receive_batch()?;
///     messages += together.messages();
///     octets += together.octets();
/// }
/// assert_eq!(octets, 3000);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Together<M> {
    all: M,
    /// Where there are several, the octets of each, but the last.
    each: u32,
    /// How many there are.
    messages: u32,
    /// Of the first.
    quality: Quality,
}

impl<M: Message> Together<M> {
    pub(crate) fn one(message: M, quality: Quality) -> Self {
        Together { all: message, each: 0, messages: 1, quality }
    }

    pub(crate) fn run(run: Run<M>) -> Self {
        let quality = Quality { number: run.number(), ..Quality::default() };
        // Its stride has 32 bits, and nobody has room for as many messages as more bits count.
        let (each, messages) = (run.stride() as u32, run.messages() as u32);
        Together { each, messages, all: run.into_octets(), quality }
    }

    /// The octets of the first.
    #[inline]
    fn next_octets(&self) -> usize {
        if self.messages > 1 { self.each as usize } else { self.all.len() }
    }

    /// How many there are.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive_batch()?.messages(), 1);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn messages(&self) -> usize {
        self.messages as usize
    }

    /// How many octets they have, all of them.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive_batch()?.octets(), 5);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn octets(&self) -> usize {
        self.all.len()
    }

    /// The octets of each message, piece by piece, where they lie. A message without octets has no piece.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// for pieces in other.receive_batch()?.each() {
    ///     assert_eq!(pieces.flatten().copied().collect::<Vec<u8>>(), b"hello");
    /// }
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn each(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.all.messages(self.next_octets().max(1))
    }
}

/// Message by message, each with what came with it.
impl<M: Message> Iterator for Together<M> {
    type Item = (M, Quality);

    #[inline]
    fn next(&mut self) -> Option<(M, Quality)> {
        let octets = self.next_octets();
        self.messages = self.messages.checked_sub(1)?;
        let quality = self.quality;
        self.quality.number = quality.number.map(|number| number.wrapping_add(1));
        Some((self.all.split_to(octets), quality))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.messages(), Some(self.messages()))
    }
}

impl<M: Message> ExactSizeIterator for Together<M> {}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;

    fn octets(message: &BufferTree) -> Vec<u8> {
        let mut octets = vec![0; message.len()];
        message.copy_to(&mut octets);
        octets
    }

    #[test]
    fn messages_are_taken_from_the_front_with_their_numbers() {
        let run = Run::new(BufferTree::with_headroom(0, b"abcdefgh"), 3).numbered(Some(u32::MAX));
        let mut together = Together::run(run);
        assert_eq!((together.messages(), together.octets()), (3, 8));
        let expected: [(&[u8], u32); 3] = [(b"abc", u32::MAX), (b"def", 0), (b"gh", 1)];
        for (place, (message, number)) in expected.into_iter().enumerate() {
            let left = together.each().map(|pieces| pieces.flatten().copied().collect::<Vec<_>>());
            assert!(left.eq(expected[place..].iter().map(|(message, _)| message.to_vec())));
            let (one, quality) = together.next().expect("there are three");
            assert_eq!((&octets(&one)[..], quality.number), (message, Some(number)));
        }
        assert!(together.next().is_none() && together.messages() == 0);
    }

    #[test]
    fn a_message_without_octets_is_one() {
        let quality = Quality { priority: 7, ..Quality::default() };
        let mut together = Together::one(BufferTree::with_headroom(0, &[]), quality);
        assert_eq!((together.messages(), together.octets(), together.len()), (1, 0, 1));
        assert_eq!(together.next().map(|(message, quality)| (message.len(), quality)), Some((0, quality)));
        assert!(together.next().is_none());
    }
}
