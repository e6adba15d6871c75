//! `features`: the feature model of generated bases, what each selection can do, and what a
//! specification completes to.

use clap::Args;
use serde_json::{Map, Value, json};
use stackwright::base::features::{
    self, EventManager, FeaturePart, Message, Opening, PARTS, Refusal, Selection, Session,
};

use crate::problem::Problem;
use crate::report::say;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright features
  stackwright features \"events: Simple, opening: ActivePassive\"")]
pub(crate) struct Features {
    /// A selection to complete and validate, such as "events: Simple, opening: ActivePassive".
    pub(crate) specification: Option<String>,
    /// Print JSON lines, one per selection.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(features: &Features) -> Result<(), Problem> {
    match (&features.specification, features.json) {
        (Some(specification), json) => complete(specification, json)?,
        (None, false) => {
            draw();
            table();
            select();
        }
        (None, true) => {
            for (row, selection) in Selection::all().enumerate() {
                say!("{}", told(Some(row + 1), &selection));
            }
        }
    }
    Ok(())
}

/// The model as a tree, of the names that the model itself has.
fn draw() {
    let names =
        |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(" | ");
    let maps = features::Map::ALL;
    say!("Protocol");
    say!("├── message    {}", names(&mut Message::ALL.iter().map(|message| message.name())));
    say!(
        "├── session    {}",
        names(
            &mut [Session::Absent, Session::Present(maps[0])].iter().map(|session| session.name())
        )
    );
    say!("│   └── map    {}", names(&mut maps.iter().map(|map| map.name())));
    say!("├── events     {}", names(&mut EventManager::ALL.iter().map(|events| events.name())));
    say!("└── opening    {}", names(&mut Opening::ALL.iter().map(|opening| opening.name())));
    say!("\nDefaults: {}.\n", Selection::DEFAULT);
}

/// 48 rows and 7 columns; each reason is spelled once, below.
fn table() {
    let mut reasons: Vec<(&str, &str)> = Vec::new();
    let mut row = 0;
    let width = |part: &FeaturePart| part.name.len().max("opening".len());
    for message in Message::ALL {
        let heads: Vec<_> =
            PARTS.iter().map(|part| format!("{:<1$}", part.name, width(part))).collect();
        say!("message: {}", message.name());
        say!("    {:<8} {:<12} {:<14} {} strict", "session", "events", "opening", heads.join(" "));
        for selection in Selection::all().filter(|selection| selection.message == *message) {
            let Selection { session, events, opening, .. } = selection;
            row += 1;
            let cells = PARTS.iter().map(|part| {
                let reason = missing(&selection, part);
                reasons.extend(reason);
                format!("{:<1$}", reason.map_or("yes", |(feature, _)| feature), width(part))
            });
            let cells: Vec<_> = cells.collect();
            let strict = if selection.strict().is_ok() { "yes" } else { "no" };
            let (session, events, opening) = (session.name(), events.name(), opening.name());
            say!("{row:>2}  {session:<8} {events:<12} {opening:<14} {} {strict}", cells.join(" "));
        }
        say!("");
    }
    for FeaturePart { name, purpose, .. } in PARTS {
        say!("{name:<12} {purpose}");
    }
    say!("\nEach part is tried with every selection that has what it needs. What a part needs:");
    reasons.sort_unstable();
    reasons.dedup();
    for (feature, sentence) in reasons {
        say!("{feature:<12} it needs {sentence}");
    }
    let accepted = Selection::all().filter(|selection| selection.strict().is_ok()).count();
    let refused = Selection::all().find_map(|selection| selection.strict().err());
    if let Some(refusal) = refused {
        say!(
            "\nStrict mode accepts {accepted} of the {row}, and refuses the others; an example: {refusal}."
        );
    }
}

fn select() {
    say!("\nTo select some features and have the rest completed:");
    say!("  generate! {{ pub MyBase<M> {{ events: Simple, opening: ActivePassive }} }}");
    say!("  stackwright features \"events: Simple, opening: ActivePassive\"");
}

/// The feature without which a part cannot be tried, and the sentence.
fn missing(selection: &Selection, part: &FeaturePart) -> Option<(&'static str, &'static str)> {
    match selection.offers(part.needs, part.name) {
        Err(Refusal::Needed { missing, .. }) => {
            // The sentence names the feature between two marks.
            Some((missing.split('`').nth(1).unwrap_or(missing), missing))
        }
        _ => None,
    }
}

fn complete(specification: &str, json: bool) -> Result<(), Problem> {
    let selection = features::select(specification, false)
        .map_err(|refusal| Problem::Selection { says: refusal.to_string() })?;
    if json {
        say!("{}", told(None, &selection));
        return Ok(());
    }
    say!("{selection}\n");
    for part in PARTS {
        match missing(&selection, &part) {
            None => say!("{:<12} {:<8} {}", part.name, "yes", part.purpose),
            Some((feature, sentence)) => say!("{:<12} {feature:<8} it needs {sentence}", part.name),
        }
    }
    match selection.strict() {
        Ok(()) => say!("\nStrict mode accepts it."),
        Err(refusal) => say!("\nStrict mode refuses it: {refusal}."),
    }
    Ok(())
}

fn told(row: Option<usize>, selection: &Selection) -> Value {
    let parts = PARTS.iter().map(|part| {
        let can = match selection.offers(part.needs, part.name) {
            Ok(()) => Value::from(true),
            Err(refusal) => Value::from(refusal.to_string()),
        };
        (part.name.to_owned(), can)
    });
    let mut told = json!({
        "message": selection.message.name(), "session": selection.session.name(),
        "events": selection.events.name(), "opening": selection.opening.name(),
        "strict": selection.strict().is_ok(), "parts": parts.collect::<Map<_, _>>(),
    });
    if let Session::Present(map) = selection.session {
        told["map"] = map.name().into();
    }
    if let Some(row) = row {
        told["row"] = row.into();
    }
    told
}
