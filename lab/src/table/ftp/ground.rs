//! What every FTP table stands on: the program, the strangers, the files, the wires with their
//! servers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustix::process::{Pid, Signal, kill_process};
use stackwright_programs::content::SIZES;
use stackwright_programs::encrypted::{self, Certificates, Identity};
use stackwright_programs::place::Place;
use stackwright_programs::processes::find;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::served;
use stackwright_programs::servers::{
    Server, Vsftpd, may_mount, ours_at, ours_of, pure_ftpd_at, vsftpd_at,
};
use stackwright_results::Problem;

use super::held::family;
use super::wires::{Between, WIRES, between};
use super::{program, strangers};

/// The ground of one table.
pub(super) struct Ground {
    /// The served folder, with a file of each size and the writable folder `in`.
    pub(super) folder: Scratch,
    /// Where clients put what they fetch.
    pub(super) into: Scratch,
    wires: BTreeMap<String, Wired>,
    /// Wires that cannot be put up here.
    left_out: Vec<&'static str>,
    /// What servers with TLS show, made when the first one is started.
    identity: Option<(Certificates, Identity)>,
    _installed: Scratch,
}

/// One wire and its servers, which are started when they are asked for.
pub(super) struct Wired {
    // Servers end before their wire does.
    servers: BTreeMap<&'static str, Server>,
    between: Between,
}

impl Drop for Wired {
    /// A server's processes for single associations do not end with it where the wire is gone from
    /// under them: they would wait for minutes for a peer that says nothing any more.
    fn drop(&mut self) {
        for server in self.servers.values() {
            for process in family(server.running.number()).into_iter().skip(1) {
                if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                    // Whoever has ended meanwhile is not there to be told.
                    let _ = kill_process(process, Signal::KILL);
                }
            }
        }
    }
}

/// Our server's name, and theirs.
pub(super) const OURS: &str = "stackwright";
pub(super) const VSFTPD: &str = "vsftpd";
pub(super) const LEAN: &str = "vsftpd, lean";
pub(super) const PURE_FTPD: &str = "pure-ftpd";
/// Another build of ours.
pub(super) const REFERENCE: &str = "reference";
/// All of them, ours first.
pub(super) const SERVERS: [&str; 5] = [OURS, REFERENCE, VSFTPD, LEAN, PURE_FTPD];
/// Those that encrypt.
pub(super) const OURS_TLS: &str = "stackwright with TLS";
pub(super) const REFERENCE_TLS: &str = "reference with TLS";
pub(super) const VSFTPD_TLS: &str = "vsftpd with TLS";

impl Ground {
    /// Prepares it for cells on these wires. Where one cannot be put up, or one of the programs
    /// `others` is missing, a note says so.
    ///
    /// # Errors
    /// Where there is no program, no vsftpd, which all clients use, or no room for the files.
    pub(super) fn new(
        wires: &[&str],
        others: &[&str],
        notes: &mut Vec<String>,
    ) -> Result<Self, Problem> {
        strangers::install();
        let installed = Scratch::new();
        program::copy(&installed)?;
        let folder = served::folder(&SIZES).map_err(|why| {
            Problem::new(format!("no space for the files of the tables: {why}"))
                .advise("they need 112 MB in /dev/shm or in the temporary folder")
        })?;
        let into = Scratch::below(folder.path());
        let mut left_out = Vec::new();
        for wire in WIRES {
            let wanted = wires.contains(&wire);
            if let Some(problem) = wanted.then(|| between(wire, 0).err()).flatten() {
                notes.push(format!("The wire {wire} is left out: {}.", problem.says()));
                left_out.push(wire);
            }
        }
        if find(VSFTPD).is_none() {
            return Err(Problem::new(
                "vsftpd is not installed, and all clients of this table use it",
            )
            .advise(
                "install the package vsftpd, or run this as root on Debian, which installs it",
            ));
        }
        notes.extend(strangers::note(others));
        let (wires, identity) = (BTreeMap::new(), None);
        Ok(Ground { folder, into, wires, left_out, identity, _installed: installed })
    }

    /// Whether the wire of that name can be put up here.
    pub(super) fn has(&self, wire: &str) -> bool {
        !self.left_out.contains(&wire)
    }

    /// The wire of that name, put up when it is asked for the first time.
    pub(super) fn wire(&mut self, name: &str) -> Result<&mut Wired, Problem> {
        if !self.wires.contains_key(name) {
            // One at a time: a wire costs the processor something, also when nobody sends.
            self.wires.clear();
            let wired = Wired { servers: BTreeMap::new(), between: between(name, 0)? };
            self.wires.insert(name.to_owned(), wired);
        }
        self.wires.get_mut(name).ok_or_else(|| Problem::new(format!("the link {name} is gone")))
    }

    /// The identity of servers with TLS.
    pub(super) fn identity(&mut self) -> &Identity {
        let (_, identity) = self.identity.get_or_insert_with(|| {
            let certificates = Certificates::new();
            let identity = certificates.self_signed();
            (certificates, identity)
        });
        identity
    }

    /// The address of the server of that name on that wire; starts it where it does not run yet.
    ///
    /// # Errors
    /// Where it does not start.
    pub(super) fn server(&mut self, wire: &str, name: &'static str) -> Result<SocketAddr, Problem> {
        let folder = self.folder.path().to_owned();
        let tls = match name {
            OURS_TLS | REFERENCE_TLS | VSFTPD_TLS => Some(self.identity().clone()),
            _ => None,
        };
        let wired = self.wire(wire)?;
        if let Some(server) = wired.servers.get(name) {
            return Ok(server.address);
        }
        let far = &*wired.between.far;
        let (reference, tls) = (program::reference().unwrap_or_default(), tls.as_ref());
        let options = tls.map(Identity::options).unwrap_or_default();
        let mut encrypts = vec!["--tls=required"];
        encrypts.extend(options.iter().map(String::as_str));
        let started = match (name, tls) {
            (OURS, _) => ours_at(far, &folder, &[]),
            (REFERENCE, _) => ours_of(&reference, far, &folder, &[]),
            (OURS_TLS, Some(_)) => ours_at(far, &folder, &encrypts),
            (REFERENCE_TLS, Some(_)) => ours_of(&reference, far, &folder, &encrypts),
            (VSFTPD_TLS, Some(identity)) => {
                encrypted::vsftpd_at(far, &folder, Vsftpd::AsItComes, identity)
            }
            (PURE_FTPD, _) => pure_ftpd_at(far, &folder),
            (LEAN, _) => vsftpd_at(far, &folder, Vsftpd::Lean),
            _ => vsftpd_at(far, &folder, Vsftpd::AsItComes),
        };
        let server = started.map_err(|why| Problem::new(format!("cannot start {name}: {why}")))?;
        let address = server.address;
        wired.servers.insert(name, server);
        Ok(address)
    }
}

impl Wired {
    /// Where clients run.
    pub(super) fn near(&self) -> &dyn Place {
        &*self.between.near
    }

    /// A server that runs.
    pub(super) fn running(&self, name: &str) -> Option<&Server> {
        self.servers.get(name)
    }
}

/// The servers that can be started here.
pub(super) fn servers() -> Vec<&'static str> {
    let is_there = |name: &&str| match *name {
        OURS => true,
        REFERENCE => program::reference().is_some(),
        PURE_FTPD => find(PURE_FTPD).is_some() && may_mount(),
        _ => find(VSFTPD).is_some(),
    };
    SERVERS.into_iter().filter(is_there).collect()
}
