//! What a table came to: the file that is written, and that reports are made of.

use serde::{Deserialize, Serialize};
use stackwright_programs::statistics::{Ratio, median};

use crate::Conditions;
use crate::verdict::{Target, Verdict};

/// The version of the file's form.
pub const FORMAT: u32 = 1;

/// One table, or as much of it as was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of this form: [`FORMAT`].
    pub format: u32,
    /// Its place among the tables of `lab table all`.
    #[serde(default)]
    pub place: Option<u32>,
    /// The table's name, as on the command line.
    pub table: String,
    /// What it is about, in a few words.
    pub title: String,
    /// What was measured, and how, in a sentence or two.
    pub measures: String,
    /// The document and the table in it whose numbers stand beside ours; empty where there is none.
    pub source: String,
    /// Whether all cells that were asked for were measured.
    pub complete: bool,
    /// The command that measures it again.
    pub command: String,
    /// The machine, the program, the time.
    pub conditions: Conditions,
    /// What is drawn, and how.
    pub axes: Axes,
    /// Who is missing, and what else one has to know.
    pub notes: Vec<String>,
    /// One for each cell.
    pub rows: Vec<Row>,
}

/// The axes of the document's figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axes<Name = String> {
    /// What the rows vary.
    pub x: Name,
    /// What is measured.
    pub y: Name,
    /// Whether the first is logarithmic.
    pub log_x: bool,
    /// Whether the second is.
    pub log_y: bool,
}

/// One cell of a table: a task that all contestants did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell's name, as on the command line.
    pub key: String,
    /// Its place among all cells of its table.
    #[serde(default)]
    pub place: Option<u32>,
    /// Rows of one group are drawn into one picture.
    pub group: String,
    /// What this row is called in its group.
    pub label: String,
    /// Its place on the horizontal axis, if it has one.
    pub x: Option<f64>,
    /// Its place on the vertical axis, if it has one: a group whose rows have both places is drawn
    /// as heat maps, a map for each contestant, shaded by the share of the limit.
    #[serde(default)]
    pub y: Option<f64>,
    /// In what the samples are measured.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The best that the wire allows, in the same unit, if it is known.
    #[serde(default)]
    pub limit: Option<f64>,
    /// The document's numbers, in the document's unit.
    pub document: Vec<Figure>,
    /// What each contestant needed.
    pub columns: Vec<Column>,
    /// Who is compared with whom.
    pub comparisons: Vec<Comparison>,
}

/// A number of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Whose.
    pub who: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: String,
}

/// One contestant's samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Who.
    pub name: String,
    /// Whether it is one of ours.
    pub ours: bool,
    /// Round by round.
    pub samples: Vec<Sample>,
    /// The best that the wire allows this contestant, in the row's unit, where that differs from
    /// the row's limit.
    #[serde(default)]
    pub limit: Option<f64>,
    /// Further figures of this contestant.
    #[serde(default)]
    pub details: Vec<Detail>,
}

/// A figure of one contestant, beside that of the row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// What it is.
    pub name: String,
    /// The median of all rounds.
    pub value: f64,
    /// In what it is measured; empty for a ratio.
    pub unit: String,
    /// What it shall be.
    pub target: Option<Target>,
    /// Whether the target is reached; nothing where there is none.
    pub verdict: Option<Verdict>,
}

/// One sample, and how fast the machine was before and after it.
///
/// The probes of a simulated sample are 0: it does not depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// In the row's unit.
    pub value: f64,
    /// The two probes beside it, in seconds.
    pub probes: [f64; 2],
    /// Whether one of them was slow.
    pub slow: bool,
}

/// Two contestants of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Whose median is above the line.
    pub ours: String,
    /// Whose is below.
    pub against: String,
    /// What the ratio shall be.
    pub target: Option<Target>,
    /// The ratio of medians of all samples.
    pub ratio: Option<Ratio>,
    /// The same of the rounds in which no probe was slow.
    pub fast: Option<Ratio>,
    /// Whether the target is reached; nothing where there is none.
    pub verdict: Option<Verdict>,
}

/// Numbers of a document in one unit.
pub fn figures<Who: Into<String>>(
    numbers: impl IntoIterator<Item = (Who, f64)>,
    unit: &str,
) -> Vec<Figure> {
    let figure = |(who, value): (Who, f64)| Figure { who: who.into(), value, unit: unit.into() };
    numbers.into_iter().map(figure).collect()
}

