//! `jis get`: a picture, as it arrives.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use stackwright::compose::Over;
use stackwright::contract::services::Ended;
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::tailored::header::ReasonCode;
use stackwright_drivers::Driver;
use stackwright_jis::generated::Why;
use stackwright_jis::generated::client::{Input, Output};
use stackwright_jis::{ArrivedPart, CREDIT, PORT, PictureView, requested, watched_client};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};

use super::log::Log;
use super::show::Screen;
use super::{Get, png};
use crate::address::{self, Address};
use crate::images::below;
use crate::interrupts::interrupts;
use crate::printable::Printable;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::Message;

const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
/// How often what has arrived is shown.
const FRAME: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Told {
    open: bool,
    partial: bool,
    ended: Option<Ended>,
    /// Until an end is noted.
    log: Option<Log>,
}

impl Told {
    fn over(&mut self, how: &str) {
        if let Some(log) = self.log.take() {
            log.note(how);
        }
    }
}

impl<S: Protocol<Provides = Speaking<Input<Message>, Output<Message>>>> Outlet<S> for Told {
    fn indicate(&mut self, indication: RoleIndication<Output<Message>>) {
        match indication {
            RoleIndication::Opened { .. } => {
                self.open = true;
                if let Some(log) = &self.log {
                    log.note("opened");
                }
            }
            RoleIndication::Told { output, .. } => match output {
                Output::Ready => {} // both tables are noted
                Output::Done => self.over("done"),
                Output::Partial => {
                    self.partial = true;
                    self.over("partial");
                }
                Output::Denied => self.over("denied"),
                Output::Never(never, _) => match never {},
            },
            RoleIndication::Ended { why, .. } => {
                self.over("ended");
                self.ended = Some(why);
            }
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<S>) {
        let _ = request; // readiness asks nothing of what is below a driver
    }
}

/// Where a picture is.
struct Sought {
    host: String,
    port: u16,
    name: String,
}

fn sought(get: &Get) -> Result<Sought, Problem> {
    let wrong = |why| Problem::PictureUrl { url: get.place.clone(), why };
    if let Some(name) = &get.name {
        let (host, port) = address::host_and_port(&get.place).map_err(wrong)?;
        return Ok(Sought { host, port: port.unwrap_or(PORT), name: name.clone() });
    }
    let address = Address::parse(&get.place).map_err(wrong)?;
    if address.scheme != "jis" {
        return Err(wrong("it does not begin with jis://"));
    }
    let name = percent_encoding::percent_decode_str(address.path.trim_start_matches('/'));
    let name = name.decode_utf8().map_err(|_| wrong("its name is not UTF-8"))?.into_owned();
    if name.is_empty() {
        return Err(wrong("it names no picture"));
    }
    Ok(Sought { host: address.host, port: address.port.unwrap_or(PORT), name })
}

pub(super) fn run(get: &Get) -> Result<(), Problem> {
    let sought = sought(get)?;
    let too_long = || Problem::PictureUrl { url: get.place.clone(), why: "its name is too long" };
    let name = requested(&sought.name).ok_or_else(too_long)?;
    let file = target(get, &sought.name)?;
    for path in file.iter().chain(&get.png).chain(&get.log) {
        if path.exists() && !get.force && path.as_os_str() != "-" {
            let why =
                io::Error::new(io::ErrorKind::AlreadyExists, "it exists; --force replaces it");
            return Err(Problem::Path { path: path.clone(), why });
        }
    }
    let server = address::resolve(&sought.host, sought.port)?[0];
    let log = get.log.as_deref().map(|path| create(path, get.force)).transpose()?;
    let (view, told) = fetch(get, &sought, name, server, log)?;
    let failed = |why: String, advice| Problem::Picture {
        server: server.to_string(),
        name: Printable(&sought.name).to_string(),
        why,
        advice,
    };
    if let Some((why, text)) = view.refused() {
        let advice = match why {
            Why::Unknown => "names are those of the files of the served folder, with their endings",
            Why::Unsuitable => "the server's file has to be changed",
        };
        return Err(failed(Printable(&text).to_string(), advice));
    }
    let Some(fetched) = view.fetched() else {
        let advice = "check that `stackwright jis serve` runs there, and its port (UDP)";
        if let Some(flaw) = view.flaw() {
            return Err(failed(flaw.to_string(), "the server sends what is no picture of its own"));
        }
        let why = match told.ended {
            Some(Ended::Refused(
                ReasonCode::CONFIGURED_OTHERWISE | ReasonCode::ANOTHER_PROTOCOL,
            )) => "the server speaks another version of this protocol".into(),
            Some(why) if !told.partial && why != Ended::Finished => why.to_string(),
            _ => "it did not arrive whole in time".into(),
        };
        return Err(failed(why, advice));
    };
    if let Some(path) = &file {
        write(path, &fetched.file, get.force)?;
    }
    if let Some(path) = &get.png {
        let png = png::of_jpeg(&fetched.file)
            .map_err(|why| failed(why, "its file can be fetched all the same: leave out --png"))?;
        write(path, &png, get.force)?;
    }
    if file.as_deref() != Some(Path::new("-")) {
        let same = if fetched.exact { "octet for octet" } else { "coefficient for coefficient" };
        say!("{}: {} octets, the server's {same}", Printable(&sought.name), fetched.file.len());
    }
    Ok(())
}

/// Where the file goes; a picture that is only shown, or is wanted as PNG, goes nowhere.
fn target(get: &Get, name: &str) -> Result<Option<PathBuf>, Problem> {
    match &get.output {
        Some(path) => Ok(Some(path.clone())),
        None if get.show || get.png.is_some() => Ok(None),
        None if name.contains(['/', '\0']) || name.starts_with('.') => {
            let why = "no file here can have its name; name one with -o";
            Err(Problem::PictureUrl { url: get.place.clone(), why })
        }
        None => Ok(Some(name.into())),
    }
}

fn fetch(
    get: &Get,
    sought: &Sought,
    name: Message,
    server: SocketAddr,
    log: Option<File>,
) -> Result<(PictureView, Told), Problem> {
    let view = PictureView::default();
    let mut driver = Driver::new(fastrand::u64(..))?;
    let (below, most) = below(&driver, server.ip(), &get.placement)?;
    let interrupted = interrupts()?;
    let screen = get.show.then(Screen::new);
    let log = log.map(Log::begin);
    let mut told = Told { log: log.clone(), ..Told::default() };
    let noting = log.clone();
    let layer = watched_client::<Message, _>(view.clone(), move |part: ArrivedPart<'_>| {
        if let Some(log) = &noting {
            log.arrived(part);
        }
    });
    let mut stack = Over::new(layer, below);
    let remote = server.into();
    let open = RoleRequest::Open { association: ASSOCIATION, remote, local: None, credit: CREDIT };
    driver.request(&mut stack, open, &mut told);
    let style = "{msg} {bar:30} {percent} %";
    let bar = ProgressBar::new(0).with_message(Printable(&sought.name).to_string());
    bar.set_style(ProgressStyle::with_template(style).expect("a template of ours"));
    let (mut name, mut next) = (Some(name), Instant::now() + FRAME);
    while told.ended.is_none() {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Problem::Interrupted);
        }
        if let Some(name) = name.take_if(|_| told.open) {
            let input = Input::Get { most: most as u16, name };
            let tell = RoleRequest::Tell { association: ASSOCIATION, input };
            driver.request(&mut stack, tell, &mut told);
        }
        driver.turn(&mut stack, &mut told, Some(FRAME))?;
        let begin = Instant::now();
        if begin >= next {
            progress(&view, &bar, screen.as_ref());
            // To join a large picture takes half of the time at most.
            next = Instant::now() + begin.elapsed().max(FRAME);
        }
    }
    if let Some(screen) = screen {
        // Only the whole file says which way round it is.
        let picture = view.fetched().map(|fetched| fetched.file).or_else(|| view.partial());
        picture.into_iter().for_each(|picture| screen.show(picture));
        if let Some(why) = screen.finish() {
            say!("It is not shown: {why}");
        }
    }
    bar.finish_and_clear();
    if let (Some(log), Some(path)) = (log, &get.log) {
        log.finish().map_err(|why| Problem::Path { path: path.clone(), why })?;
    }
    Ok((view, told))
}

