//! Names of Rust, and its types.

use crate::program::{NamedType, Program, RoleProgram, Signal, SignalKind, ValueType};

/// Names that Rust has for itself.
const RESERVED: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Types that a generated module has beside the protocol's own, or that its macros mean.
const TYPES: &str = "\
     Adu AsRef Box Case Clone Copy Debug Default Discriminant Drop Duration Eq Err Event F \
     FieldValue Fn FnMut FnOnce From Functions Guarantees Hash Header Host Input Instant Into \
     Iterator Layout M Message None Ok Option Ord Output Part PartialEq PartialOrd Result \
     RoleEvent RoleOutlet RolePart RoleWait Send Sized Some State Step String Sync Together \
     ToOwned ToString TryFrom TryInto Variables Vec W";

/// Crates that a generated module names.
const CRATES: &[&str] =
    &["alloc", "core", "std", "stackwright_contract", "stackwright_role", "stackwright_wire"];

/// Returns a name as of a function or a field.
pub(crate) fn snake(name: &str) -> String {
    let mut written = String::new();
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_small {
            written.push('_');
        }
        after_small = letter.is_lowercase() || letter.is_ascii_digit();
        written.extend(letter.to_lowercase());
    }
    match written.as_str() {
        "self" | "super" | "crate" | "_" => written + "_",
        word if RESERVED.contains(&word) => format!("r#{written}"),
        _ => written,
    }
}

/// Returns a name as of a type or a variant.
pub(crate) fn camel(name: &str) -> String {
    let mut written = String::new();
    let mut large = true;
    for letter in name.chars() {
        match letter {
            '_' => large = true,
            _ if large => {
                written.extend(letter.to_uppercase());
                large = false;
            }
            _ => written.push(letter),
        }
    }
    match written.as_str() {
        "" => String::from("Underscore"),
        "Self" => String::from("Self_"),
        word if word.starts_with(|first: char| first.is_ascii_digit()) => format!("_{written}"),
        _ => written,
    }
}

/// Returns the name of a signal among a role's events, some of which have names of their own.
pub(super) fn event(role: &RoleProgram, name: &str) -> String {
    let own = |signal: &Signal| match signal.kind {
        SignalKind::Timer(timer) => Some(format!("Timer{timer}")),
        SignalKind::Room => Some("Room".into()),
        SignalKind::Drained => Some("Drained".into()),
        SignalKind::Ended => Some("Ended".into()),
        SignalKind::Together => Some("Together".into()),
        _ => None,
    };
    free(camel(name), |one| {
        one == "Begin" || role.signals.iter().filter_map(own).any(|own| own == one)
    })
}

/// Returns the name of a field of an ADU, of which one says which ADU it is.
pub(crate) fn field(name: &str) -> String {
    match snake(name) {
        written if written == "adu" => written + "_",
        written => written,
    }
}

/// Returns the name of a role's module.
pub(crate) fn module(name: &str) -> String {
    let written = snake(name);
    if CRATES.contains(&written.as_str()) { written + "_" } else { written }
}

/// Returns the name behind a prefix, where it is no keyword.
pub(super) fn behind(prefix: &str, name: &str) -> String {
    format!("{prefix}_{}", snake(name).trim_start_matches("r#"))
}

/// Returns the name of the octets of a parameter that is an ADU.
pub(super) fn body(params: &[NamedType], name: &str) -> String {
    let written = format!("{}_body", snake(name).trim_start_matches("r#"));
    free(written, |one| params.iter().any(|other| snake(&other.name) == one))
}

/// Returns the name of a function of the host, which has functions of its own as well.
pub(super) fn function(program: &Program, role: &RoleProgram, nth: usize) -> String {
    let written = snake(&role.functions[nth].name);
    let own = |one: &str| {
        let mut outputs = role.signals.iter().filter(|signal| signal.kind == SignalKind::Output);
        let mut sent = role.sends.iter().map(|adu| &program.adus[*adu].name);
        // All that there is can be turned into something else.
        matches!(one, "start" | "into" | "try_into")
            || sent.any(|name| behind("send", name) == one)
            || outputs.any(|output| behind("emit", &output.name) == one)
    };
    if !own(&written) {
        return written;
    }
    free(written, |one| own(one) || role.functions.iter().any(|other| snake(&other.name) == one))
}

/// Returns the name of the function of the host that makes octets of the text a message.
pub(super) fn octets_function(program: &Program, role: &RoleProgram) -> String {
    let functions = 0..role.functions.len();
    free("octets".into(), |one| functions.clone().any(|nth| function(program, role, nth) == one))
}

/// A name that is not taken.
pub(crate) fn free(mut name: String, is_taken: impl Fn(&str) -> bool) -> String {
    while is_taken(&name) {
        name.push('_');
    }
    name
}

/// Returns the name of an enum's type.
pub(super) fn enumeration(name: &str) -> String {
    let written = camel(name);
    if TYPES.split(' ').any(|one| one == written) { written + "_" } else { written }
}

/// Returns the unsigned type that has room for `bits` bits.
pub(super) fn unsigned(bits: u32) -> &'static str {
    match bits {
        0..=8 => "u8",
        9..=16 => "u16",
        17..=32 => "u32",
        _ => "u64",
    }
}

/// Returns the type of a value that is neither octets of any number nor an ADU.
pub(super) fn plain(program: &Program, kind: ValueType) -> String {
    match kind {
        ValueType::Truth => "bool".into(),
        ValueType::Number(bits) => unsigned(bits).into(),
        ValueType::Enum(nth) => enumeration(&program.enums[nth].name),
        ValueType::Octets(length) => format!("[u8; {length}]"),
        ValueType::Bytes => "M".into(),
        ValueType::Adu(nth) => head(program, nth),
    }
}

/// Returns the name of the type of an ADU's fixed part.
pub(super) fn head(program: &Program, adu: usize) -> String {
    let written = format!("{}Head", camel(&program.adus[adu].name));
    free(written, |one| program.enums.iter().any(|of| enumeration(&of.name) == one))
}

/// Whether an ADU has octets of any number behind its fixed part.
pub(super) fn has_body(program: &Program, adu: usize) -> bool {
    program.adus[adu].fields.iter().any(|field| field.kind == ValueType::Bytes)
}
