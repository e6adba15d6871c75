//! Enums, ADUs and phases.

use super::scope::{self, Names};
use crate::back::{camel, snake};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::program::{Adu, EnumType, PhaseBinding, PhasePlan, ValueType};
use crate::services;
use crate::tree::{File, Ident, TypeName};

/// What stands in front of an ADU in a packet: tailored's header with its check, UDP's, IPv4's.
const HEADERS: u64 = 8 + 28;

/// The most phases between which packets switch: tailored's header has two bits for them.
const PHASES_MOST: usize = 4;

pub(super) fn enums(file: &File, told: &mut Vec<Diagnostic>) -> Vec<EnumType> {
    let types = file.enums.iter().map(|one| &one.name).chain(file.adus.iter().map(|one| &one.name));
    scope::duplicates("an enum or ADU", types, &[camel, snake], told);
    for one in &file.enums {
        scope::duplicates("a value", one.values.iter().map(|(name, _)| name), &[camel], told);
        for (nth, (name, value)) in one.values.iter().enumerate() {
            if one.bits < 64 && value >> one.bits != 0 {
                let says = format!(
                    "`{}` is {value}, and {} bits end at {}",
                    name.name,
                    one.bits,
                    (1_u64 << one.bits) - 1
                );
                told.push(Diagnostic::new(DiagnosticCode::EnumValue, name.at, says));
            }
            if let Some((first, _)) = one.values[..nth].iter().find(|(_, other)| other == value) {
                let says = format!("`{}` and `{}` are both {value}", first.name, name.name);
                told.push(
                    Diagnostic::new(DiagnosticCode::Duplicate, name.at, says)
                        .also(first.at, "first here"),
                );
            }
        }
    }
    let values = |one: &crate::tree::EnumItem| {
        one.values.iter().map(|(name, value)| (name.name.clone(), *value)).collect()
    };
    file.enums
        .iter()
        .map(|one| EnumType { name: one.name.name.clone(), bits: one.bits, values: values(one) })
        .collect()
}

pub(super) fn adus(file: &File, told: &mut Vec<Diagnostic>) -> Vec<Adu> {
    let mut adus: Vec<Adu> = Vec::new();
    for (nth, item) in file.adus.iter().enumerate() {
        let (code, at) = item.code.unwrap_or((nth as u64, item.name.at));
        if code > 255 {
            let says =
                format!("the code of `{}` is one octet, and {code} has more", item.name.name);
            told.push(Diagnostic::new(DiagnosticCode::AduCode, at, says));
        }
        if let Some(other) = adus.iter().find(|other| u64::from(other.code) == code) {
            let says =
                format!("`{}` and `{}` both have the code {code}", other.name, item.name.name);
            told.push(
                Diagnostic::new(DiagnosticCode::AduCode, at, says)
                    .also(other.at, "the other")
                    .help("write one: `adu NAME = 7 { … }`; without it an ADU has its place"),
            );
        }
        if !item.by_host {
            widths(item, told);
        }
        adus.push(Adu {
            name: item.name.name.clone(),
            code: code as u8,
            by_host: item.by_host,
            fields: scope::named(file, &item.fields, told),
            at: item.name.at,
        });
    }
    for (adu, item) in adus.iter().zip(&file.adus) {
        for (field, param) in adu.fields.iter().zip(&item.fields) {
            if let ValueType::Adu(_) = field.kind {
                let says = format!("`{}` is an ADU, and an ADU is no field of another", field.name);
                told.push(Diagnostic::new(DiagnosticCode::Type, param.at, says));
            }
        }
    }
    adus
}

