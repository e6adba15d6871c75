//! A campaign's file: read, checked, and refused with a place and a sentence.
//! `campaign/example.toml` shows all of it.

use std::time::Duration;

use stackwright_results::{Flaw, suggestion};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::read::Reader;
use crate::sweep::{Cell, OUT, Parameter, SEED, Seeds, Sweep};
use crate::template::Template;

/// Octets of the largest file.
const FILE_MOST: usize = 1 << 20;
/// Cells of the largest campaign.
const CELLS_MOST: u64 = 10_000_000;
/// Octets of the longest name of a cell: the name of a file has 255, and something is put before
/// and behind it.
const NAME_MOST: usize = 200;
/// How long a cell may take where nothing is said.
const LIMIT: Duration = Duration::from_secs(3600);
/// Names that are columns of the summary already.
const RESERVED: [&str; 5] = [SEED, OUT, "cell", "sweep", "state"];

/// All sweeps of a file.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    sweeps: Vec<Sweep>,
    count: u64,
}

impl Campaign {
    /// Reads a campaign.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub(crate) fn read(text: &str) -> Result<Self, Flaw> {
        if text.len() > FILE_MOST {
            return Err(Flaw::whole(format!(
                "the file has {} octets; the limit is {FILE_MOST}",
                text.len()
            )));
        }
        let table = DeTable::parse(text).map_err(|error| Flaw::of(text, &error))?;
        let reader = Reader { text };
        let mut campaign = Campaign { sweeps: Vec::new(), count: 0 };
        let mut limit = LIMIT;
        let mut sweeps = None;
        for (key, value) in reader.entries(table.get_ref()) {
            match key.get_ref().as_ref() {
                "limit" => limit = reader.seconds(value, "limit")?,
                "sweep" => sweeps = Some(value),
                other => return Err(reader.unknown(key, other, &["limit", "sweep"])),
            }
        }
        let Some(sweeps) = sweeps else {
            return Err(Flaw::whole("the file has no sweep: add a `[[sweep]]` table"));
        };
        let DeValue::Array(tables) = sweeps.get_ref() else {
            return Err(reader.flaw(sweeps, "write `[[sweep]]` with two pairs of brackets"));
        };
        for table in tables {
            campaign.add(&reader, table, limit)?;
        }
        match campaign.count {
            0 => Err(reader.flaw(sweeps, "there is no sweep: add a `[[sweep]]` table")),
            _ => Ok(campaign),
        }
    }

    fn add(
        &mut self,
        reader: &Reader<'_>,
        value: &Spanned<DeValue<'_>>,
        limit: Duration,
    ) -> Result<(), Flaw> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(reader.flaw(value, "a sweep must be a table: begin it with `[[sweep]]`"));
        };
        let sweep = read_sweep(reader, value, table, limit)?;
        if self.sweeps.iter().any(|other| other.name == sweep.name) {
            let says = format!(
                "the name `{}` is used by two sweeps: their results would be mixed",
                sweep.name
            );
            return Err(reader.flaw(value, says));
        }
        let count = sweep.count().and_then(|count| count.checked_add(self.count));
        let Some(count) = count.filter(|count| *count <= CELLS_MOST) else {
            let says = format!(
                "with `{}` the campaign has more than {CELLS_MOST} cells: use fewer seeds or values, or several files",
                sweep.name
            );
            return Err(reader.flaw(value, says));
        };
        let longest = sweep.longest_name();
        if longest > NAME_MOST {
            let says = format!(
                "the cells of `{}` have names of up to {longest} octets, and {NAME_MOST} are the most: \
                 shorten its values, or put them into files",
                sweep.name
            );
            return Err(reader.flaw(value, says));
        }
        self.count = count;
        self.sweeps.push(sweep);
        Ok(())
    }

    /// How many cells there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Its sweeps, in order.
    pub(crate) fn sweeps(&self) -> &[Sweep] {
        &self.sweeps
    }

    /// The cell with this number, counted from 0.
    pub(crate) fn cell(&self, index: u64) -> Option<Cell<'_>> {
        let mut place = index;
        for sweep in &self.sweeps {
            let count = sweep.count().unwrap_or_default();
            if place < count {
                return Some(sweep.cell(place, index));
            }
            place -= count;
        }
        None
    }

    /// All cells, in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.count).filter_map(|index| self.cell(index))
    }
}

