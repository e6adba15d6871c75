//! What a test stands between: a device, a server of ours, and programs of others.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use stackwright_programs::processes::{Running, eventually, find, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::namespace::ip;

/// The device `sw0` for us, with an address of the kernel for each version of IP at the other end,
/// until it is dropped.
pub(crate) struct Device;

impl Device {
    /// A TUN device.
    pub(crate) fn up() -> Self {
        Self::of("tuntap add dev sw0 mode tun", "sw0")
    }

    /// One whose frames are Ethernet's.
    pub(crate) fn tap() -> Self {
        Self::of("tuntap add dev sw0 mode tap", "sw0")
    }

    /// One end of a pair that the kernel joins.
    pub(crate) fn veth() -> Self {
        Self::of("link add sw0 type veth peer name kernel", "kernel")
    }

    fn of(made: &str, kernel: &str) -> Self {
        ip("link set lo up");
        ip(made);
        ip(&format!("addr add 10.77.0.1/24 dev {kernel}"));
        ip(&format!("addr add fd77::1/64 dev {kernel} nodad"));
        ip(&format!("link set {kernel} up"));
        ip("link set sw0 up");
        Device
    }

    /// The option `--inet` for an address of ours.
    pub(crate) fn inet(&self, own: &str) -> String {
        format!("sw0={own}/{}", if own.contains(':') { 64 } else { 24 })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        ip("link delete sw0");
    }
}

/// Whether a program is on this machine. Says so where it is not; with `CI=true` it must be.
pub(crate) fn has(program: &str) -> bool {
    let found = find(program).is_some();
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(found || !must, "missing: {program}");
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

pub(crate) fn soon(question: impl FnMut() -> bool) -> bool {
    eventually(Duration::from_secs(20), question)
}

/// A server of ours at an address of ours.
pub(crate) fn ours(folder: &Scratch, inet: &str) -> Running {
    let own = inet.trim_start_matches("sw0=").split('/').next().unwrap_or_default();
    let mut command = Command::new(stackwright());
    command.arg("serve").arg(folder.path()).args(["--inet", inet]);
    listening(command, own)
}

/// Starts a server and waits until its address answers.
pub(crate) fn listening(mut command: Command, own: &str) -> Running {
    let server = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
    assert!(soon(|| answers(own)), "{own} answers");
    server
}

/// Whether the kernel's ping is answered.
pub(crate) fn answers(host: &str) -> bool {
    let mut ping = Command::new("ping");
    ping.args(["-c", "1", "-W", "1", host]).stdout(Stdio::null()).stderr(Stdio::null());
    ping.status().is_ok_and(|status| status.success())
}

/// A second network, without any device but its loopback interface, until it is dropped.
pub(crate) struct Elsewhere(Running);

impl Elsewhere {
    pub(crate) fn new() -> Self {
        let own = fs::read_link("/proc/self/ns/net").expect("/proc is there");
        let mut command = Command::new("unshare");
        let keeper = Running::start(command.args(["-n", "sleep", "1000"]).stdin(Stdio::null()));
        let there = format!("/proc/{}/ns/net", keeper.number());
        assert!(soon(|| fs::read_link(&there).is_ok_and(|net| net != own)), "it has a network");
        let elsewhere = Elsewhere(keeper);
        elsewhere.ip("link set lo up");
        elsewhere
    }

    /// The number of a process that is there.
    pub(crate) fn number(&self) -> u32 {
        self.0.number()
    }

    /// A program that is to run there.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.number().to_string(), "-n", program]);
        command
    }

    /// Configures it (ip(8)).
    pub(crate) fn ip(&self, line: &str) {
        run(self.command("ip").args(line.split(' '))).succeeded();
    }
}

/// What curl fetches from a server of ours.
pub(crate) fn fetched(own: &str, file: &str) -> Vec<u8> {
    let host = if own.contains(':') { format!("[{own}]") } else { own.into() };
    let target = Scratch::new();
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--max-time", "85", "-o"]).arg(target.join(file));
    run(curl.arg(format!("ftp://{host}:2121/{file}"))).succeeded();
    fs::read(target.join(file)).expect("curl wrote it")
}

/// vsftpd at an address of the kernel.
pub(crate) fn vsftpd(folder: &Scratch, at: &str) -> (Running, Scratch) {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("empty")).expect("a folder of ours");
    let (listen, other, address) = match at.contains(':') {
        true => ("listen_ipv6", "listen", "listen_address6"),
        false => ("listen", "listen_ipv6", "listen_address"),
    };
    let text = format!(
        "background=NO\n{listen}=YES\n{other}=NO\n{address}={at}\nlisten_port=2121\n\
         anonymous_enable=YES\nanon_root={}\nsecure_chroot_dir={}\nrun_as_launching_user=YES\n\
         one_process_model=NO\nseccomp_sandbox=NO\nisolate=NO\nisolate_network=NO\n\
         anon_world_readable_only=NO\n",
        folder.path().display(),
        scratch.join("empty").display(),
    );
    let configuration = scratch.join("vsftpd.conf");
    fs::write(&configuration, text).expect("a folder of ours");
    let mut command = Command::new(find("vsftpd").expect("vsftpd is installed"));
    let server = Running::start(command.arg(&configuration).stdin(Stdio::null()));
    let listens = || std::net::TcpStream::connect((at, 2121)).is_ok();
    assert!(soon(listens), "vsftpd listens at {at}");
    (server, scratch)
}
