//! Descriptors that a server with rights opens for programs without them (unix(7), `SCM_RIGHTS`).
//!
//! The question is [`Wanted`]; the answer is an octet with a descriptor, or a sentence. What is
//! opened is the program's from then on, and the server keeps nothing of it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg, sockopt};

use super::policy::{UserId, Users};
use crate::granted::{LINE_MOST, PATIENCE, Wanted};
use crate::{ip, line, tcp, udp};

/// Programs that may be asking at a time, and those of one user.
const ASKING_MOST: usize = 64;
const ASKING_OF_USER: usize = 8;

/// What users may have opened for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorGrant {
    /// Who they are.
    pub users: Users,
    /// What they may have.
    pub open: Vec<Openable>,
}

/// What a server opens for programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Openable {
    /// Listening sockets of TCP at this port of any address: `tcp 21`.
    Tcp(u16),
    /// Sockets of UDP at this port of any address: `udp 990`.
    Udp(u16),
    /// Raw sockets of a protocol of IP: `ip 36`. They send what they like (raw(7)).
    Ip(u8),
    /// A serial line: `serial /dev/ttyUSB0`.
    Serial(PathBuf),
}

impl FromStr for Openable {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str = "write \"udp 990\", \"tcp 21\", \"ip 36\" or \"serial /dev/ttyUSB0\"";
        let (kind, which) = text.split_once(' ').ok_or(WRONG)?;
        match kind {
            "tcp" => which.parse().map(Openable::Tcp).map_err(|_| WRONG),
            "udp" => which.parse().map(Openable::Udp).map_err(|_| WRONG),
            "ip" => match which.parse() {
                Ok(0) | Err(_) => Err(WRONG),
                Ok(protocol) => Ok(Openable::Ip(protocol)),
            },
            "serial" if which.starts_with('/') => Ok(Openable::Serial(which.into())),
            _ => Err(WRONG),
        }
    }
}

impl fmt::Display for Openable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Openable::Tcp(port) => write!(to, "tcp {port}"),
            Openable::Udp(port) => write!(to, "udp {port}"),
            Openable::Ip(protocol) => write!(to, "ip {protocol}"),
            Openable::Serial(path) => write!(to, "serial {}", path.display()),
        }
    }
}

fn kind(wanted: &Wanted) -> Openable {
    match wanted {
        Wanted::Tcp(at) => Openable::Tcp(at.port()),
        Wanted::Udp(at) => Openable::Udp(at.port()),
        Wanted::Ip { protocol, .. } => Openable::Ip(*protocol),
        Wanted::Serial(path) => Openable::Serial(path.clone()),
    }
}

fn open(wanted: &Wanted) -> io::Result<OwnedFd> {
    match wanted {
        Wanted::Tcp(at) => tcp::listening(*at),
        Wanted::Udp(at) => udp::bound(*at),
        Wanted::Ip { protocol, ipv4 } => ip::raw(*protocol, *ipv4),
        Wanted::Serial(path) => line::device(path),
    }
}

/// A server that opens what it has the right to for programs that are granted it.
#[derive(Debug)]
pub struct GrantHost {
    listener: UnixListener,
    grants: Vec<DescriptorGrant>,
    asking: VecDeque<Asking>,
    is_full: bool,
    accepts: bool,
}

#[derive(Debug)]
struct Asking {
    program: UnixStream,
    who: UserId,
    said: Vec<u8>,
    until: Instant,
}

impl GrantHost {
    /// Makes a server that programs may ask at a [socket](crate::unix::bind) with mode 666.
    pub fn new(listener: OwnedFd, grants: Vec<DescriptorGrant>) -> Self {
        let (asking, is_full, accepts) = (VecDeque::new(), false, true);
        GrantHost { listener: listener.into(), grants, asking, is_full, accepts }
    }

    /// Accepts no more programs, or accepts them again.
    pub fn set_accepting(&mut self, accepts: bool) {
        (self.accepts, self.is_full) = (accepts, false);
    }

    /// Returns how many programs are asking.
    pub fn asking(&self) -> usize {
        self.asking.len()
    }