fn progress(view: &PictureView, bar: &ProgressBar, screen: Option<&Screen>) {
    let Some(progress) = view.progress() else { return };
    match screen {
        Some(screen) if screen.draws() => {}
        Some(screen) => {
            if let Some(picture) = view.partial() {
                screen.show(picture);
            }
        }
        None => {
            bar.set_length(progress.of as u64);
            bar.set_position(progress.units as u64);
        }
    }
}

fn write(path: &Path, octets: &[u8], force: bool) -> Result<(), Problem> {
    if path.as_os_str() == "-" {
        return Ok(io::stdout().write_all(octets)?);
    }
    let wrong = |why| Problem::Path { path: path.into(), why };
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        // A device or a pipe has no other version to keep.
        return create(path, force)?.write_all(octets).map_err(wrong);
    }
    // What is there, behind a link or not, stays until all of the new file is written.
    let path = &path.canonicalize().unwrap_or(path.into());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (folder, mode) = (folder.unwrap_or(Path::new(".")), Permissions::from_mode(0o666));
    let file = tempfile::Builder::new().permissions(mode).tempfile_in(folder);
    let mut file = file.map_err(wrong)?;
    file.write_all(octets).map_err(wrong)?;
    let named = if force { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).map_err(|error| wrong(error.error))
}

fn create(path: &Path, force: bool) -> Result<File, Problem> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!force);
    options.open(path).map_err(|why| Problem::Path { path: path.into(), why })
}