fn read_sweep(
    reader: &Reader<'_>,
    whole: &Spanned<DeValue<'_>>,
    table: &DeTable<'_>,
    limit: Duration,
) -> Result<Sweep, Flaw> {
    const KEYS: [&str; 6] = ["name", "program", "run", "seeds", "values", "limit"];
    let mut sweep = Sweep {
        name: String::new(),
        program: None,
        words: Vec::new(),
        parameters: Vec::new(),
        seeds: Seeds::None,
        limit,
    };
    let mut run = None;
    for (key, value) in reader.entries(table) {
        match key.get_ref().as_ref() {
            "name" => sweep.name = reader.name(value, reader.text(value, "name")?)?,
            "program" => {
                sweep.program = Some(reader.text(value, "program")?.to_owned());
            }
            "run" => {
                sweep.words = words(reader, value)?;
                run = Some(value);
            }
            "seeds" => sweep.seeds = reader.seeds(value)?,
            "values" => sweep.parameters = parameters(reader, value)?,
            "limit" => sweep.limit = reader.seconds(value, "limit")?,
            other => return Err(reader.unknown(key, other, &KEYS)),
        }
    }
    if sweep.name.is_empty() {
        return Err(
            reader.flaw(whole, "this sweep needs a `name`; the names of its cells begin with it")
        );
    }
    let Some(run) = run else {
        let says = format!("`{}` needs `run`, its command as a list of words", sweep.name);
        return Err(reader.flaw(whole, says));
    };
    check_places(reader, run, &sweep)?;
    Ok(sweep)
}

fn words(reader: &Reader<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<Template>, Flaw> {
    let DeValue::Array(words) = value.get_ref() else {
        return Err(reader.flaw(
            value,
            "`run` must be a list of words, such as [\"run\", \"file\", \"--seed\", \"{seed}\"]",
        ));
    };
    let word = |word: &Spanned<DeValue<'_>>| {
        Template::read(reader.text(word, "a word of `run`")?)
            .map_err(|says| reader.flaw(word, says))
    };
    words.iter().map(word).collect()
}

fn parameters(reader: &Reader<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<Parameter>, Flaw> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err(
            reader.flaw(value, "`values` must be a table of names, each with a list of values")
        );
    };
    let mut parameters = Vec::new();
    for (key, value) in reader.entries(table) {
        let name = key.get_ref().as_ref();
        if RESERVED.contains(&name) {
            let says = format!("`{name}` is reserved; choose another name for these values");
            return Err(reader.flaw(key, says));
        }
        let name = reader.name(key, name)?;
        let values = reader.values(value, &name)?;
        parameters.push(Parameter { name, values });
    }
    Ok(parameters)
}

/// Every place of the command has values, and all values have a place.
fn check_places(
    reader: &Reader<'_>,
    run: &Spanned<DeValue<'_>>,
    sweep: &Sweep,
) -> Result<(), Flaw> {
    let seed = (!matches!(sweep.seeds, Seeds::None)).then_some(SEED);
    let varied: Vec<&str> =
        sweep.parameters.iter().map(|parameter| parameter.name.as_str()).chain(seed).collect();
    let DeValue::Array(words) = run.get_ref() else { return Ok(()) };
    for (word, template) in words.iter().zip(&sweep.words) {
        let mut places = template.places();
        if let Some(place) = places.find(|place| *place != OUT && !varied.contains(place)) {
            let known = varied.iter().copied().chain([OUT]);
            let advice = match place {
                SEED => "; add `seeds = { first = 1, last = 10 }`".to_owned(),
                _ => suggestion(place, known),
            };
            return Err(reader.flaw(word, format!("`{{{place}}}` has no values{advice}")));
        }
    }
    let used: Vec<&str> = sweep.words.iter().flat_map(Template::places).collect();
    match varied.iter().find(|name| !used.contains(name)) {
        Some(name) => {
            let says = format!(
                "`run` of `{}` does not use `{{{name}}}`: its cells would all do the same",
                sweep.name
            );
            Err(reader.flaw(run, says))
        }
        None => Ok(()),
    }
}
