//! Servers to talk to: ours, and those that nobody here wrote.

use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::place::{Loopback, Place};
use crate::processes::{Running, eventually, find, stackwright};
use crate::scratch::Scratch;

/// A server that listens somewhere, and ends when dropped.
#[derive(Debug)]
pub struct Server {
    /// The program.
    pub running: Running,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its configuration and what else it needs.
    _scratch: Option<Scratch>,
}

impl Server {
    /// The URL of `path` on this server.
    pub fn url(&self, path: &str) -> String {
        format!("ftp://{}/{path}", self.address)
    }
}

/// The loopback address of a family.
pub fn loopback(six: bool) -> IpAddr {
    if six { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
}

/// Is there IPv6 on this machine's loopback? Some containers have none.
pub fn has_ipv6() -> bool {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// Our own server for `folder`, on the loopback interface.
///
/// # Panics
///
/// When it does not start.
pub fn ours(folder: &Path, six: bool, options: &[&str]) -> Server {
    ours_at(&Loopback { six }, folder, options).unwrap_or_else(|why| panic!("{why}"))
}

/// Our own server for `folder`, at some place.
///
/// # Errors
///
/// When it does not say where it listens.
pub fn ours_at(place: &dyn Place, folder: &Path, options: &[&str]) -> io::Result<Server> {
    ours_of(&stackwright(), place, folder, options)
}

/// The same of another build of our program.
///
/// # Errors
///
/// When it does not say where it listens.
pub fn ours_of(
    program: &Path,
    place: &dyn Place,
    folder: &Path,
    options: &[&str],
) -> io::Result<Server> {
    let mut command = place.command(program);
    let listen = SocketAddr::new(place.address(), 0).to_string();
    command.arg("serve").arg(folder).args(["--listen", &listen, "--json"]).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::try_start(&mut command)?;
    let mut lines = BufReader::new(running.output());
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let address = address_in(&line)
        .ok_or_else(|| io::Error::other(format!("{command:?}: no address in {line:?}")))?;
    // Its events are read away for as long as it lives, or it would stop at a full pipe.
    thread::spawn(move || lines.lines().all(|line| line.is_ok()));
    Ok(Server { running, address, _scratch: None })
}

/// Finds the address in `{"event":"serving","url":"ftp://127.0.0.1:41234/",...}`. Two marks are
/// enough: whether the line is proper JSON is another test's question.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("ftp://")?;
    rest.split_once(['/', '"'])?.0.parse().ok()
}

/// How vsftpd is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vsftpd {
    /// As it comes: a fresh process, its own network name space and system call filter for each
    /// association.
    AsItComes,
    /// Without those three, which is the least work it can do for an association.
    Lean,
}

/// vsftpd for `folder`, on the loopback interface; anybody may read, and write where the system
/// allows it. As root, it serves as the user `ftp`, behind `chroot`.
///
/// # Panics
///
/// When it does not start.
pub fn vsftpd(folder: &Path, six: bool, setup: Vsftpd) -> Server {
    vsftpd_at(&Loopback { six }, folder, setup).unwrap_or_else(|why| panic!("{why}"))
}

/// The same, which refuses more connections of one address than `most`.
///
/// # Panics
///
/// When it does not start.
pub fn vsftpd_for(folder: &Path, most: u32) -> Server {
    let (place, lines) = (Loopback { six: false }, format!("max_per_ip={most}\n"));
    let server = vsftpd_with(&place, folder, Vsftpd::AsItComes, &lines, &[]);
    server.unwrap_or_else(|why| panic!("{why}"))
}

/// The same at some place.
///
/// # Errors
///
/// When it does not start.
pub fn vsftpd_at(place: &dyn Place, folder: &Path, setup: Vsftpd) -> io::Result<Server> {
    vsftpd_with(place, folder, setup, "", &[])
}

