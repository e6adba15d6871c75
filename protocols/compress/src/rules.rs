//! Rules as text, and what is done with a field (RFC 8724 §7.3, §7.4).
//!
//! ```text
//! rule 5 icmp                    # its number, 0 to 14, and its name
//! 16=4500 16=length 8=0|8 …      # bits, and what is done: = MO equal, | MO match-mapping
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use stackwright_wire::check::Crc32c;

/// The octets of a header that a rule may describe, at most.
pub const RULE_OCTETS_MOST: usize = 64;
/// The octets of IPv4's header, with which every rule begins.
pub(crate) const IPV4: usize = 20;

/// The numbers of rules are smaller: this one is of what is no packet.
pub(crate) const RULES_MOST: usize = 15;

const BUILT_IN: &str = include_str!("built_in.rules");

/// What both sides know of headers; by default nothing, and nothing is compressed.
#[derive(Clone, Default, Debug)]
pub struct RuleSet {
    pub(crate) rules: Vec<Rule>,
    check: u32,
}

/// What is known of the headers of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) number: u8,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    /// The octets of the headers.
    pub(crate) octets: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) bits: u32,
    pub(crate) action: Action,
}

/// What is done with a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Its place among the values is sent, which is nothing where there is only one.
    Mapped(Vec<u32>),
    /// It is sent.
    Sent,
    /// The octets of the packet.
    Length,
    /// The octets behind IPv4's header.
    DataLength,
    /// The check of IPv4's header.
    Check,
    /// The address that follows from the call sign of the sender.
    Source,
    /// The same of the receiver.
    Destination,
}

/// Why a text has no rules, and the word at which that shows.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}: `{word}`")]
pub struct BadRules {
    /// Where.
    pub word: String,
    /// Why.
    pub why: &'static str,
}

impl Action {
    /// Returns the bits that are sent of a field of `bits` bits.
    pub(crate) fn residue(&self, bits: u32) -> u32 {
        match self {
            Action::Sent => bits,
            Action::Mapped(values) => values.len().next_power_of_two().trailing_zeros(),
            _ => 0,
        }
    }
}

impl FromStr for Field {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (bits, action) = text.split_once('=').ok_or("a field is bits=action")?;
        let bits: u32 = bits.parse().ok().filter(|bits| (1..=32).contains(bits)).ok_or(BITS)?;
        let fits = |value: &u32| u64::from(*value) < 1 << bits;
        let value = |text| u32::from_str_radix(text, 16).ok().filter(fits).ok_or(VALUE);
        let (action, needs) = match action {
            "sent" => (Action::Sent, bits),
            "length" => (Action::Length, 16),
            "data-length" => (Action::DataLength, 16),
            "check" => (Action::Check, 16),
            "source" => (Action::Source, 32),
            "destination" => (Action::Destination, 32),
            values => {
                (Action::Mapped(values.split('|').map(value).collect::<Result<_, _>>()?), bits)
            }
        };
        if bits == needs { Ok(Field { bits, action }) } else { Err(BITS) }
    }
}

const BITS: &str = "a field of another length was expected";
const VALUE: &str = "a hexadecimal number that fits was expected";

impl Rule {
    fn new(number: u8, name: &str) -> Self {
        Rule { number, name: name.into(), fields: Vec::new(), octets: 0 }
    }

    /// Completes a rule, all of whose fields are there.
    fn complete(&mut self) -> Result<(), &'static str> {
        let mut bits = 0;
        for Field { bits: own, action } in &self.fields {
            let is_computed = matches!(action, Action::Length | Action::DataLength | Action::Check);
            if is_computed && bits % 8 != 0 || *action == Action::Check && bits != 80 {
                return Err("a computed field where it cannot be");
            }
            bits += *own as usize;
        }
        self.octets = bits / 8;
        let is_whole = bits.is_multiple_of(8) && (IPV4..=RULE_OCTETS_MOST).contains(&self.octets);
        is_whole.then_some(()).ok_or("a rule has 20 to 64 whole octets")
    }
}

impl RuleSet {
    /// Returns the rules that every station has.
    pub fn built_in() -> Self {
        BUILT_IN.parse().unwrap_or_default()
    }

    /// Returns the check of the text, without its comments: both sides have the same rules where it
    /// is the same.
    pub const fn check(&self) -> u32 {
        self.check
    }

    /// Returns the name of a rule.
    pub fn name(&self, number: u8) -> Option<&str> {
        self.rule(number).map(|rule| &*rule.name)
    }

    pub(crate) fn rule(&self, number: u8) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.number == number)
    }
}

impl FromStr for RuleSet {
    type Err = BadRules;

    fn from_str(text: &str) -> Result<Self, BadRules> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut words = lines.flat_map(str::split_whitespace);
        let (mut rules, mut check) = (Vec::<Rule>::new(), Crc32c::new());
        let mut next = || {
            let word = words.next();
            word.into_iter().for_each(|word| {
                check.add(word.as_bytes());
                check.add(b" ");
            });
            word
        };
        while let Some(word) = next() {
            let bad = |why| BadRules { word: word.into(), why };
            if word == "rule" {
                let (number, name) = (next().unwrap_or_default(), next().unwrap_or_default());
                let is_new = |number: &u8| {
                    usize::from(*number) < RULES_MOST && rules.iter().all(|r| r.number != *number)
                };
                let number = number.parse().ok().filter(is_new);
                let number = number.ok_or_else(|| bad("rules have numbers of their own, to 14"))?;
                rules.push(Rule::new(number, name));
            } else {
                let rule = rules.last_mut().ok_or_else(|| bad("a field of no rule"))?;
                rule.fields.push(word.parse().map_err(bad)?);
            }
        }
        for rule in &mut rules {
            rule.complete().map_err(|why| BadRules { word: rule.name.clone(), why })?;
        }
        Ok(RuleSet { rules, check: check.value() })
    }
}
