//! `serve`: a folder over FTP.

mod arguments;

use std::fmt::Arguments;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::HumanBytes;
use serde_json::json;
use stackwright::contract::services::Ended;
use stackwright::contract::{Fingerprint, Instant, Listener, Outlet, Protocol, RequestOf};
use stackwright::ftp::server::{
    self, Anonymous, Indication, Request, Rights, SecurityLevel, Serving, SessionReuse,
    TransferDirection,
};
use stackwright::tls::ServerIdentity;
use stackwright_drivers::{Driver, Lanes};

use crate::described::Described;
use crate::interrupts::interrupts;
use crate::printable::Printable;
use crate::problem::Problem;
use crate::registry::{Admission, Wishes};
use crate::remote::{Below, check_option};
use crate::report::{note, rate, say, short};
use crate::secret::{self, OnlyUser};
use crate::{descriptors, graphs, identity, stacks};
pub(crate) use arguments::Serve;
use arguments::{ReuseWish, TlsWish};

pub(crate) fn run(serve: &Serve) -> Result<(), Problem> {
    let named = serve.stack.as_deref().map(graphs::load::<Serving>).transpose()?;
    guard(serve, serve.writable)?;
    let below: Vec<_> = places(serve).into_iter().map(|(below, _)| below).collect();
    check_option("--packet", serve.packet.is_some() && named.is_none(), &below)?;
    let accounts = accounts(serve)?;
    let options = stacks::server_options(serve.writable, !serve.no_sync);
    let folder = serve
        .folder
        .canonicalize()
        .map_err(|why| Problem::Path { path: serve.folder.clone(), why })?;
    let shown = folder.display().to_string();
    // Over a transport of ours, the stack is one of the descriptions that are built in.
    let own = [&serve.artp, &serve.xtp].into_iter().flatten();
    let shortest = own.map(|address| stacks::packet(address.ip())).min();
    let own = serve.inet.as_ref().map(|inet| Described::on_device("serve-inet", inet));
    let placement = &serve.placement;
    check_option("--placement", placement.is_server(), &below)?;
    if placement.is_server() {
        let is_own = [
            ("--packet", serve.packet.is_some()),
            ("--tls", serve.tls.is_some()),
            ("--listen-tls", !serve.listen_tls.is_empty()),
        ];
        if let Some((option, _)) = is_own.into_iter().find(|(_, is_given)| *is_given) {
            let transport = "a transport in a server".into();
            let by = "those with --placement library".into();
            return Err(Problem::Unhonoured { option, transport, by });
        }
    }
    let placed = || Described::placed(below[0].stacks()[1], below[0], placement);
    let own = own.or(placement.is_server().then(placed));
    let described = match (named.or(own.transpose()?), below[0]) {
        (None, Below::Tcp | Below::Tls) => None,
        (None, below) => Some(graphs::load::<Serving>(Path::new(below.stacks()[1]))?),
        (named, _) => named,
    };
    match described {
        None => {
            let rights = Rights { write: serve.writable };
            let defaults = server::Config::new(accounts(rights));
            let config = server::Config {
                sessions_most: serve.sessions.unwrap_or(defaults.sessions_most),
                sessions_per_address: serve
                    .sessions_per_address
                    .unwrap_or(defaults.sessions_per_address),
                passive_ports: serve.passive_ports.clone(),
                public_address: serve.public_address,
                idle: serve.idle.unwrap_or(defaults.idle),
                ..defaults
            };
            descriptors::provide(config.sessions_most);
            let told = Told::new(serve, shown, serve.writable);
            let unopened = |why| Problem::Path { path: folder.clone(), why };
            let security = match serve.tls {
                None if serve.listen_tls.is_empty() => SecurityLevel::Off,
                None | Some(TlsWish::Offered) => SecurityLevel::Offered,
                Some(TlsWish::Required) => SecurityLevel::Required,
            };
            let session_reuse = match serve.session_reuse {
                None | Some(ReuseWish::Prefer) => SessionReuse::Prefer,
                Some(ReuseWish::Require) => SessionReuse::Require,
                Some(ReuseWish::Off) => SessionReuse::Off,
            };
            let config = server::Config { security, session_reuse, ..config };
            let encrypts = security != SecurityLevel::Off;
            let identity = encrypts.then(|| identity(serve)).transpose()?;
            let fingerprint = identity.as_ref().map(ServerIdentity::fingerprint);
            let told = Told { fingerprint, ..told };
            let stack = stacks::server(&folder, config, options, identity);
            let (driver, stack) = stack.map_err(unopened)?;
            placement.grant(&driver.registry());
            carry_out(driver, stack, told)
        }
        Some(described) => {
            let wishes = Wishes {
                disk: options,
                writable: serve.writable,
                sessions: serve.sessions,
                sessions_per_address: serve.sessions_per_address,
                passive_ports: serve.passive_ports.clone(),
                public_address: serve.public_address,
                idle: serve.idle,
                packet: serve.packet.or(shortest),
                accounts: Some(accounts),
                ..Wishes::default()
            };
            let (driver, stack) = graphs::server(&described, &folder, wishes)?;
            placement.grant(&driver.registry());
            let graphs::ServerGraph { graph, writable, has_folder } = stack;
            guard(serve, writable)?;
            let shown = if has_folder { shown } else { format!("the files of {}", described.name) };
            carry_out(driver, graph, Told::new(serve, shown, writable))
        }
    }
}

