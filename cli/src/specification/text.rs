//! A text is read and compiled, or it is shown what is wrong.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use stackwright_spec::{Compiled, Diagnostic, DiagnosticCode, PhasePlan, Severity, compile};

use super::phases::planned;
use crate::problem::Problem;

/// A protocol in a file.
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) compiled: Compiled,
}

impl Source {
    /// Compiles a file; what is wrong or doubtful goes to the standard error.
    pub(crate) fn load(path: &Path) -> Result<Self, Problem> {
        let text = read(path)?;
        match compile(&text) {
            Ok(compiled) => {
                show(path, &text, &compiled.warnings);
                let flaws: Vec<Diagnostic> =
                    compiled.program.phases.iter().filter_map(unplanned).collect();
                if !flaws.is_empty() {
                    return Err(refused(path, &text, &flaws));
                }
                Ok(Source { text, compiled })
            }
            Err(told) => Err(refused(path, &text, &told)),
        }
    }

    /// Returns the number of the role of that name, or of the first one.
    pub(crate) fn role(&self, name: Option<&str>) -> Result<usize, Problem> {
        let Some(name) = name else { return Ok(0) };
        let mut roles = self.compiled.program.roles.iter();
        roles.position(|role| role.name == name).ok_or_else(|| Problem::Unfit {
            what: format!("--role {name}"),
            why: "the protocol has no role of this name; `stackwright spec check` lists them",
        })
    }
}

/// What is wrong with the services of a phase, where no policies meet them.
fn unplanned(phase: &PhasePlan) -> Option<Diagnostic> {
    let why = planned(&phase.services).err()?;
    Some(Diagnostic {
        code: DiagnosticCode::NoPolicy,
        severity: Severity::Error,
        says: why.to_string(),
        at: phase.at,
        label: String::new(),
        also: Vec::new(),
        help: None,
        instead: None,
    })
}

pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|why| Problem::Path { path: path.to_owned(), why })
}

/// Shows what is wrong, and counts it.
pub(crate) fn refused(path: &Path, text: &str, told: &[Diagnostic]) -> Problem {
    show(path, text, told);
    let mistakes = told.iter().filter(|one| one.severity == Severity::Error).count();
    Problem::Specification { path: path.to_owned(), mistakes }
}

fn show(path: &Path, text: &str, told: &[Diagnostic]) {
    let mut error = io::stderr();
    let colored = error.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for one in told {
        let rendered = one.render(&path.to_string_lossy(), text, colored);
        // Where nobody reads it, nobody misses it.
        let _ = writeln!(error, "{rendered}\n");
    }
}
