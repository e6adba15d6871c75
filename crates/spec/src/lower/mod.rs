//! From syntax tree to program: names are looked up, types are compared, and statements become
//! those of the kernel.
//!
//! | file | what |
//! | --- | --- |
//! | `scope.rs` | what names mean |
//! | `items.rs` | enums, ADUs, phases |
//! | `roles.rs` | what a role declares |
//! | `properties.rs` | what it promises, and the model |
//! | `statements.rs`, `events.rs` | what a role does |
//! | `expressions.rs` | what it computes |
//! | `sends.rs` | what it tells: emissions, ADUs, calls, assignments |

mod events;
mod expressions;
mod items;
mod properties;
mod roles;
mod scope;
mod sends;
mod statements;

use crate::back::module;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::program::Program;
use crate::services;
use crate::tree::{File, Ident};
use scope::Names;

/// Makes a program of a text's tree. What is wrong, or doubtful, is told.
pub(crate) fn lower(file: &File, told: &mut Vec<Diagnostic>) -> Program {
    let enums = items::enums(file, told);
    let adus = items::adus(file, told);
    items::whole_octets(&adus, &enums, told);
    let (binding, phases) = items::phases(file, told);
    let packet = |phase: &crate::program::PhasePlan| {
        let own = services::number(&phase.services, "alf");
        services::has(&phase.services, "alf").then(|| own.unwrap_or(services::PACKET))
    };
    let names = Names {
        enums: &enums,
        adus: &adus,
        phases: phases.iter().map(|phase| phase.name.as_str()).collect(),
        packets: phases.iter().map(packet).collect(),
    };
    scope::duplicates("a role", file.roles.iter().map(|role| &role.name), &[module], told);
    let at = file.name.clone().unwrap_or(Ident { name: String::new(), at: Default::default() });
    if file.roles.is_empty() {
        let says = format!("`{}` has no role", at.name);
        told.push(
            Diagnostic::new(DiagnosticCode::NoRole, at.at, says)
                .help("write `role NAME { … }`: what one of its ends does"),
        );
    }
    let window =
        phases.iter().filter_map(|phase| services::number(&phase.services, "flow_control")).max();
    let roles: Vec<_> =
        file.roles.iter().map(|role| roles::lower(file, role, &names, window, told)).collect();
    Program {
        properties: properties::properties(file, &roles, told),
        model: properties::model(file, &roles, told),
        name: at.name,
        version: file.version,
        roles,
        accepts: file.accepts.iter().map(|hash| hash.name.clone()).collect(),
        enums,
        adus,
        phases,
        binding,
    }
}
