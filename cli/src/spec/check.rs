//! A protocol is compiled, and what it promises is checked.

use stackwright_spec::{Checked, explore, explore_mixed, hash};

use super::arguments::Check;
use super::text::Source;
use crate::problem::Problem;
use crate::report::say;

pub(super) fn check(check: &Check) -> Result<(), Problem> {
    let path = &check.of.file;
    let Source { compiled, .. } = Source::load(path)?;
    let program = &compiled.program;
    say!("{} version {}, {} binding", program.name, program.version, program.binding);
    for (role, automaton) in program.roles.iter().zip(&compiled.automata) {
        say!("  {}: {} states", role.name, automaton.states());
    }
    say!("  hash {}", hash(program, &compiled.automata));
    let unfit = |why| Problem::Unfit { what: path.display().to_string(), why };
    let mut found = explore(&compiled).map_err(unfit)?;
    if let Some(with) = &check.with {
        let old = Source::load(with)?.compiled;
        let of_old = hash(&old.program, &old.automata);
        found.extend(explore_mixed(&compiled, &old).map_err(unfit)?);
        if !program.accepts.contains(&of_old) {
            say!("  {} has the hash {of_old}, which is not accepted", with.display());
        }
    }
    let broken = found.iter().filter(|one| !holds(one)).count();
    match broken {
        0 => Ok(()),
        broken => Err(Problem::Promises { path: path.clone(), broken }),
    }
}

/// Says what was found of a property.
fn holds(checked: &Checked) -> bool {
    let Checked { name, worlds, held_most, trouble } = checked;
    let Some(trouble) = trouble else {
        say!("  {name}: holds in {worlds} worlds, at most {held_most} held");
        return true;
    };
    say!("  {name}: broken, {}", trouble.says);
    trouble.chart.iter().for_each(|line| say!("    {}", line.trim_end()));
    false
}