/// The same with more lines of configuration, and in this environment.
pub(crate) fn vsftpd_with(
    place: &dyn Place,
    folder: &Path,
    setup: Vsftpd,
    lines: &str,
    environment: &[(&str, PathBuf)],
) -> io::Result<Server> {
    let scratch = Scratch::new();
    let address = SocketAddr::new(place.address(), free_port(place.address().is_ipv6()));
    let (ip, port) = (address.ip(), address.port());
    let jail = scratch.join("empty");
    fs::create_dir(&jail)?;
    let (listen, other, listen_address) = if ip.is_ipv6() {
        ("listen_ipv6", "listen", "listen_address6")
    } else {
        ("listen", "listen_ipv6", "listen_address")
    };
    // Without root there is no jail to enter: the configuration says so, or vsftpd refuses to
    // start.
    let rights = if root() { "" } else { "run_as_launching_user=YES\n" };
    let lean = if setup == Vsftpd::Lean {
        "isolate=NO\nisolate_network=NO\nseccomp_sandbox=NO\n"
    } else {
        ""
    };
    let text = format!(
        "background=NO\n{listen}=YES\n{other}=NO\n{listen_address}={ip}\nlisten_port={port}\n\
         anonymous_enable=YES\nno_anon_password=NO\nanon_root={}\nsecure_chroot_dir={}\n\
         write_enable=YES\nanon_upload_enable=YES\nanon_mkdir_write_enable=YES\nanon_other_write_enable=YES\n\
         anon_umask=022\nanon_world_readable_only=NO\n\
         connect_from_port_20=NO\nxferlog_enable=NO\nmax_per_ip=0\nmax_clients=0\n{lean}{rights}{lines}",
        folder.display(),
        jail.display(),
    );
    let configuration = scratch.join("vsftpd.conf");
    fs::write(&configuration, text)?;
    let mut command = place.command(&installed("vsftpd")?);
    command.arg(&configuration).envs(environment.iter().map(|(name, value)| (name, value)));
    listening(command, address, scratch)
}

/// pure-ftpd for `folder`, on the loopback interface; anybody may read.
///
/// It serves guests from the home of the user `ftp` and nowhere else. So it runs in a mount name
/// space of its own, where the folder lies over that home: see [`may_mount`].
///
/// # Panics
///
/// When it does not start.
pub fn pure_ftpd(folder: &Path, six: bool) -> Server {
    pure_ftpd_at(&Loopback { six }, folder).unwrap_or_else(|why| panic!("{why}"))
}

/// The same at some place.
///
/// # Errors
///
/// When it does not start.
pub fn pure_ftpd_at(place: &dyn Place, folder: &Path) -> io::Result<Server> {
    pure_ftpd_with(place, folder, &[], &[])
}

/// The same with more options, and in this environment.
pub(crate) fn pure_ftpd_with(
    place: &dyn Place,
    folder: &Path,
    options: &[&str],
    environment: &[(&str, PathBuf)],
) -> io::Result<Server> {
    let scratch = Scratch::new();
    let address = SocketAddr::new(place.address(), free_port(place.address().is_ipv6()));
    let mut command = place.command(&installed("unshare")?);
    command.args(["--mount", "sh", "-c", "mount --bind \"$0\" \"$1\" && shift && exec \"$@\""]);
    command.arg(folder).arg(guests_home().ok_or_else(|| io::Error::other("there is no user ftp"))?);
    command.arg(installed("pure-ftpd")?);
    command.args(["--bind", &format!("{},{}", address.ip(), address.port())]);
    // Neither a log nor names of hosts; as many associations as come.
    command.args(["--anonymousonly", "--dontresolve", "--syslogfacility", "none"]);
    command.args(["--maxclientsnumber", "500", "--maxclientsperip", "500"]);
    command.args(["--pidfile", &scratch.join("number").display().to_string()]);
    command.args(options).envs(environment.iter().map(|(name, value)| (name, value)));
    listening(command, address, scratch)
}

/// proftpd for `folder`, on the loopback interface; anybody may read, and write where the system
/// allows it. As root, it serves as the user `ftp`.
///
/// # Panics
///
/// When it does not start.
pub fn proftpd(folder: &Path) -> Server {
    proftpd_with(folder, "").unwrap_or_else(|why| panic!("{why}"))
}

