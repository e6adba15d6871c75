//! Names of Rust, and its types.

use crate::program::{Program, ValueType};

/// Names that Rust has for itself.
const RESERVED: &[&str] = &[
    "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static",
    "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// Types that a generated module has beside the protocol's own.
const TYPES: &str = "Adu Case Discriminant Duration Event F FieldValue Functions Guarantees Header \
     Host Input Instant Layout M Message None Option Output Part Result RoleEvent RoleOutlet \
     RolePart RoleWait Some State Step Together Variables W";

/// Returns a name as of a function or a field.
pub(super) fn snake(name: &str) -> String {
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
pub(super) fn camel(name: &str) -> String {
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
        _ => written,
    }
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
    format!("{}Head", camel(&program.adus[adu].name))
}

/// Whether an ADU has octets of any number behind its fixed part.
pub(super) fn has_body(program: &Program, adu: usize) -> bool {
    program.adus[adu].fields.iter().any(|field| field.kind == ValueType::Bytes)
}
