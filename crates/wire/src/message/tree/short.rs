//! A few octets that lie in the piece itself.

/// How many there may be: most headers before a body that others hold too.
const CAPACITY: usize = 46;

/// A piece without a block: what is pushed in front of octets that are shared costs no memory of its own.
// Copied as words: piece by piece, each copy would wait for the writes before it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Short {
    octets: [u8; CAPACITY],
    // `start <= end <= CAPACITY`
    start: u8,
    end: u8,
}

impl Short {
    /// Empty, with all its room in front.
    pub(super) const EMPTY: Self =
        Short { start: CAPACITY as u8, end: CAPACITY as u8, octets: [0; CAPACITY] };

    /// These octets, with room before them; `None` where they are too many.
    #[inline]
    pub(super) fn of(octets: &[u8]) -> Option<Self> {
        let mut short = Self::EMPTY;
        let fits = short.has_headroom(octets.len());
        fits.then(|| {
            short.push_front(octets.len()).copy_from_slice(octets);
            short
        })
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.end - self.start)
    }

    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[usize::from(self.start)..usize::from(self.end)]
    }

    #[inline]
    pub(super) fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.octets[usize::from(self.start)..usize::from(self.end)]
    }

    /// Takes the first `octets` away, of which it has as many.
    #[inline]
    pub(super) fn advance(&mut self, octets: usize) {
        self.start += octets as u8;
    }

    /// Keeps the first `octets`, of which it has as many.
    pub(super) fn truncate(&mut self, octets: usize) {
        self.end = self.start + octets as u8;
    }

    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= usize::from(self.start)
    }

    /// Grows to the front.
    ///
    /// # Panics
    /// Where it [has no headroom](Short::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let end = usize::from(self.start);
        let start = end - octets;
        self.start = start as u8;
        &mut self.octets[start..end]
    }
}