/// The certificate that clients of `serve` are shown.
fn identity(serve: &Serve) -> Result<ServerIdentity, Problem> {
    let addresses: Vec<_> = places(serve).iter().map(|(_, address)| address.ip()).collect();
    identity::server(serve.certificate.as_deref().zip(serve.key.as_deref()), &addresses)
}

/// Where to listen, and for what.
fn places(serve: &Serve) -> Vec<(Below, SocketAddr)> {
    let all = [
        (Below::Tcp, &serve.listen),
        (Below::Tls, &serve.listen_tls),
        (Below::Artp, &serve.artp),
        (Below::Xtp, &serve.xtp),
    ];
    let mut places: Vec<_> = all
        .into_iter()
        .flat_map(|(below, addresses)| addresses.iter().map(move |address| (below, *address)))
        .collect();
    if places.is_empty() {
        let own =
            serve.inet.as_ref().map(|inet| SocketAddr::new(inet.network.address, DEFAULT.port()));
        places.push((Below::Tcp, own.unwrap_or(DEFAULT)));
    }
    places
}

/// Where to listen where nobody says it.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2121);

/// Nobody lets everybody store by mistake.
fn guard(serve: &Serve, writable: bool) -> Result<(), Problem> {
    let exposed = places(serve).into_iter().find(|(_, address)| !address.ip().is_loopback());
    match exposed {
        Some((_, address)) if writable && serve.user.is_none() => {
            Err(Problem::WritableByEverybody { address })
        }
        _ => Ok(()),
    }
}

/// Drives any stack that serves, until a person or the system wants it to end.
fn carry_out<S>(mut driver: Driver, mut stack: S, mut told: Told<'_>) -> Result<(), Problem>
where
    S: Protocol<Provides = Serving, Uses: Lanes>,
{
    if told.serve.verbose {
        driver.context().listen(Box::new(Dialogue));
    }
    let interrupted = interrupts()?;
    let places = places(told.serve);
    for &(below, address) in &places {
        told.below = below;
        let local = address.into();
        let request = match below {
            Below::Tls => Request::ServeSecurely { local },
            _ => Request::Serve { local },
        };
        driver.request(&mut stack, request, &mut told);
        if let Some(why) = told.refused {
            return Err(Problem::Listen { address, why });
        }
    }
    told.hints();
    while !interrupted.load(Ordering::Relaxed) {
        driver.turn(&mut stack, &mut told, Some(Duration::from_secs(1)))?;
        // A transport in a server answers later, and ends with the server.
        if let (Some(why), &[(_, address), ..]) = (told.refused, &places[..]) {
            return Err(Problem::Listen { address, why });
        }
    }
    driver.request(&mut stack, Request::Stop, &mut told);
    Ok(())
}

fn accounts(serve: &Serve) -> Result<Admission, Problem> {
    let Some(user) = serve.user.clone() else {
        return Ok(Box::new(|rights| Box::new(Anonymous(rights))));
    };
    let password = secret::password(&user, serve.password_file.as_deref())?;
    let guests = serve.anonymous;
    Ok(Box::new(move |rights| {
        let only = OnlyUser::new(&user, &password, rights);
        Box::new(if guests { only.with_guests() } else { only })
    }))
}

/// Tells a person, or a program, what the server does.
struct Told<'a> {
    serve: &'a Serve,
    /// What is served.
    folder: String,
    writable: bool,
    listening: usize,
    /// What stands below the address at which it begins to listen.
    below: Below,
    refused: Option<Ended>,
    /// That of the certificate that clients are shown.
    fingerprint: Option<Fingerprint>,
}

