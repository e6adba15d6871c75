//! The stacks of this program that a file describes.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stackwright::compose::graph::Graph;
use stackwright::contract::words::Speaks;
use stackwright::contract::{Guarantees, Listener};
use stackwright::copy::Copying;
use stackwright::ftp::client;
use stackwright::ftp::server::Serving;
use stackwright_drivers::files::{DiskOptions, Root};
use stackwright_drivers::{Driver, Readiness};

use crate::described::Described;
use crate::perf::layers;
use crate::problem::Problem;
use crate::registry::{self, Near, Setting, Taken, Wishes};
use crate::stacks::{self, Message};

/// What is on this side of a copy.
pub(crate) enum Local {
    Folder(PathBuf),
    Open(File, String),
}

impl Local {
    pub(crate) fn shown(&self) -> String {
        match self {
            Local::Folder(folder) => folder.display().to_string(),
            Local::Open(_, shown) => shown.clone(),
        }
    }

    /// Makes another session's share of the same.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Local::Folder(folder) => Local::Folder(folder.clone()),
            Local::Open(file, shown) => Local::Open(file.try_clone()?, shown.clone()),
        })
    }
}

/// The description that a command names, once it is known to fit and to provide `T`: before anybody
/// is asked for a password, and anything is opened.
pub(crate) fn load<T: Speaks<Message, Readiness>>(name: &Path) -> Result<Described, Problem> {
    let described = Described::load(name)?;
    let looked_at = described.description.build::<_, _, T>(&registry::registry(None));
    looked_at.map_err(|flaw| described.flawed(&flaw))?;
    Ok(described)
}

/// Builds a copy, as a file describes it.
pub(crate) fn copy(
    described: &Described,
    near: &Local,
    config: client::Config,
    wishes: Wishes,
    listener: Box<dyn Listener>,
) -> Result<(Driver, Graph<Message, Readiness, Copying>), Problem> {
    let unread = !reads_payload(described)?;
    // Below the copy there is a client, and its streams below that.
    let is_folder = matches!(near, Local::Folder(_));
    let regions =
        is_folder && unread && send_regions(described, 2)? && !has_below(described, "tls")?;
    let encrypts = config.tls != client::TlsMode::Off;
    let wishes = Wishes {
        idle: Some(config.idle),
        disk: DiskOptions { regions, ..stacks::copy_options() },
        splicing: is_folder && unread,
        ..wishes
    };
    let (driver, graph, taken) = build::<Copying>(described, Some(near), Some(config), wishes)?;
    // A copy does what it is told, and would as well store what shall be fetched.
    let top = graph.tops().next().unwrap_or_default();
    if taken.disk.is_none() || graph.lower(top, 1) != taken.disk.as_deref() {
        return Err(described
            .unfit("the copy needs the command's folder on its right: a `disk` without a `root`"));
    }
    if taken.client.is_none() || graph.lower(top, 0) != taken.client.as_deref() {
        return Err(described.unfit(
            "the copy needs the command's server on its left: an `ftp client` without a `server`",
        ));
    }
    if encrypts && !taken.tls {
        return Err(described.unfit("no `tls` of it expects the command's server: put one without a `server` between the client and `tcp`"));
    }
    driver.context().listen(listener);
    Ok((driver, graph))
}

/// A server, as a file describes it.
pub(crate) struct ServerGraph {
    pub(crate) graph: Graph<Message, Readiness, Serving>,
    /// Whether clients may store.
    pub(crate) writable: bool,
    /// Whether the command's folder is what it serves.
    pub(crate) has_folder: bool,
}

pub(crate) fn server(
    described: &Described,
    folder: &Path,
    mut wishes: Wishes,
) -> Result<(Driver, ServerGraph), Problem> {
    if !send_regions(described, 1)? {
        wishes.disk.regions = false;
    }
    let folder = Local::Folder(folder.into());
    let (driver, graph, taken) = build(described, Some(&folder), None, wishes)?;
    Ok((driver, ServerGraph { graph, writable: taken.writable, has_folder: taken.disk.is_some() }))
}

/// Builds a stack of which the command says nothing; `hosted`: for other programs.
pub(crate) fn alone<T: Speaks<Message, Readiness>>(
    described: &Described,
    hosted: bool,
) -> Result<(Driver, Graph<Message, Readiness, T>), Problem> {
    let (driver, graph, _) = build(described, None, None, Wishes { hosted, ..Wishes::default() })?;
    Ok((driver, graph))
}

/// Returns whether octets of a file may stay in it until they are sent: every stream `layers`
/// layers below the tops must send regions of files.
fn send_regions(described: &Described, layers: usize) -> Result<bool, Problem> {
    let looked_at = described.description.look(&registry::registry(None));
    let graph = looked_at.map_err(|flaw| described.flawed(&flaw))?;
    let sends = |top| {
        let streams = (0..layers).try_fold(top, |upper, _| graph.lower(upper, 0));
        let facts = streams.and_then(|streams| graph.facts_of(streams));
        facts.is_some_and(|facts| facts.gives.has(Guarantees::REGIONS))
    };
    Ok(graph.tops().all(sends))
}

/// Refuses a proxy of which nothing below the client has a use.
///
/// # Errors
/// What the file lacks.
pub(crate) fn check_proxy(described: &Described) -> Result<(), Problem> {
    if has_below(described, "proxy")? {
        return Ok(());
    }
    Err(described.unfit("no `proxy` of it takes the command's: put one between the client and `tcp`, or leave out --proxy"))
}

/// Whether the protocol `name` is below the client: a `tls` there may encrypt, and so has to read.
fn has_below(described: &Described, name: &str) -> Result<bool, Problem> {
    let looked_at = described.description.look(&registry::registry(None));
    let graph = looked_at.map_err(|flaw| described.flawed(&flaw))?;
    let below = |node: &&str| graph.lower(node, 0);
    let mut nodes = graph.tops().flat_map(|top| std::iter::successors(Some(top), below));
    Ok(nodes.any(|node| graph.facts_of(node).is_some_and(|facts| facts.name == name)))
}

/// Whether anybody reads what passes.
fn reads_payload(described: &Described) -> Result<bool, Problem> {
    let looked_at = described.description.look(&registry::registry(None));
    let graph = looked_at.map_err(|flaw| described.flawed(&flaw))?;
    Ok(graph.tops().any(|top| graph.facts_of(top).is_none_or(|facts| facts.reads_payload)))
}

/// A driver, its stack, and what of the command is in it.
type Built<T> = (Driver, Graph<Message, Readiness, T>, Taken);

fn build<T: Speaks<Message, Readiness>>(
    described: &Described,
    near: Option<&Local>,
    client: Option<client::Config>,
    wishes: Wishes,
) -> Result<Built<T>, Problem> {
    let open = |near: &Local| {
        let files = match near {
            Local::Folder(folder) => Root::open(folder).map(Near::Folder),
            Local::Open(file, _) => file.try_clone().map(Near::Open),
        };
        files.map_err(|why| Problem::Path { path: near.shown().into(), why })
    };
    let setting = Rc::new(Setting {
        driver: Driver::new(fastrand::u64(..))?,
        pool: stacks::pool(),
        client: Cell::new(client),
        near: Cell::new(near.map(open).transpose()?),
        wishes,
        taken: RefCell::default(),
    });
    let registry = layers::measured(registry::registry(Some(&setting)), &described.name);
    let built = described.description.build(&registry).map_err(|flaw| described.flawed(&flaw));
    drop(registry);
    let Setting { driver, taken, .. } =
        Rc::into_inner(setting).expect("the registry alone shared it");
    Ok((driver, built?, taken.into_inner()))
}