    /// Returns whether programs wait, because this process has no free descriptor.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Answers those that ask, for at most `wait`; returns what was answered: who asked for what,
    /// and why it was refused.
    ///
    /// # Errors
    /// The operating system's.
    pub fn turn(&mut self, wait: Duration) -> io::Result<Vec<GrantAnswer>> {
        let now = Instant::now();
        self.asking.retain(|asking| asking.until > now);
        let settled = self.asking.is_empty() && !self.is_full;
        let wait = if settled { wait } else { wait.min(PATIENCE / 8) };
        let ready = {
            let programs = self.asking.iter().map(|asking| asking.program.as_fd());
            // The socket stays readable while nobody can be accepted.
            let hears = self.accepts && !self.is_full;
            let arrivals = if hears { PollFlags::IN } else { PollFlags::empty() };
            let mut all = vec![PollFd::new(&self.listener, arrivals)];
            all.extend(programs.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)));
            let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
            match poll(&mut all, Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            all.iter().map(|it| !it.revents().is_empty()).collect::<Vec<_>>()
        };
        let (mut answers, grants, mut ready) = (Vec::new(), &self.grants, ready.into_iter());
        let arrives = ready.next() == Some(true) || self.is_full;
        self.asking.retain_mut(|asking| {
            if ready.next() != Some(true) {
                return true;
            }
            match asking.question() {
                Asked::Nothing => true,
                Asked::Whole(question) => {
                    answers.push(asking.answer(question, grants));
                    false
                }
                Asked::Gone => false,
            }
        });
        if arrives {
            self.accept();
        }
        Ok(answers)
    }

    /// Accepts one, so that those that have left are forgotten before the next is counted.
    fn accept(&mut self) {
        let accepted = self.listener.accept();
        self.is_full = accepted.as_ref().is_err_and(is_for_lack);
        let Ok((program, _)) = accepted else { return };
        let Ok(peer) = sockopt::socket_peercred(&program) else { return };
        let who = UserId { user: peer.uid.as_raw(), group: peer.gid.as_raw() };
        let same = self.asking.iter().filter(|asking| asking.who.user == who.user).count();
        if same >= ASKING_OF_USER || program.set_nonblocking(true).is_err() {
            return;
        }
        if self.asking.len() >= ASKING_MOST {
            self.asking.pop_front();
        }
        let until = Instant::now() + PATIENCE;
        self.asking.push_back(Asking { program, who, said: Vec::new(), until });
    }
}