impl<'a> Told<'a> {
    fn new(serve: &'a Serve, folder: String, writable: bool) -> Self {
        let (below, fingerprint) = (Below::Tcp, None);
        Told { serve, folder, writable, listening: 0, below, refused: None, fingerprint }
    }

    fn serving(&mut self, local: SocketAddr) {
        self.listening += 1;
        let (Serve { user, json, .. }, Told { folder, writable, .. }) = (self.serve, &*self);
        let url = format!("{}://{local}/", self.below.scheme());
        if *json {
            say!(
                "{}",
                json!({
                    "event": "serving", "url": url, "folder": folder, "writable": writable, "user": user,
                    "fingerprint": self.fingerprint.map(|fingerprint| fingerprint.to_string()),
                })
            );
            return;
        }
        let who =
            user.as_deref().map_or_else(|| "everyone".into(), |user| format!("the user `{user}`"));
        let may = if *writable { "download and upload" } else { "download" };
        let guests = if self.serve.anonymous { ", and everyone download" } else { "" };
        say!("Serving {folder} at {url}: {who} may {may}{guests}.");
        if let Some(fingerprint) = self.fingerprint {
            say!("  TLS: the certificate's SHA-256 fingerprint is {fingerprint}");
        }
        let is_open = self.below != Below::Tls && self.serve.tls != Some(TlsWish::Required);
        if !local.ip().is_loopback() && is_open {
            say!(
                "  Other machines can reach {local}. FTP does not encrypt: passwords and files are readable"
            );
            say!("  on the network in between.");
        }
    }

    fn hints(&self) {
        if !self.serve.json {
            say!("Press Ctrl-C to stop. From another terminal:");
            let scheme = self.below.scheme();
            match self.fingerprint {
                None => say!(
                    "  stackwright ls {scheme}://ADDRESS:PORT/     stackwright get {scheme}://ADDRESS:PORT/FILE"
                ),
                Some(pin) => say!("  stackwright get {scheme}://ADDRESS:PORT/FILE --pin {pin}"),
            }
        }
    }

    fn transferred(&self, indication: &Indication) {
        let Indication::Transferred { peer, path, direction, octets, took, result } = indication
        else {
            return;
        };
        let verb = match direction {
            TransferDirection::Sent => "sent",
            TransferDirection::Received => "received",
            TransferDirection::Listed => "listed",
        };
        if self.serve.json {
            let error = result.err().map(|trouble| trouble.to_string());
            say!(
                "{}",
                json!({
                    "event": "transfer", "direction": verb, "peer": peer.to_string(), "path": path, "octets": octets,
                    "seconds": took.as_secs_f64(), "error": error,
                })
            );
            return;
        }
        let path = Printable(path);
        match result {
            Ok(()) => say!(
                "{peer} {verb} {path}: {} in {} ({}/s)",
                HumanBytes(*octets),
                short(*took),
                HumanBytes(rate(*octets, *took))
            ),
            Err(trouble) => {
                say!("{peer} {verb} {path}: incomplete after {}: {trouble}", HumanBytes(*octets))
            }
        }
    }
}

impl<S: Protocol<Provides = Serving>> Outlet<S> for Told<'_> {
    fn indicate(&mut self, indication: Indication) {
        match &indication {
            Indication::Serving { local } => {
                if let Some(local) = local.internet() {
                    self.serving(local);
                }
            }
            Indication::NotServing { why } if *why != Ended::Unlistened => {
                self.refused = Some(*why)
            }
            Indication::Transferred { .. } => self.transferred(&indication),
            Indication::DataRefused { peer } if self.serve.json => {
                say!("{}", json!({ "event": "data connection refused", "peer": peer.to_string() }));
            }
            Indication::DataRefused { peer } => say!(
                "{peer}: a data connection was refused: it did not resume the TLS session, and may be another client's"
            ),
            Indication::Arrived { peer } if self.serve.json => {
                say!("{}", json!({ "event": "arrived", "peer": peer.to_string() }));
            }
            Indication::LoggedIn { peer, user } if self.serve.json => {
                say!("{}", json!({ "event": "logged in", "peer": peer.to_string(), "user": user }));
            }
            Indication::Left { peer } if self.serve.json => {
                say!("{}", json!({ "event": "left", "peer": peer.to_string() }));
            }
            _ => {}
        }
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}

/// Says every command and reply.
struct Dialogue;

impl Listener for Dialogue {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        note(now, protocol, &format_args!("dropped: {reason}"));
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        note(now, protocol, &what);
    }
}
