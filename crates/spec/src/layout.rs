//! What two versions have to have in common whatever they promise: the layout of each ADU, and what
//! a receiver must know of the transport. Names are not sent; but one that both versions have, and
//! that stands for something else in each, is a layout that has changed.

use crate::hash::shape;
use crate::program::{Adu, EnumType, Program, RoleProgram, SignalKind, ValueType};
use crate::services;

/// Returns how the layouts of a new version differ from those of an old one, a sentence each.
#[must_use]
pub fn layout_differences(new: &Program, old: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for adu in &new.adus {
        let named = old.adus.iter().find(|one| one.name == adu.name);
        let coded = old.adus.iter().find(|one| one.code == adu.code);
        if let Some(named) = named.filter(|named| named.code != adu.code) {
            let (name, is, was) = (&adu.name, adu.code, named.code);
            found.push(format!("`{name}` has the code {is}, and had {was}"));
        }
        if let Some(other) = coded.or(named) {
            adus((new, adu), (old, other), &mut found);
        }
    }
    for (sends, receives, whose) in [(new, old, "old"), (old, new, "new")] {
        let heard = |of: &Program, code: u8| {
            of.roles.iter().flat_map(|role| &role.signals).any(
                |signal| matches!(signal.kind, SignalKind::Adu(adu) if of.adus[adu].code == code),
            )
        };
        for adu in &sends.adus {
            let is_sent = sends.roles.iter().any(|role: &RoleProgram| {
                role.sends.iter().any(|one| sends.adus[*one].code == adu.code)
            });
            if is_sent && heard(sends, adu.code) && !heard(receives, adu.code) {
                let (name, code) = (&adu.name, adu.code);
                found.push(format!("`{name}`, code {code}, is none that an {whose} end receives"));
            }
        }
    }
    if transport(new) != transport(old) {
        found.push("the services of the phases differ in what a receiver must know".into());
    }
    found
}

/// What a receiver must know of the phases.
fn transport(of: &Program) -> Vec<String> {
    let told = of.phases.iter().flat_map(|phase| {
        let format = phase.services.iter().filter(|(name, _)| services::is_of_format(name));
        let format = format.map(|(name, arguments)| format!("{name} {arguments:?}"));
        let told = services::told_of(&phase.services).into_iter().map(str::to_owned);
        told.chain(format).collect::<Vec<_>>()
    });
    let mut told: Vec<String> = told.collect();
    told.sort_unstable();
    told.dedup();
    told
}

fn adus((new, adu): (&Program, &Adu), (old, other): (&Program, &Adu), found: &mut Vec<String>) {
    let name = &adu.name;
    if adu.by_host != other.by_host {
        found.push(format!("`{name}` is read by the host in one version alone"));
    }
    if adu.fields.len() != other.fields.len() {
        let (is, was) = (adu.fields.len(), other.fields.len());
        found.push(format!("`{name}` has {is} fields, and had {was}"));
    }
    for (nth, (field, before)) in adu.fields.iter().zip(&other.fields).enumerate() {
        let of = format!("`{name}.{}`", field.name);
        let is = shape(new, field.kind, field.most);
        let was = shape(old, before.kind, before.most);
        if is != was {
            found.push(format!("{of} is {is}, and was {was}"));
        } else if let (ValueType::Enum(one), ValueType::Enum(other)) = (field.kind, before.kind) {
            values(&of, &new.enums[one], &old.enums[other], found);
        }
        let place = other.fields.iter().position(|one| one.name == field.name);
        if place.is_some_and(|place| place != nth) {
            found.push(format!("{of} stands at another place"));
        }
    }
}

fn values(of: &str, new: &EnumType, old: &EnumType, found: &mut Vec<String>) {
    for (name, is) in &new.values {
        if let Some((_, was)) = old.values.iter().find(|(one, was)| one == name && was != is) {
            found.push(format!("`{name}` of {of} is {is}, and was {was}"));
        }
    }
}
