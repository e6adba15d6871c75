//! Properties and models: names are looked up.

use super::scope::{self, unknown};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::program::{Claim, Deed, Model, Property, RoleProgram, SignalKind, Verb};
use crate::tree::{ClaimItem, DeedItem, Expression, ExpressionKind, File, Ident, ModelItem};

/// Looks all properties up.
pub(super) fn properties(
    file: &File,
    roles: &[RoleProgram],
    told: &mut Vec<Diagnostic>,
) -> Vec<Property> {
    scope::duplicates("a property", file.properties.iter().map(|one| &one.name), &[], told);
    let mut found = Vec::new();
    for item in &file.properties {
        let mut find = |one: &DeedItem| deed(one, file, roles, told);
        let claim = match &item.claim {
            ClaimItem::Never { what, before } => {
                let (what, before) = (find(what), before.as_ref().map(find));
                match (what, before) {
                    (Some(what), None) => Some(Claim::Never { what, before: None }),
                    (Some(what), Some(Some(before))) => {
                        Some(Claim::Never { what, before: Some(before) })
                    }
                    _ => None,
                }
            }
            ClaimItem::Ordered(what) => find(what).map(Claim::Ordered),
            ClaimItem::Eventually { what, way } => {
                let of = |word: &str| way.iter().find(|(one, _)| one.name == word).map(|one| one.1);
                let (loses, doubles) = (of("loses"), of("doubles"));
                find(what).map(|what| Claim::Eventually { what, loses, doubles })
            }
            ClaimItem::Always(expression, role) => {
                let nth = roles.iter().position(|one| one.name == role.name);
                match nth {
                    Some(nth) => {
                        of_variables(expression, &roles[nth], told);
                        Some(Claim::Always(expression.clone(), nth))
                    }
                    None => {
                        told.push(unknown("role", role, roles.iter().map(|one| one.name.as_str())));
                        None
                    }
                }
            }
        };
        let property = |claim| Property { name: item.name.name.clone(), claim };
        found.extend(claim.map(property));
    }
    found
}

/// Tells of names that are no variables of a role.
fn of_variables(expression: &Expression, role: &RoleProgram, told: &mut Vec<Diagnostic>) {
    match &expression.is {
        ExpressionKind::Name(name) => {
            let variables = role.variables.iter().filter(|one| one.declared);
            if !variables.clone().any(|one| one.name == *name) {
                let ident = Ident { name: name.clone(), at: expression.at };
                told.push(unknown("variable", &ident, variables.map(|one| one.name.as_str())));
            }
        }
        ExpressionKind::Not(inner) => of_variables(inner, role, told),
        ExpressionKind::Binary(_, left, right) => {
            of_variables(left, role, told);
            of_variables(right, role, told);
        }
        ExpressionKind::Number(_) | ExpressionKind::Truth(_) => {}
        ExpressionKind::Field(..) | ExpressionKind::Call(..) | ExpressionKind::Octets(_) => {
            let says = "a property speaks of variables alone";
            told.push(Diagnostic::new(DiagnosticCode::Property, expression.at, says));
        }
    }
}

fn deed(
    item: &DeedItem,
    file: &File,
    roles: &[RoleProgram],
    told: &mut Vec<Diagnostic>,
) -> Option<Deed> {
    let verb = match item.verb.name.as_str() {
        "call" => Verb::Call,
        "send" => Verb::Send,
        _ => Verb::Emit,
    };
    let name = item.name.name.as_str();
    let number = |role: &RoleProgram| match verb {
        Verb::Call => role.functions.iter().position(|one| one.name == name),
        Verb::Emit => {
            let is =
                |one: &crate::program::Signal| one.name == name && one.kind == SignalKind::Output;
            role.signals.iter().position(is)
        }
        Verb::Send => {
            let adu = file.adus.iter().position(|one| one.name.name == name)?;
            role.sends.contains(&adu).then_some(adu)
        }
    };
    let meant = |role: &RoleProgram| item.role.as_ref().is_none_or(|one| one.name == role.name);
    let found: Vec<Deed> = roles
        .iter()
        .enumerate()
        .filter(|(_, role)| meant(role))
        .filter_map(|(nth, role)| Some(Deed { role: nth, verb, number: number(role)? }))
        .collect();
    match found[..] {
        [one] => Some(one),
        [] => {
            let whose = item
                .role
                .as_ref()
                .map_or("no role".into(), |role| format!("no role `{}`", role.name));
            let says = format!("{whose} does `{} {name}`", item.verb.name);
            told.push(
                Diagnostic::new(DiagnosticCode::Property, item.name.at, says)
                    .help("write `call FUNCTION`, `emit OUTPUT` or `send ADU`"),
            );
            None
        }
        _ => {
            let says = format!("several roles do `{} {name}`", item.verb.name);
            told.push(
                Diagnostic::new(DiagnosticCode::Property, item.name.at, says)
                    .help(format!("say which: `{}.{name}`", roles[found[0].role].name)),
            );
            None
        }
    }
}

