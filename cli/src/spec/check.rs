//! A protocol is compiled, and what it promises is checked.

use stackwright_spec::{Checked, Conclusion, explore, explore_mixed, hash, layout_differences};

use super::arguments::Check;
use crate::problem::Problem;
use crate::report::say;
use crate::specification::Source;

pub(super) fn check(check: &Check) -> Result<(), Problem> {
    let path = &check.of.file;
    let Source { compiled, .. } = Source::load(path)?;
    let program = &compiled.program;
    say!("{} version {}, {} binding", program.name, program.version, program.binding.word());
    for (role, automaton) in program.roles.iter().zip(&compiled.automata) {
        say!("  {}: {} states", role.name, automaton.states());
    }
    say!("  hash {}", hash(program, &compiled.automata));
    let unfit = |why| Problem::Unfit { what: path.display().to_string(), why };
    let mut found = explore(&compiled).map_err(unfit)?;
    let mut same_layout = true;
    if let Some(with) = &check.with {
        let old = Source::load(with)?.compiled;
        let of_old = hash(&old.program, &old.automata);
        let differences = layout_differences(program, &old.program);
        for difference in &differences {
            say!("  layout: broken, {difference}");
        }
        same_layout = differences.is_empty();
        // Where each reads something else, there is nothing to explore.
        if same_layout {
            say!("  layout: holds, both versions have the same");
            found.extend(explore_mixed(&compiled, &old).map_err(unfit)?);
        }
        if !program.accepts.contains(&of_old) {
            say!("  {} has the hash {of_old}, which is not accepted", with.display());
        }
    }
    found.iter().for_each(tell);
    let count =
        |is: fn(&Conclusion) -> bool| found.iter().filter(|one| is(&one.conclusion)).count();
    let broken = count(|one| matches!(one, Conclusion::Broken(_)));
    let undecided = count(|one| *one == Conclusion::Undecided);
    match (broken, undecided) {
        _ if !same_layout => Err(Problem::Layout { path: path.clone() }),
        (0, 0) => Ok(()),
        (0, undecided) => Err(Problem::Undecided { path: path.clone(), undecided }),
        (broken, _) => Err(Problem::Promises { path: path.clone(), broken }),
    }
}

/// Says what was found of a property.
fn tell(checked: &Checked) {
    let Checked { name, worlds, held_most, conclusion } = checked;
    match conclusion {
        Conclusion::Holds => say!("  {name}: holds in {worlds} worlds, at most {held_most} held"),
        Conclusion::Broken(trouble) => {
            say!("  {name}: broken, {}", trouble.says);
            trouble.chart.iter().for_each(|line| say!("    {}", line.trim_end()));
        }
        Conclusion::Undecided => say!(
            "  {name}: not decided, it holds in the first {worlds} worlds, and there are more: \
             bound the model, as `way holds 2;`"
        ),
    }
}
