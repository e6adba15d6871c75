//! The rule book: which policies make a transport together. One `const fn` over facts: evaluated in
//! a constant for a static configuration, an ordinary call for one that is chosen at run time.

use stackwright_contract::Guarantees;
use stackwright_contract::rules::Sentence;

/// The properties that a policy needs, gives or excludes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Property(u32);

macro_rules! properties {
    ($($(#[$doc:meta])* $NAME:ident = $bit:literal: $words:literal,)*) => {
        impl Property {
            $($(#[$doc])* pub const $NAME: Property = Property(1 << $bit);)*

            /// Each property with its words in a refusal.
            const WORDS: &'static [(Property, &'static str)] = &[$((Property::$NAME, $words)),*];
        }
    };
}

properties! {
    /// The receiver reports.
    REPORTS = 0: "reports from the receiver",
    /// The receiver reports without being asked.
    UNASKED = 1: "reports without a question",
    /// The sender asks.
    ASKS = 2: "a sender that asks for reports",
    /// Lost units are sent again.
    REPEATS = 3: "lost units to be sent again",
    /// All units are delivered, in the order of their numbers.
    TOTAL = 4: "total order",
    /// Messages can expire.
    EXPIRES = 5: "messages that may expire",
    /// Holes are forgiven: late units are lost.
    FORGIVES = 6: "holes that are forgiven",
    /// Alterations are detected.
    CHECKS = 7: "a check for altered octets",
    /// The format carries spans, or numbers one by one.
    SPANS = 8: "a format that carries spans",
    /// The format carries numbered inquiries.
    INQUIRIES = 9: "a format that carries numbered questions",
    /// The format carries credit.
    CREDIT = 10: "a format that carries credit",
    /// The format carries the position of a piece in its message.
    FRAGMENTS = 11: "a format that carries the place of a fragment",
    /// The format marks the end of a message.
    MARKS = 12: "a format that marks the end of a message",
    /// The format carries times.
    TIMES = 13: "a format that carries times",
    /// The format carries signals to open and to close.
    SIGNALS = 14: "a format that carries signals",
    /// The format has a field for a check.
    CHECK_FIELD = 15: "a format with a field for a check",
    /// Numbers count packets.
    COUNTS_PACKETS = 16: "numbers that count packets",
    /// Numbers count octets.
    COUNTS_OCTETS = 17: "numbers that count octets",
    /// Messages keep their bounds.
    BOUNDS = 18: "messages that keep their bounds",
    /// The receiver answers an inquiry, with its number.
    ANSWERS = 19: "answers to questions",
    /// The format carries the number below which nothing is sent any more.
    SETTLES = 20: "a format that says what will not come any more",
    /// The congestion judge gives a rate of sending.
    PACES = 21: "a congestion judge that says how fast",
    /// The format carries terms of traffic.
    TERMS = 22: "a format that carries terms of traffic",
    /// The format tells the members of a group apart.
    GROUP = 23: "a format that tells the members of a group apart",
    /// The format carries units that were abandoned.
    GAPS = 24: "a format that says which packets were abandoned",
    /// Units may be abandoned.
    ABANDONS = 25: "messages that may be abandoned",
    /// The format carries epochs.
    EPOCHS = 26: "a format that carries epochs",
    /// Messages go by the rules of the phase in which they are sent.
    PHASES = 27: "messages that go by their phase",
}

impl Property {
    /// None.
    pub const NONE: Property = Property(0);

    /// Returns the union with `other`.
    #[must_use]
    pub const fn and(self, other: Property) -> Property {
        Property(self.0 | other.0)
    }

    /// Returns the properties that `other` lacks.
    const fn beyond(self, other: Property) -> Property {
        Property(self.0 & !other.0)
    }

    /// Returns the properties that are in both.
    const fn shared(self, other: Property) -> Property {
        Property(self.0 & other.0)
    }

    /// Returns whether all of `wanted` are here.
    pub const fn has(self, wanted: Property) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    const fn first_word(self) -> &'static str {
        let mut index = 0;
        while index < Self::WORDS.len() {
            if self.0 & Self::WORDS[index].0.0 != 0 {
                return Self::WORDS[index].1;
            }
            index += 1;
        }
        "nothing"
    }

    /// Returns the words of a refusal for these properties.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS.iter().filter(move |(property, _)| self.has(*property)).map(|(_, words)| *words)
    }
}

/// The facts of a policy for the rule book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Its name in a refusal.
    pub name: &'static str,
    /// What it does, as half a sentence: "sends again what was not acknowledged in time".
    pub does: &'static str,
    /// The properties that it needs from the other policies.
    pub needs: Property,
    /// The properties of which it needs one.
    pub needs_one_of: Property,
    /// The properties that it gives to the others.
    pub gives: Property,
    /// The properties that must not be given.
    pub shuns: Property,
}