/// The same with more lines of configuration.
pub(crate) fn proftpd_with(folder: &Path, lines: &str) -> io::Result<Server> {
    let scratch = Scratch::new();
    let address = SocketAddr::new(loopback(false), free_port(false));
    let place = scratch.path().display();
    // No log, no names of hosts, no delay of logins, and as many associations as come.
    let text = format!(
        "ServerType standalone\nDefaultAddress {}\nPort {}\nSocketBindTight on\nUseIPv6 off\n\
         UseReverseDNS off\nMaxInstances none\nUser nobody\nGroup nogroup\nPidFile {place}/number\n\
         ScoreboardFile {place}/scores\nDelayTable {place}/delays\nWtmpLog off\nSystemLog none\n\
         TransferLog none\nRequireValidShell off\nAuthPAM off\n{lines}<Anonymous {}>\nUser ftp\nGroup nogroup\n\
         UserAlias anonymous ftp\nMaxClients none\nAllowStoreRestart on\nAllowOverwrite on\n\
         </Anonymous>\n",
        address.ip(),
        address.port(),
        folder.display(),
    );
    let configuration = scratch.join("proftpd.conf");
    fs::write(&configuration, text)?;
    let mut command = Command::new(installed("proftpd")?);
    command.args(["--nodaemon", "--config"]).arg(&configuration);
    listening(command, address, scratch)
}

/// Where the system's guests are at home.
fn guests_home() -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("ftp:"))?;
    line.split(':').nth(5).map(String::from)
}

/// May this process arrange a file system for a child? Root may, except in most containers.
pub fn may_mount() -> bool {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "mount", "--bind", "/", "/mnt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    guests_home().is_some() && command.status().is_ok_and(|status| status.success())
}

/// A program that has to be there.
fn installed(program: &str) -> io::Result<PathBuf> {
    find(program).ok_or_else(|| io::Error::other(format!("{program} is not installed")))
}

/// A proxy that nobody here wrote, on the loopback interface, for the user `ann` with the password
/// `secret`: SOCKS 5 by microsocks, or CONNECT by tinyproxy.
///
/// # Panics
///
/// When it does not start.
pub fn proxy(socks: bool) -> Server {
    let scratch = Scratch::new();
    let address = SocketAddr::new(loopback(false), free_port(false));
    let command = if socks {
        installed("microsocks").map(|program| {
            let mut command = Command::new(program);
            command.args(["-i", "127.0.0.1", "-u", "ann", "-P", "secret", "-p"]);
            command.arg(address.port().to_string());
            command
        })
    } else {
        let file = scratch.join("configuration");
        let lines = format!(
            "Listen 127.0.0.1\nPort {}\nAllow 127.0.0.1\nBasicAuth ann secret\nMaxClients 20\n",
            address.port()
        );
        fs::write(&file, lines).expect("a folder of ours");
        installed("tinyproxy").map(|program| {
            let mut command = Command::new(program);
            command.args(["-d", "-c"]).arg(file);
            command
        })
    };
    command
        .and_then(|command| listening(command, address, scratch))
        .unwrap_or_else(|why| panic!("{why}"))
}

/// Starts a server and waits until it listens.
fn listening(mut command: Command, address: SocketAddr, scratch: Scratch) -> io::Result<Server> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running::try_start(&mut command)?;
    let mut ended = false;
    let listens = eventually(Duration::from_secs(10), || {
        ended = !running.alive();
        ended || listens(running.number(), address.port())
    });
    match (ended, listens) {
        (true, _) => Err(io::Error::other(format!("{command:?} ended at once"))),
        (_, false) => Err(io::Error::other(format!("{command:?} does not listen on {address}"))),
        _ => Ok(Server { running, address, _scratch: Some(scratch) }),
    }
}

/// Does anybody listen at `port` of TCP in the network name space of `process`? It may be one that
/// nobody reaches from here.
fn listens(process: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|family| {
        let sockets =
            fs::read_to_string(format!("/proc/{process}/net/{family}")).unwrap_or_default();
        sockets.lines().any(|line| {
            // sl, local address and port, remote ones, state; 0A is LISTEN (proc_net_tcp).
            let mut words = line.split_whitespace().skip(1);
            let local = words.next().is_some_and(|local| local.ends_with(&format!(":{port:04X}")));
            local && words.nth(1) == Some("0A")
        })
    })
}

/// Does this process have all rights?
fn root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A port that nobody uses now. Somebody else may take it before the server does: then the server
/// ends and the test says so.
pub fn free_port(six: bool) -> u16 {
    let [port] = free_ports(six);
    port
}

/// Ports that nobody uses now, each another.
pub fn free_ports<const N: usize>(six: bool) -> [u16; N] {
    let bound = |()| TcpListener::bind((loopback(six), 0)).expect("a free port");
    // All are held until all are known: the system may give one that is free again a second time.
    let listeners = [(); N].map(bound);
    listeners.map(|listener| listener.local_addr().expect("a bound socket").port())
}
