//! Everybody's clients, each told to do the least for one file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{fs, io};

use stackwright_programs::encrypted::Identity;
use stackwright_programs::place::Place;
use stackwright_programs::processes::{find, stackwright};
use stackwright_results::Problem;

use super::program;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Stackwright,
    /// Another build of it.
    Reference,
    Ncftp,
    Lftp,
    Curl,
}

/// All of them, ours first.
pub(super) const CLIENTS: [Client; 5] =
    [Client::Stackwright, Client::Reference, Client::Ncftp, Client::Lftp, Client::Curl];

impl Client {
    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Client::Stackwright => "stackwright",
            Client::Reference => "reference",
            Client::Ncftp => "ncftp",
            Client::Lftp => "lftp",
            Client::Curl => "curl",
        }
    }

    /// Whether it can be started here.
    pub(super) fn is_there(self) -> bool {
        match self {
            Client::Stackwright => true,
            Client::Reference => program::reference().is_some(),
            Client::Ncftp => find("ncftpget").is_some() && find("ncftpput").is_some(),
            Client::Lftp => find("lftp").is_some(),
            Client::Curl => find("curl").is_some(),
        }
    }

    /// Whether it is a build of our program.
    pub(super) fn ours(self) -> Option<PathBuf> {
        match self {
            Client::Stackwright => Some(stackwright()),
            Client::Reference => program::reference(),
            Client::Ncftp | Client::Lftp | Client::Curl => None,
        }
    }

    /// Fetches `name` into the folder `into`; over TLS, from a server with this identity. Whom
    /// strangers trust costs nothing here: ours compares the certificate's fingerprint.
    pub(super) fn get(
        self,
        place: &dyn Place,
        server: SocketAddr,
        identity: Option<&Identity>,
        name: &str,
        into: &Path,
    ) -> Command {
        let (url, target) = (format!("ftp://{server}/{name}"), into.join(name));
        match self {
            Client::Stackwright | Client::Reference => {
                let mut command = place.command(&self.ours().unwrap_or_default());
                command.arg("get").arg(url).arg(target);
                if let Some(identity) = identity {
                    command.arg("--pin").arg(identity.fingerprint());
                }
                command
            }
            Client::Ncftp => {
                let mut command = ncftp(place, "ncftpget", server);
                command.arg(into).arg(name);
                command
            }
            Client::Lftp => {
                let order = format!("get1 {url} -o {}", quoted(&target));
                lftp(place, if identity.is_some() { WITH_TLS } else { PLAIN }, &order)
            }
            Client::Curl => {
                let mut command = stranger(place, "curl");
                let tls: &[&str] =
                    if identity.is_some() { &["--ssl-reqd", "--insecure"] } else { &[] };
                command.arg("--silent").args(tls).arg("--output").arg(target).arg(url);
                command
            }
        }
    }

    /// Stores `file` in the server's folder `in`.
    pub(super) fn put(self, place: &dyn Place, server: SocketAddr, file: &Path) -> Command {
        let name = file.file_name().unwrap_or_default().display();
        let url = format!("ftp://{server}/in/{name}");
        match self {
            Client::Stackwright | Client::Reference => {
                let mut command = place.command(&self.ours().unwrap_or_default());
                command.arg("put").arg(file).arg(url);
                command
            }
            Client::Ncftp => {
                let mut command = ncftp(place, "ncftpput", server);
                command.arg("in").arg(file);
                command
            }
            Client::Lftp => {
                let order = format!("open ftp://{server}/; put -O in {}", quoted(file));
                lftp(place, PLAIN, &order)
            }
            Client::Curl => {
                let mut command = stranger(place, "curl");
                command.args(["--silent", "--upload-file"]).arg(file).arg(url);
                command
            }
        }
    }
}

/// A program that was found, or one that will say that it is missing.
fn stranger(place: &dyn Place, program: &str) -> Command {
    place.command(&find(program).unwrap_or_else(|| program.into()))
}

/// Quiet, passive, without looking for a file to resume.
fn ncftp(place: &dyn Place, program: &str, server: SocketAddr) -> Command {
    let mut command = stranger(place, program);
    command.args(["-V", "-F", "-Z", "-P", &server.port().to_string(), &server.ip().to_string()]);
    command
}

/// The settings of lftp without TLS and with it.
const PLAIN: &str = "set ftp:ssl-allow no";
const WITH_TLS: &str = "set ftp:ssl-force yes; set ftp:ssl-protect-data yes; \
                        set ftp:ssl-allow-anonymous yes; set ssl:verify-certificate no";

/// Without the user's settings, one attempt.
fn lftp(place: &dyn Place, tls: &str, order: &str) -> Command {
    let mut command = stranger(place, "lftp");
    let settings = "set net:max-retries 1; set xfer:clobber yes";
    command.args(["--norc", "-c", &format!("{settings}; {tls}; {order}")]);
    command
}

/// As lftp reads a name.
fn quoted(file: &Path) -> String {
    format!("\"{}\"", file.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs a whole process that must succeed; gives the seconds.
///
/// # Errors
/// When it cannot be started, or fails.
pub(super) fn timed(mut command: Command) -> Result<f64, Problem> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status();
    let seconds = begin.elapsed().as_secs_f64();
    match status {
        Ok(status) if status.success() => Ok(seconds),
        Ok(status) => Err(failed(&command, status)),
        Err(why) => Err(failed(&command, why)),
    }
}

fn failed(command: &Command, why: impl std::fmt::Display) -> Problem {
    Problem::new(format!("{command:?}: {why}"))
        .advise("try the command by hand; earlier measurements are kept")
}

/// What was transferred must be there, whole; the next round begins without it.
///
/// # Errors
/// When it is not.
pub(super) fn take_away(file: &Path, octets: usize) -> Result<(), Problem> {
    let taken = fs::metadata(file).and_then(|found| {
        fs::remove_file(file)?;
        if found.len() == octets as u64 {
            Ok(())
        } else {
            Err(io::Error::other(format!("{} octets arrived of {octets}", found.len())))
        }
    });
    taken.map_err(|why| Problem::new(format!("{}: {why}", file.display())))
}