impl Facts {
    /// Creates facts that need and give nothing: the start of a description.
    pub const fn of(name: &'static str, does: &'static str) -> Facts {
        let none = Property::NONE;
        Facts { name, does, needs: none, needs_one_of: none, gives: none, shuns: none }
    }
}

/// The facts of a policy type, known before there is a value. A box has none: nothing unchecked can
/// be built.
pub trait Component {
    /// Its facts.
    const FACTS: Facts;
}

/// Why these policies make no transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// A policy needs what no other gives.
    Missing(&'static str, Property),
    /// A policy needs one of several properties, and no other gives any.
    MissingAll(&'static str, Property),
    /// A policy excludes what another gives.
    Clash(&'static str, &'static str, Property),
}

/// Checks that these policies make a transport.
///
/// # Errors
/// The first rule that they break.
pub const fn check(parts: &[Facts]) -> Result<(), Misfit> {
    let gives = given(parts);
    let mut index = 0;
    while index < parts.len() {
        let part = &parts[index];
        let missing = part.needs.beyond(gives);
        if missing.0 != 0 {
            return Err(Misfit::Missing(part.name, missing));
        }
        if part.needs_one_of.0 != 0 && part.needs_one_of.shared(gives).0 == 0 {
            return Err(Misfit::MissingAll(part.name, part.needs_one_of));
        }
        let mut other = 0;
        while other < parts.len() {
            let clash = part.shuns.shared(parts[other].gives);
            if clash.0 != 0 {
                return Err(Misfit::Clash(part.name, parts[other].name, clash));
            }
            other += 1;
        }
        index += 1;
    }
    Ok(())
}

/// Returns the properties that these policies give together.
pub const fn given(parts: &[Facts]) -> Property {
    let (mut gives, mut index) = (Property::NONE, 0);
    while index < parts.len() {
        gives = gives.and(parts[index].gives);
        index += 1;
    }
    gives
}

/// Returns the guarantees of a transport of these policies to the layer above.
pub const fn promised(parts: &[Facts]) -> Guarantees {
    let gives = given(parts);
    let mut promised = Guarantees::ONCE; // the engine's own
    if gives.has(Property::REPEATS)
        && !gives.has(Property::FORGIVES)
        && !gives.has(Property::ABANDONS)
    {
        promised = promised.and(Guarantees::RELIABLE);
    }
    if gives.has(Property::TOTAL) || gives.has(Property::FORGIVES) {
        promised = promised.and(Guarantees::ORDERED);
    }
    if gives.has(Property::CHECKS) {
        promised = promised.and(Guarantees::CHECKED);
    }
    if gives.has(Property::PHASES) {
        promised = promised.and(Guarantees::PHASES);
    }
    promised
}

impl Misfit {
    /// Returns the refusal as a sentence.
    pub const fn explain(&self) -> Sentence {
        match self {
            Misfit::Missing(name, what) => Sentence::of(&[
                "`",
                name,
                "` needs ",
                what.first_word(),
                ", and no other policy gives that",
            ]),
            Misfit::MissingAll(name, what) => Sentence::of(&[
                "`",
                name,
                "` needs ",
                what.first_word(),
                " or something like it, and no other policy gives that",
            ]),
            Misfit::Clash(name, other, what) => Sentence::of(&[
                "`",
                name,
                "` cannot live with ",
                what.first_word(),
                ", which `",
                other,
                "` gives",
            ]),
        }
    }
}

/// Checks policies in a constant: does not compile if they make no transport.
///
/// # Panics
/// If a rule is broken; the message is the refusal.
#[track_caller]
pub const fn insist(parts: &[Facts]) {
    if let Err(misfit) = check(parts) {
        panic!("{}", misfit.explain().as_str());
    }
}

/// States the facts of policies. Each line: what it is, what it does, and its facts.
#[macro_export]
macro_rules! component {
    (@facts $name:literal, $does:literal $(, $fact:ident: $value:expr)*) => {
        #[allow(clippy::needless_update, reason = "a policy may state all facts")]
        const FACTS: $crate::rules::Facts = {
            #[allow(unused_imports, reason = "a policy may state no property")]
            use $crate::rules::Property;
            $crate::rules::Facts { $($fact: $value,)* ..$crate::rules::Facts::of($name, $does) }
        };
    };
    (<$M:ident> $SlotPart:ty: $name:literal, $does:literal $(, $fact:ident: $value:expr)* $(,)?) => {
        impl<$M> $crate::rules::Component for $SlotPart {
            $crate::component! { @facts $name, $does $(, $fact: $value)* }
        }
    };
    ($SlotPart:ty: $name:literal, $does:literal $(, $fact:ident: $value:expr)* $(,)?) => {
        impl $crate::rules::Component for $SlotPart {
            $crate::component! { @facts $name, $does $(, $fact: $value)* }
        }
    };
}
