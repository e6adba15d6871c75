//! The rule book: which protocol may sit on which. Stacks ask it in a constant, graphs when they
//! are built; there is one sentence for each refusal.

use crate::{Facts, Guarantees};

/// Octets of header that a stack may push in all: the headroom with which messages are made.
pub const HEADER_ROOM_MOST: usize = 256;

/// Why two neighbours do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// The upper needs something that the lower does not give.
    Missing {
        /// The protocol that needs it.
        upper: &'static str,
        /// The protocol that does not give it.
        lower: &'static str,
        /// The promise, in words.
        what: &'static str,
    },
    /// The two push more header than a message has room for.
    HeaderRoom {
        /// The upper neighbour.
        upper: &'static str,
        /// The lower neighbour.
        lower: &'static str,
    },
    /// A region of a file would have to pass a protocol that reads payload.
    RegionRead {
        /// The protocol that needs regions to pass.
        upper: &'static str,
        /// The protocol that reads them.
        lower: &'static str,
    },
    /// The two do not speak the same service. The compiler finds it in a stack, the builder in a
    /// graph.
    Service {
        /// The upper neighbour.
        upper: &'static str,
        /// The lower neighbour.
        lower: &'static str,
        /// The service that the upper uses.
        uses: &'static str,
        /// The service that the lower provides.
        provides: &'static str,
    },
}

impl Misfit {
    /// Returns the refusal as a sentence that names the two neighbours and what is missing.
    pub const fn explain(&self) -> Sentence {
        match self {
            Misfit::Missing { upper, lower, what } => Sentence::of(&[
                "`",
                upper,
                "` does not fit on `",
                lower,
                "`: `",
                upper,
                "` needs ",
                what,
                ", and nothing below it gives that",
            ]),
            Misfit::HeaderRoom { upper, lower } => Sentence::of(&[
                "`",
                upper,
                "` does not fit on `",
                lower,
                "`: together they push more header than a message has room for (256 octets)",
            ]),
            Misfit::RegionRead { upper, lower } => Sentence::of(&[
                "`",
                upper,
                "` does not fit on `",
                lower,
                "`: `",
                upper,
                "` needs regions of files to pass, and `",
                lower,
                "` reads payload",
            ]),
            Misfit::Service { upper, lower, uses, provides } => Sentence::of(&[
                "`",
                upper,
                "` does not fit on `",
                lower,
                "`: `",
                upper,
                "` uses ",
                uses,
                ", and `",
                lower,
                "` provides ",
                provides,
            ]),
        }
    }
}

/// Checks whether `upper` may sit on `lower`.
///
/// # Errors
/// The first rule that they break.
pub const fn fits(upper: &Facts, lower: &Facts) -> Result<(), Misfit> {
    if upper.needs.has(Guarantees::REGIONS) && lower.reads_payload {
        return Err(Misfit::RegionRead { upper: upper.name, lower: lower.name });
    }
    let mut index = 0;
    while index < Guarantees::WORDS.len() {
        let (promise, what) = Guarantees::WORDS[index];
        if upper.needs.has(promise) && !lower.gives.has(promise) {
            return Err(Misfit::Missing { upper: upper.name, lower: lower.name, what });
        }
        index += 1;
    }
    if upper.header_room + lower.header_room > HEADER_ROOM_MOST {
        return Err(Misfit::HeaderRoom { upper: upper.name, lower: lower.name });
    }
    Ok(())
}

/// Returns the facts of `upper` on `lower`, as seen from outside.
pub const fn stacked(upper: &Facts, lower: &Facts) -> Facts {
    Facts {
        name: upper.name,
        needs: lower.needs,
        gives: upper.gives.and(lower.gives.shared(upper.passes)),
        passes: upper.passes.shared(lower.passes),
        header_room: upper.header_room + lower.header_room,
        reads_payload: upper.reads_payload || lower.reads_payload,
    }
}

/// Returns the facts of two lowers side by side, as seen from above.
pub const fn beside(left: &Facts, right: &Facts) -> Facts {
    Facts {
        name: left.name,
        needs: left.needs.and(right.needs),
        gives: left.gives.and(right.gives),
        passes: left.passes.shared(right.passes),
        header_room: if left.header_room > right.header_room {
            left.header_room
        } else {
            right.header_room
        },
        reads_payload: left.reads_payload || right.reads_payload,
    }
}

/// Returns the facts of two lowers of one service, of which the upper chooses one for each
/// association: only what both give is promised.
pub const fn joined(left: &Facts, right: &Facts) -> Facts {
    Facts { gives: left.gives.shared(right.gives), ..beside(left, right) }
}

/// A sentence that can be put together at compile time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sentence {
    octets: [u8; Self::MOST],
    length: usize,
}

impl Sentence {
    const MOST: usize = 320;

    /// Joins `parts`; what does not fit is cut.
    pub const fn of(parts: &[&str]) -> Self {
        let mut sentence = Sentence { octets: [0; Self::MOST], length: 0 };
        let mut part = 0;
        while part < parts.len() {
            let octets = parts[part].as_bytes();
            let mut index = 0;
            while index < octets.len() && sentence.length < Self::MOST {
                sentence.octets[sentence.length] = octets[index];
                sentence.length += 1;
                index += 1;
            }
            part += 1;
        }
        sentence
    }

    /// Returns the sentence as text.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.octets.split_at(self.length).0) {
            Ok(words) => words,
            Err(_) => "these protocols do not fit (and their names do not fit into the sentence)",
        }
    }
}

impl core::fmt::Display for Sentence {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::fmt::Debug for Sentence {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}