/// Looks a model up.
pub(super) fn model(file: &File, roles: &[RoleProgram], told: &mut Vec<Diagnostic>) -> Model {
    let mut model = Model::default();
    let functions = || roles.iter().flat_map(|role| &role.functions).map(|one| one.name.as_str());
    let inputs = || {
        let all = roles.iter().flat_map(|role| &role.signals);
        all.filter(|one| one.kind == SignalKind::Input)
    };
    for item in &file.models {
        match item {
            ModelItem::Values { name, values } => {
                let params = inputs().flat_map(|one| &one.params).map(|one| one.name.as_str());
                known("host function or value of an input", name, functions().chain(params), told);
                model.values.push((name.name.clone(), values.clone()));
            }
            ModelItem::Means { name, value } => {
                known("host function", name, functions(), told);
                of_calls(value, &functions().collect::<Vec<_>>(), told);
                model.means.push((name.name.clone(), value.clone()));
            }
            ModelItem::Tells { name, times } => {
                known("input", name, inputs().map(|one| one.name.as_str()), told);
                model.tells.push((name.name.clone(), *times));
            }
            ModelItem::Way(word, number) => match (word.name.as_str(), number) {
                ("loses", Some(number)) => model.loses = *number,
                ("doubles", Some(number)) => model.doubles = *number,
                ("holds", Some(number)) => model.holds = Some(*number),
                ("reorders", None) => model.reorders = true,
                (name, _) => {
                    let says = format!("`way {name}` is no way");
                    told.push(
                        Diagnostic::new(DiagnosticCode::Property, word.at, says)
                            .help("write `loses N`, `doubles N`, `holds N` or `reorders`"),
                    );
                }
            },
        }
    }
    model
}

fn known<'a>(
    what: &str,
    name: &Ident,
    names: impl Iterator<Item = &'a str> + Clone,
    told: &mut Vec<Diagnostic>,
) {
    if !names.clone().any(|one| one == name.name) {
        told.push(unknown(what, name, names));
    }
}

/// Tells of what is neither `calls(f)`, `last(f)` nor computed of them.
fn of_calls(value: &Expression, functions: &[&str], told: &mut Vec<Diagnostic>) {
    match &value.is {
        ExpressionKind::Call(of, arguments) if matches!(of.name.as_str(), "calls" | "last") => {
            let name = match &arguments[..] {
                [Expression { is: ExpressionKind::Name(name), at }] => Some((name, at)),
                _ => None,
            };
            match name {
                Some((name, at)) if !functions.contains(&name.as_str()) => {
                    let ident = Ident { name: name.clone(), at: *at };
                    told.push(unknown("host function", &ident, functions.iter().copied()));
                }
                Some(_) => {}
                None => {
                    let says = format!("`{}` takes the name of a host function", of.name);
                    told.push(Diagnostic::new(DiagnosticCode::Property, value.at, says));
                }
            }
        }
        ExpressionKind::Not(inner) => of_calls(inner, functions, told),
        ExpressionKind::Binary(_, left, right) => {
            of_calls(left, functions, told);
            of_calls(right, functions, told);
        }
        ExpressionKind::Number(_) | ExpressionKind::Truth(_) => {}
        _ => {
            let says = "a model knows `calls(f)`, how many times, and `last(f)`, with what";
            told.push(Diagnostic::new(DiagnosticCode::Property, value.at, says));
        }
    }
}
