//! Protocols from a specification: a text in an Esterel-like language becomes automata, and these
//! become programs, pictures and tests.
//!
//! ```text
//! text ─text/─▸ tree ─lower/─▸ program (kernel) ─react, machine/─▸ automaton ─back/─▸ Rust, DOT …
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `text/`, `tree.rs` | reading, writing; the syntax tree |
//! | `services.rs` | what a phase may demand of its transport |
//! | `lower/`, `program.rs` | names are looked up, types compared |
//! | `kernel/` | Esterel's kernel, and statements that are made of it |
//! | `react.rs` | one reaction, by Must and Can |
//! | `machine/` | the explicit automaton, and its smaller equal |
//! | `back/` | what is made of an automaton |
//! | `explore/` | the model check of properties |
//! | `hash.rs`, `layout.rs` | what two versions have to have in common |
//! | `diagnostic.rs` | what is wrong with a text, and where |
//!
//! It prints nothing and does no I/O; what it generates is `no_std` and allocates nothing.
#![forbid(unsafe_code)]

mod back;
mod diagnostic;
mod explore;
mod hash;
mod kernel;
mod layout;
mod lower;
mod machine;
#[cfg(test)]
mod oracle;
mod program;
mod react;
mod services;
mod text;
mod tree;

pub use back::{
    Interpreter, OutOfRange, RoleHost, RoleLine, RustForm, Stimulus, TranscriptMonitor, Value, dot,
    list, rust, vectors,
};
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity, Span};
pub use explore::{Checked, Conclusion, Counterexample, explore, explore_mixed};
pub use hash::hash;
pub use layout::layout_differences;
pub use machine::Automaton;
pub use program::{
    Adu, EnumType, HostFunction, NamedType, PhaseBinding, PhasePlan, Program, RoleProgram, Signal,
    SignalKind, ValueType, Variable, WaitTimer,
};
pub use text::format;

use machine::Bounds;

/// A text that is right: its program, and the automaton of each role.
#[derive(Debug)]
pub struct Compiled {
    /// What the text says.
    pub program: Program,
    /// The automata, in the order of the roles, minimised.
    pub automata: Vec<Automaton>,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
}

/// Compiles a text.
///
/// # Errors
/// Returns what is wrong, in the order of the text; never nothing.
pub fn compile(text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let (file, mut told) = text::read(text);
    // What follows from a mistake of form is not told.
    if !told.is_empty() {
        return Err(told);
    }
    let program = lower::lower(&file, &mut told);
    let is_wrong = |told: &[Diagnostic]| told.iter().any(|one| one.severity == Severity::Error);
    let mut automata = Vec::new();
    if !is_wrong(&told) {
        for role in &program.roles {
            match machine::build(role, Bounds::default()) {
                Ok(automaton) => automata.push(automaton.minimised()),
                Err(flaw) => told.push(*flaw),
            }
        }
    }
    told.sort_by_key(|one| one.at);
    if is_wrong(&told) { Err(told) } else { Ok(Compiled { program, automata, warnings: told }) }
}
