//! What names mean.

use std::collections::HashMap;

use crate::back::field;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, similar};
use crate::program::{Adu, EnumType, NamedType, ValueType};
use crate::tree::{File, Ident, Param, TypeName};

/// What the whole protocol declares.
pub(super) struct Names<'a> {
    pub(super) enums: &'a [EnumType],
    pub(super) adus: &'a [Adu],
    pub(super) phases: Vec<&'a str>,
    /// Phases, in the order of `phases`, with `alf`, and their longest packet.
    pub(super) packets: Vec<Option<u64>>,
}

impl Names<'_> {
    /// Returns the value and the enum of a constant's name; several enums may have it.
    pub(super) fn constants(&self, name: &str) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        for (nth, of) in self.enums.iter().enumerate() {
            let values = of.values.iter().filter(|(value, _)| value == name);
            found.extend(values.map(|(_, value)| (nth, *value)));
        }
        found
    }
}

/// Tells that a name is not known, and which was probably meant.
pub(super) fn unknown<'a>(
    what: &str,
    ident: &Ident,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let says = format!("no {what} is called `{}`", ident.name);
    let flaw = Diagnostic::new(DiagnosticCode::UnknownName, ident.at, says);
    let known: Vec<&str> = known.into_iter().collect();
    match similar(&ident.name, known.iter().copied()) {
        Some(meant) => flaw.help("a similar name is declared").instead(ident.at, meant),
        None if known.is_empty() => flaw.help(format!("no {what} is declared")),
        None => flaw.help(format!("declared are {}", known.join(", "))),
    }
}

/// How a name is written in what is generated.
pub(super) type Form = fn(&str) -> String;

/// Tells of names that are declared twice, or that become one in what is generated.
pub(super) fn duplicates<'a>(
    what: &str,
    names: impl IntoIterator<Item = &'a Ident>,
    forms: &[Form],
    told: &mut Vec<Diagnostic>,
) {
    let mut seen: HashMap<(usize, String), &Ident> = HashMap::new();
    for ident in names {
        let plain: Form = str::to_owned;
        let written = [plain].into_iter().chain(forms.iter().copied()).enumerate();
        let written: Vec<_> = written.map(|(nth, form)| (nth, form(&ident.name))).collect();
        let first = written.iter().find_map(|form| seen.get(form).map(|first| (*first, &form.1)));
        if let Some((first, form)) = first {
            let says = if first.name == ident.name {
                format!("{what} is called `{}` already", ident.name)
            } else {
                format!("`{}` and `{}` are both `{form}` in Rust", first.name, ident.name)
            };
            told.push(
                Diagnostic::new(DiagnosticCode::Duplicate, ident.at, says)
                    .label("again here")
                    .also(first.at, "first here"),
            );
        }
        for form in written {
            seen.entry(form).or_insert(ident);
        }
    }
}

/// Looks a type up.
pub(super) fn kind(
    file: &File,
    kind: &TypeName,
    told: &mut Vec<Diagnostic>,
) -> Option<(ValueType, Option<u64>)> {
    Some(match kind {
        TypeName::Bool => (ValueType::Truth, None),
        TypeName::Uint(bits) => (ValueType::Number(*bits), None),
        TypeName::Octets(length) => (ValueType::Octets(*length), None),
        TypeName::Bytes(most) => (ValueType::Bytes, *most),
        TypeName::Named(ident) => {
            let of_enum = file.enums.iter().position(|one| one.name.name == ident.name);
            let of_adu = file.adus.iter().position(|one| one.name.name == ident.name);
            match (of_enum, of_adu) {
                (Some(nth), _) => (ValueType::Enum(nth), None),
                (None, Some(nth)) => (ValueType::Adu(nth), None),
                (None, None) => {
                    let types = ["bool", "u8", "u16", "u32", "u64", "bytes"];
                    let declared = file.enums.iter().map(|one| one.name.name.as_str());
                    let adus = file.adus.iter().map(|one| one.name.name.as_str());
                    told.push(unknown(
                        "type",
                        ident,
                        types.into_iter().chain(declared).chain(adus),
                    ));
                    return None;
                }
            }
        }
    })
}

/// Looks the types of parameters or fields up.
pub(super) fn named(file: &File, params: &[Param], told: &mut Vec<Diagnostic>) -> Vec<NamedType> {
    duplicates("a field or parameter", params.iter().map(|one| &one.name), &[field], told);
    params
        .iter()
        .map(|param| {
            // An unknown type was told of; whatever is done with it is right.
            let (kind, most) =
                kind(file, &param.kind, told).unwrap_or((ValueType::Number(64), None));
            NamedType { name: param.name.name.clone(), kind, most }
        })
        .collect()
}

/// Something that came in this instant, under the name that the text gives it.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) name: String,
    pub(super) at: Span,
    pub(super) signal: u16,
    /// Where control may wait behind it, so that what came is gone.
    pub(super) gone: Option<Span>,
}