fn widths(item: &crate::tree::AduItem, told: &mut Vec<Diagnostic>) {
    let mut bits = 0_u64;
    for (nth, field) in item.fields.iter().enumerate() {
        match &field.kind {
            TypeName::Bytes(most) => {
                if nth + 1 != item.fields.len() {
                    let says = format!(
                        "`{}` has no fixed length, and a field follows it",
                        field.name.name
                    );
                    told.push(
                        Diagnostic::new(DiagnosticCode::BytesLast, field.at, says)
                            .also(item.fields[nth + 1].at, "it would have no place")
                            .help("put it last, or give it a length: `octets<16>`"),
                    );
                }
                if most.is_none() {
                    let says = format!("`{}` of an ADU is bounded", field.name.name);
                    told.push(
                        Diagnostic::new(DiagnosticCode::BytesLast, field.at, says)
                            .help("say how long it may be")
                            .instead(field.at, format!("{}: bytes <= 1400", field.name.name)),
                    );
                }
            }
            TypeName::Bool => bits += 1,
            TypeName::Uint(width) => bits += u64::from(*width),
            TypeName::Octets(length) => bits = bits.saturating_add(length.saturating_mul(8)),
            // An enum's width is that of its own; whole octets in all but rare cases.
            TypeName::Named(_) => {}
        }
        if let TypeName::Octets(0 | 65_536..) = field.kind {
            let says = format!("`{}` has 1 to 65535 octets", field.name.name);
            told.push(Diagnostic::new(DiagnosticCode::FieldWidth, field.at, says));
        }
    }
}

/// Tells of ADUs whose fixed fields fill no whole octets; enums are known now.
pub(super) fn whole_octets(adus: &[Adu], enums: &[EnumType], told: &mut Vec<Diagnostic>) {
    for adu in adus.iter().filter(|adu| !adu.by_host) {
        let bits = fixed_bits(adu, enums);
        if !bits.is_multiple_of(8) {
            let says =
                format!("the fixed fields of `{}` have {bits} bits: no whole octets", adu.name);
            told.push(
                Diagnostic::new(DiagnosticCode::FieldWidth, adu.at, says)
                    .help(format!("add a field `reserved: bits<{}>`", 8 - bits % 8)),
            );
        }
    }
}

fn fixed_bits(adu: &Adu, enums: &[EnumType]) -> u64 {
    let bits = |kind: ValueType| match kind {
        ValueType::Truth => 1,
        ValueType::Number(bits) => u64::from(bits),
        ValueType::Enum(nth) => u64::from(enums[nth].bits),
        ValueType::Octets(length) => length.saturating_mul(8),
        ValueType::Bytes | ValueType::Adu(_) => 0,
    };
    adu.fields.iter().fold(0_u64, |sum, field| sum.saturating_add(bits(field.kind)))
}

/// Returns the octets that an ADU may have, its code included.
pub(super) fn longest(adu: &Adu, enums: &[EnumType]) -> u64 {
    let rest = adu.fields.last().and_then(|last| last.most).unwrap_or(0);
    (1 + fixed_bits(adu, enums) / 8).saturating_add(rest)
}

pub(super) fn phases(file: &File, told: &mut Vec<Diagnostic>) -> (PhaseBinding, Vec<PhasePlan>) {
    let capitals: scope::Form = |name| name.to_uppercase();
    let names = file.phases.iter().map(|one| &one.name);
    scope::duplicates("a phase", names, &[camel, capitals], told);
    let fenced = |phase: &Ident| file.fences.iter().any(|(_, after)| after.name == phase.name);
    let phases: Vec<PhasePlan> = file
        .phases
        .iter()
        .map(|phase| PhasePlan {
            name: phase.name.name.clone(),
            services: services::check(phase, told),
            fenced: fenced(&phase.name),
            at: phase.name.at,
        })
        .collect();
    let binding = match file.binding.as_ref() {
        Some(binding) if binding.name == "phased" => PhaseBinding::Phased,
        Some(binding) if binding.name == "adaptive" => PhaseBinding::Adaptive,
        _ => PhaseBinding::Static,
    };
    for (before, after) in &file.fences {
        fence(before, after, &phases, binding, told);
    }
    match binding {
        PhaseBinding::Static => share(&phases, told),
        PhaseBinding::Phased => {
            if let Some(more) = phases.get(PHASES_MOST) {
                let says =
                    format!("a packet tells {PHASES_MOST} phases apart, and this is one more");
                told.push(
                    Diagnostic::new(DiagnosticCode::Binding, more.at, says).help(
                        "`binding adaptive;` has any number: the ends agree on one at a time",
                    ),
                );
            }
            switch(&phases, told);
        }
        PhaseBinding::Adaptive => switch(&phases, told),
    }
    (binding, phases)
}