/// Whether it is a lack of descriptors, or of memory for one.
fn is_for_lack(why: &io::Error) -> bool {
    let errno = Errno::from_io_error(why);
    errno.is_some_and(|it| matches!(it, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

enum Asked {
    Nothing,
    Whole(String),
    Gone,
}

/// What was answered to a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantAnswer {
    /// Its user.
    pub who: UserId,
    /// What it asked for.
    pub asked: String,
    /// Why it was refused that.
    pub refused: Option<String>,
}

impl Asking {
    fn question(&mut self) -> Asked {
        let mut part = [0; LINE_MOST];
        match self.program.read(&mut part[..LINE_MOST - self.said.len()]) {
            Ok(octets @ 1..) => self.said.extend(&part[..octets]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Asked::Nothing,
            _ => return Asked::Gone,
        }
        match self.said.iter().position(|octet| *octet == b'\n') {
            Some(end) => {
                String::from_utf8(self.said[..end].to_vec()).map_or(Asked::Gone, Asked::Whole)
            }
            None if self.said.len() == LINE_MOST => Asked::Gone,
            None => Asked::Nothing,
        }
    }

    fn answer(&self, asked: String, grants: &[DescriptorGrant]) -> GrantAnswer {
        let UserId { user, .. } = self.who;
        let opened = asked.parse::<Wanted>().map_err(|()| "this server opens no such thing".into());
        let opened = opened.and_then(|wanted| {
            let kind = kind(&wanted);
            let mut own = grants.iter().filter(|grant| grant.users.include(self.who));
            if !own.any(|grant| grant.open.contains(&kind)) {
                return Err(format!(
                    "user {user} is not granted it: the host file needs open = [\"{kind}\"] in a \
                     [[grant]] of user = \"{user}\""
                ));
            }
            open(&wanted).map_err(|why| format!("{wanted}: {why}"))
        });
        let refused = match &opened {
            Ok(descriptor) => {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut carried = SendAncillaryBuffer::new(&mut space);
                let descriptors = [descriptor.as_fd()];
                carried.push(SendAncillaryMessage::ScmRights(&descriptors));
                self.send(b"+", &mut carried);
                None
            }
            Err(sentence) => {
                self.send(sentence.as_bytes(), &mut SendAncillaryBuffer::default());
                Some(sentence.clone())
            }
        };
        GrantAnswer { who: self.who, asked, refused }
    }

    /// One that is gone does not hear it.
    fn send(&self, octets: &[u8], carried: &mut SendAncillaryBuffer<'_, '_, '_>) {
        let octets = &octets[..octets.len().min(LINE_MOST)];
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = sendmsg(&self.program, &[IoSlice::new(octets)], carried, flags);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::SocketAddr;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Mutex, PoisonError};
    use std::{env, thread};

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::pty::{self, OpenptFlags};

    use super::*;
    use crate::{GrantClient, unix};

    static SENTENCES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn refused(sentence: String) {
        SENTENCES.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }

    /// Ends the server, though the test fails.
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }

    /// Has a server grant these while `ask` runs, and returns what it answered.
    fn granting(open: &[&str], ask: impl FnOnce(&GrantClient, &Path)) -> Vec<GrantAnswer> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("grants");
        let users = Users::One(rustix::process::getuid().as_raw());
        let open = open.iter().map(|open| open.parse().expect("it can be opened")).collect();
        let grants = vec![DescriptorGrant { users, open }];
        let mut host = GrantHost::new(unix::bind(&path, 0o666).expect("a folder of ours"), grants);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let answers = scope.spawn(|| {
                let mut answers = Vec::new();
                while !over.load(Relaxed) {
                    answers.extend(host.turn(Duration::from_millis(5)).expect("it answers"));
                }
                answers
            });
            let ends = Ends(&over);
            ask(&GrantClient::new(path.clone(), refused), &path);
            drop(ends);
            answers.join().expect("it answered")
        })
    }

    #[test]
    fn what_is_granted_is_opened_and_the_rest_is_refused_by_a_sentence() {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let taken = free.local_addr().expect("its address");
        let grant = format!("udp {}", taken.port());
        let terminal = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        pty::unlockpt(&terminal).expect("it is ours");
        let device = pty::ptsname(&terminal, Vec::new()).expect("its name");
        let device = device.into_string().expect("text");
        let line = format!("serial {device}");
        let answers = granting(&["udp 0", "tcp 0", &grant, &line], |client, _| {
            client.open(&Wanted::Serial(device.into())).expect("it is granted");
            let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
            let socket = client.open(&Wanted::Udp(any)).expect("it is granted");
            let socket = std::net::UdpSocket::from(socket);
            assert_ne!(socket.local_addr().expect("it is bound").port(), 0);
            let socket = client.open(&Wanted::Tcp(any)).expect("it is granted");
            let listener = std::net::TcpListener::from(socket);
            let at = listener.local_addr().expect("it is bound");
            std::net::TcpStream::connect(at).expect("it listens");
            for (wanted, says) in [
                (Wanted::Udp("127.0.0.1:990".parse().expect("one")), "open = [\"udp 990\"]"),
                (Wanted::Ip { protocol: 36, ipv4: false }, "open = [\"ip 36\"]"),
                (Wanted::Serial("/dev/ttyUSB0".into()), "open = [\"serial /dev/ttyUSB0\"]"),
                (Wanted::Udp(taken), "in use"),
            ] {
                let why = client.open(&wanted).expect_err("it is refused");
                assert_eq!(why.kind(), ErrorKind::PermissionDenied);
                let said = SENTENCES.lock().unwrap_or_else(PoisonError::into_inner);
                assert!(said.last().is_some_and(|said| said.contains(says)), "{said:?}");
            }
        });
        let refused = answers.iter().filter(|answer| answer.refused.is_some()).count();
        assert_eq!((answers.len(), refused), (7, 4));
    }

    #[test]
    fn programs_that_ask_for_nothing_or_for_noise_keep_nobody_else_out() {
        let answers = granting(&["udp 0"], |client, path| {
            let wanted = Wanted::Udp("127.0.0.1:0".parse().expect("an address"));
            let connect = || UnixStream::connect(path).expect("it is there");
            let ended = |mut program: UnixStream, octets: &[u8]| {
                // It may be ended before it has said all.
                let _ = program.write_all(octets);
                let mut said = Vec::new();
                let _ = program.read_to_end(&mut said);
                said
            };
            assert_eq!(ended(connect(), &[0xff; 2 * LINE_MOST]), b"");
            assert_eq!(ended(connect(), b"\xff\n"), b"");
            for noise in ["\n", "udp\n", "udp 1:2:3\n", "ip4 0\n", "ip4 256\n", "xdp veth0\n"] {
                assert_eq!(ended(connect(), noise.as_bytes()), b"this server opens no such thing");
            }
            // One user has some that say nothing; another one of its programs is not heard then.
            let silent: Vec<_> = (0..ASKING_OF_USER).map(|_| connect()).collect();
            assert_eq!(ended(connect(), b"udp 127.0.0.1:0\n"), b"");
            drop(silent);
            client.open(&wanted).expect("it is granted");
        });
        assert_eq!(answers.iter().filter(|answer| answer.refused.is_none()).count(), 1);
    }

    #[test]
    fn a_question_is_read_as_it_is_written() {
        for text in ["tcp 0.0.0.0:21", "udp [::1]:990", "ip4 36", "ip6 255", "serial /dev/tty a"] {
            assert_eq!(text.parse::<Wanted>().expect("a question").to_string(), text);
        }
    }

    #[test]
    fn a_server_without_descriptors_waits_and_goes_on_when_one_is_free() {
        // The limit holds for a process, so the test has one of its own.
        const ALONE: &str = "STACKWRIGHT_WITHOUT_DESCRIPTORS";
        if env::var_os(ALONE).is_none() {
            let name = "ipc::grant::tests::\
                        a_server_without_descriptors_waits_and_goes_on_when_one_is_free";
            let mut alone = Command::new(env::current_exe().expect("this program"));
            let status = alone.args([name, "--exact"]).env(ALONE, "1").status();
            return assert!(status.expect("it runs").success());
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("grants");
        let users = Users::One(rustix::process::getuid().as_raw());
        let grants = vec![DescriptorGrant { users, open: vec![Openable::Udp(0)] }];
        let mut host = GrantHost::new(unix::bind(&path, 0o666).expect("a folder of ours"), grants);
        let mut program = UnixStream::connect(&path).expect("it is there");
        program.write_all(b"udp 127.0.0.1:0\n").expect("it is read later");
        let allowed = getrlimit(Resource::Nofile);
        let next = program.try_clone().expect("one is free").as_raw_fd();
        let current = u64::try_from(next).ok();
        setrlimit(Resource::Nofile, Rlimit { current, ..allowed }).expect("it is lowered");
        let wait = Duration::from_millis(20);
        assert_eq!(host.turn(wait).expect("it goes on"), []);
        assert!(host.is_full());
        let begun = Instant::now();
        for _ in 0..3 {
            assert_eq!(host.turn(wait).expect("it goes on"), []);
        }
        assert!(begun.elapsed() >= 3 * wait, "it does not spin");
        setrlimit(Resource::Nofile, allowed).expect("it was allowed before");
        let answers = (0..100).map(|_| host.turn(wait).expect("it goes on"));
        let answer = answers.flatten().next().expect("it is answered");
        assert_eq!((answer.refused, host.is_full()), (None, false));
    }
}
