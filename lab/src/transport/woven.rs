//! Transports that a file describes: any graph of the protocols below that provides datagrams, on
//! one adapter.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;
use stackwright::catalogue;
use stackwright::compose::graph::{
    Description, Erased, Flaw, Graph, Parameter, ParameterKind, ParameterTable, Parameters,
    ProtocolRegistry,
};
use stackwright_contract::Duration;
use stackwright_contract::services::Datagrams;
use stackwright_results::Problem;

use super::ground::Ground;
use super::window::{self, Window};
use super::{Lowers, M};

/// A graph of datagrams.
pub(crate) type Woven = Graph<M, Ground, Datagrams<M>>;

/// A file, and what it describes once it was read.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "PathBuf")]
pub(crate) struct Described {
    file: PathBuf,
    description: Option<Description>,
}

impl From<PathBuf> for Described {
    fn from(file: PathBuf) -> Self {
        Described { file, description: None }
    }
}

impl PartialEq for Described {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

const WINDOW: &[Parameter] = &[
    Parameter::required("octets", ParameterKind::Number, "the window, in octets"),
    Parameter::new(
        "patience",
        ParameterKind::Number,
        "after this time without an acknowledgement octets no longer count as in flight, in milliseconds",
    ),
];

impl Described {
    /// Reads the description, and builds it once, to see whether it fits.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), Problem> {
        let path = folder.join(&self.file);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|why| Problem::usage(format!("{}: {why}", path.display())))?;
        let flawed = |flaw: Flaw| {
            let place =
                flaw.at().map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
            Problem::usage(format!("{}{place}: {}", path.display(), flaw.says()))
                .advise("protocols here: udp, tcp, framed, ordered, window, stop-and-wait")
        };
        let description = Description::read(&text).map_err(flawed)?;
        let anywhere = Lowers::Simulated(Ipv4Addr::LOCALHOST.into());
        let _fits: Woven = description.build(&registry(anywhere, 1)).map_err(flawed)?;
        self.description = Some(description);
        Ok(())
    }

    /// The graph over `lowers`, of which one of its nodes takes one.
    ///
    /// # Panics
    /// Where it was not loaded.
    pub(super) fn build(&self, lowers: Lowers, seed: u64) -> Woven {
        let description = self.description.as_ref().expect("a scenario loads what it names");
        description
            .build(&registry(lowers, seed))
            .expect("it was built before, over other adapters of the same services")
    }
}

fn registry(lowers: Lowers, seed: u64) -> ProtocolRegistry<M, Ground> {
    let lowers = Rc::new(Cell::new(Some(lowers)));
    let others = Rc::clone(&lowers);
    catalogue::registry(move || seed)
        .with("udp", "the operating system's UDP", &[], move |table| {
            Ok(taken(&lowers, table)?.datagrams())
        })
        .with("tcp", "the operating system's TCP", &[], move |table| {
            Ok(taken(&others, table)?.streams())
        })
        .with("window", "datagrams under a byte window", WINDOW, move |table| {
            let patience = milliseconds(table, "patience")?.unwrap_or(super::WINDOW_PATIENCE);
            let octets = table.number("octets").unwrap_or(0);
            let octets = u64::try_from(octets)
                .map_err(|_| table.flaw("octets", "a window must not be negative".into()))?;
            Ok(Box::new(Erased(Window::<M>::new(window::Rules::new(octets, patience), seed))))
        })
}

/// The adapter, for the first node that asks.
fn taken(lowers: &Cell<Option<Lowers>>, table: &Parameters<'_>) -> Result<Lowers, Flaw> {
    let _first = table.lane();
    lowers.take().ok_or_else(|| {
        table.flaw("protocol", "a transport has one adapter here, and this is a second".into())
    })
}

fn milliseconds(table: &Parameters<'_>, key: &str) -> Result<Option<Duration>, Flaw> {
    let Some(number) = table.number(key) else { return Ok(None) };
    match u64::try_from(number) {
        Ok(number @ 1..=3_600_000) => Ok(Some(Duration::from_millis(number))),
        _ => Err(table.flaw(key, format!("`{key}` must be 1 to 3600000 milliseconds"))),
    }
}