/// Tells what is wrong with a fence.
fn fence(
    before: &Ident,
    after: &Ident,
    phases: &[PhasePlan],
    binding: PhaseBinding,
    told: &mut Vec<Diagnostic>,
) {
    for name in [before, after] {
        if !phases.iter().any(|phase| phase.name == name.name) {
            let names = phases.iter().map(|phase| phase.name.as_str());
            told.push(scope::unknown("phase", name, names));
        }
    }
    let flaw = |says: &str| Diagnostic::new(DiagnosticCode::Binding, after.at, says);
    if before.name == after.name {
        told.push(flaw("a fence stands between two phases").help("for one, use `ordered`"));
    } else if binding == PhaseBinding::Static {
        let says = "a fence needs packets that say their phase";
        told.push(flaw(says).help("write `binding phased;`, or `binding adaptive;`"));
    }
}

/// Tells in what phases differ though no packet says its own.
fn share(phases: &[PhasePlan], told: &mut Vec<Diagnostic>) {
    let Some((first, others)) = phases.split_first() else { return };
    let known = services::told_of(&first.services);
    for other in others {
        let these = services::told_of(&other.services);
        let differs = these
            .iter()
            .find(|service| !known.contains(service))
            .or(known.iter().find(|service| !these.contains(service)));
        if let Some(service) = differs {
            let says = format!(
                "the phases `{}` and `{}` differ in `{service}`, which a receiver must know",
                first.name, other.name
            );
            told.push(
                Diagnostic::new(DiagnosticCode::Binding, other.at, says)
                    .also(first.at, "the other phase")
                    .help(match services::is_switched(service) {
                        true => "write `binding phased;`, and each packet says its phase",
                        false => "no packet says its phase: make two protocols of it",
                    }),
            );
        }
    }
}

/// Tells where what phases demand cannot change while data flow.
fn switch(phases: &[PhasePlan], told: &mut Vec<Diagnostic>) {
    let Some((first, others)) = phases.split_first() else { return };
    for phase in phases {
        if let Some((says, help)) = services::unswitchable(&phase.services) {
            let says = format!("`{}` {says}", phase.name);
            return told.push(Diagnostic::new(DiagnosticCode::Binding, phase.at, says).help(help));
        }
    }
    for other in others {
        let lacks = |one: &PhasePlan, other: &PhasePlan| {
            let mut fixed = one.services.iter().filter(|(name, _)| !services::is_switched(name));
            fixed.find(|service| !other.services.contains(service)).map(|(name, _)| name.clone())
        };
        if let Some(service) = lacks(other, first).or_else(|| lacks(first, other)) {
            let says = format!(
                "the phases `{}` and `{}` differ in `{service}`, which stays the same in an \
                 association",
                first.name, other.name
            );
            let help = "with the phase change `ordered`, `resends` and fences: let the rest agree";
            told.push(
                Diagnostic::new(DiagnosticCode::Binding, other.at, says)
                    .also(first.at, "the other phase")
                    .help(help),
            );
        }
    }
}

/// Tells where an ADU that is sent in a phase with `alf` does not fit one packet.
pub(super) fn fits(
    adu: usize,
    phase: Option<usize>,
    names: &Names<'_>,
    at: crate::diagnostic::Span,
    told: &mut Vec<Diagnostic>,
) {
    let Some(packet) = phase.and_then(|phase| names.packets[phase]) else { return };
    let longest = longest(&names.adus[adu], names.enums);
    if longest + HEADERS > packet {
        let says = format!(
            "`{}` may have {longest} octets: an ADU of a phase with `alf` fits one packet",
            names.adus[adu].name
        );
        let most = packet.saturating_sub(HEADERS);
        told.push(
            Diagnostic::new(DiagnosticCode::AduLength, at, says)
                .also(names.adus[adu].at, "declared here")
                .help(format!("a packet of {packet} octets has room for {most}")),
        );
    }
}
