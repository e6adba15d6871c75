//! What is made of a text: pictures, Rust, vectors, a text in the style.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use stackwright_spec::{RustForm, dot, hash as hash_of, list, rust, vectors as vectors_of};

use super::arguments::{Draw, Format, Generate, One, Role};
use super::transport;
use crate::problem::Problem;
use crate::report::say;
use crate::specification::{Source, read, refused};

pub(super) fn draw(draw: &Draw) -> Result<(), Problem> {
    let source = Source::load(&draw.of.file)?;
    let program = &source.compiled.program;
    let one = source.role(draw.of.role.as_deref())?;
    let roles = if draw.of.role.is_some() || draw.dot || draw.svg {
        one..one + 1
    } else {
        0..program.roles.len()
    };
    for nth in roles {
        let automaton = &source.compiled.automata[nth];
        if draw.dot {
            say!("{}", dot(program, nth, automaton).trim_end());
        } else if draw.svg {
            say!("{}", svg(&dot(program, nth, automaton))?.trim_end());
        } else {
            say!("{}", list(program, nth, automaton, &source.text));
        }
    }
    Ok(())
}

/// Lets Graphviz draw.
fn svg(dot: &str) -> Result<String, Problem> {
    let begun = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let drawn = begun.and_then(|mut child| {
        // It reads all before it writes.
        child.stdin.take().expect("it is piped").write_all(dot.as_bytes())?;
        child.wait_with_output()
    });
    match drawn {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(_) => Err(Problem::Unfit { what: "dot".into(), why: "Graphviz could not draw it" }),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Err(Problem::Unfit {
            what: "--svg".into(),
            why: "Graphviz is not installed; --dot prints what it would draw",
        }),
        Err(why) => Err(Problem::System(why)),
    }
}

pub(super) fn generate(generate: &Generate) -> Result<(), Problem> {
    let path = &generate.of.file;
    let Source { compiled, text } = Source::load(path)?;
    let form = if generate.contract { RustForm::Contract } else { RustForm::Plain };
    let written = if generate.transport {
        transport::write(&compiled)?
    } else {
        rust(&compiled.program, &compiled.automata, form)
            .map_err(|flaw| refused(path, &text, &[*flaw]))?
    };
    let Some(output) = &generate.output else {
        say!("{}", written.trim_end());
        return Ok(());
    };
    if generate.check {
        return if read(output)? == written {
            Ok(())
        } else {
            Err(Problem::Stale { path: output.clone() })
        };
    }
    fs::write(output, written).map_err(|why| Problem::Path { path: output.clone(), why })
}

pub(super) fn format(format: &Format) -> Result<(), Problem> {
    for path in &format.files {
        let text = read(path)?;
        let written =
            stackwright_spec::format(&text).map_err(|told| refused(path, &text, &told))?;
        if written == text {
            continue;
        }
        if format.check {
            return Err(Problem::Stale { path: path.clone() });
        }
        fs::write(path, written).map_err(|why| Problem::Path { path: path.clone(), why })?;
    }
    Ok(())
}

pub(super) fn vectors(vectors: &Role) -> Result<(), Problem> {
    let source = Source::load(&vectors.file)?;
    let nth = source.role(vectors.role.as_deref())?;
    let compiled = &source.compiled;
    say!("{}", vectors_of(&compiled.program, nth, &compiled.automata[nth]).trim_end());
    Ok(())
}

pub(super) fn hash(hash: &One) -> Result<(), Problem> {
    let Source { compiled, .. } = Source::load(&hash.file)?;
    say!("{}", hash_of(&compiled.program, &compiled.automata));
    Ok(())
}