impl Column {
    /// Values that do not depend on how fast the machine is.
    pub fn exact(name: &str, ours: bool, values: impl IntoIterator<Item = f64>) -> Self {
        let sample = |value| Sample { value, probes: [0.0; 2], slow: false };
        Column { samples: values.into_iter().map(sample).collect(), ..Column::new(name, ours) }
    }

    /// A column without samples.
    pub fn new(name: &str, ours: bool) -> Self {
        Column {
            name: name.to_owned(),
            ours,
            samples: Vec::new(),
            limit: None,
            details: Vec::new(),
        }
    }

    /// The values alone.
    pub fn values(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.value).collect()
    }

    /// The middle of all samples.
    pub fn median(&self) -> Option<f64> {
        median(&self.values())
    }

    /// Adds the median of a further figure, and what it shall be.
    pub fn tell(&mut self, name: &str, unit: &str, values: &[f64], target: Option<Target>) {
        if let Some(value) = median(values) {
            let (name, unit) = (name.to_owned(), unit.to_owned());
            self.details.push(Detail { name, value, unit, target, verdict: None });
        }
    }

    /// Whether a target of its own is missed.
    pub fn falls_short(&self) -> bool {
        self.details.iter().any(|detail| detail.verdict.is_some_and(Verdict::falls_short))
    }
}

impl Row {
    /// A row without numbers, of which less is better.
    pub fn new(
        key: impl Into<String>,
        group: impl Into<String>,
        label: impl Into<String>,
        unit: &str,
    ) -> Self {
        Row {
            key: key.into(),
            place: None,
            group: group.into(),
            label: label.into(),
            x: None,
            y: None,
            unit: unit.to_owned(),
            more_is_better: false,
            limit: None,
            document: Vec::new(),
            columns: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    /// The same at this place on the horizontal axis.
    pub fn at(self, x: f64) -> Self {
        Row { x: Some(x), ..self }
    }

    /// The same, of which more is better.
    pub fn more_is_better(self) -> Self {
        Row { more_is_better: true, ..self }
    }

    /// The same with the best that the wire allows.
    pub fn limited(self, limit: impl Into<Option<f64>>) -> Self {
        Row { limit: limit.into(), ..self }
    }

    /// The same beside the document's numbers.
    pub fn beside(self, document: Vec<Figure>) -> Self {
        Row { document, ..self }
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The median of a column as a share of what the wire allows, where that is known.
    pub fn share(&self, column: &Column) -> Option<f64> {
        let (median, limit) = column.median().zip(column.limit.or(self.limit))?;
        Some(if self.more_is_better { median / limit } else { limit / median })
    }

    /// Asks for the ratio of two columns, if both are there.
    pub fn compare(&mut self, ours: &str, against: &str, target: Option<Target>) {
        if self.column(ours).is_some() && self.column(against).is_some() {
            let (ours, against) = (ours.to_owned(), against.to_owned());
            self.comparisons.push(Comparison {
                ours,
                against,
                target,
                ratio: None,
                fast: None,
                verdict: None,
            });
        }
    }

    /// Asks for the ratios of every column of ours and every other one.
    pub fn compare_with_all(&mut self, target: Option<Target>) {
        for name in self.names(true) {
            self.compare_with_others(&name, target);
        }
    }

    /// Asks for the ratios of one column and every one that is not ours.
    pub fn compare_with_others(&mut self, name: &str, target: Option<Target>) {
        for other in self.names(false) {
            self.compare(name, &other, target);
        }
    }

    fn names(&self, ours: bool) -> Vec<String> {
        let of = self.columns.iter().filter(|column| column.ours == ours);
        of.map(|column| column.name.clone()).collect()
    }
}

impl Outcome {
    /// How many samples there are, and how many of them are slow.
    pub fn counts(&self) -> (usize, usize) {
        let samples =
            || self.rows.iter().flat_map(|row| &row.columns).flat_map(|column| &column.samples);
        (samples().count(), samples().filter(|sample| sample.slow).count())
    }

    /// The groups, in the order of their first rows.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !groups.contains(&row.group.as_str()) {
                groups.push(&row.group);
            }
        }
        groups
    }

    /// All further figures, with their rows and columns.
    pub fn details(&self) -> impl Iterator<Item = (&Row, &Column, &Detail)> {
        let columns =
            self.rows.iter().flat_map(|row| row.columns.iter().map(move |column| (row, column)));
        columns.flat_map(|(row, column)| column.details.iter().map(move |it| (row, column, it)))
    }

    /// All comparisons with their rows.
    pub fn comparisons(&self) -> impl Iterator<Item = (&Row, &Comparison)> {
        self.rows
            .iter()
            .flat_map(|row| row.comparisons.iter().map(move |comparison| (row, comparison)))
    }
}
