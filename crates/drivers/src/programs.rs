//! Programs of this system at the ends of streams, as inetd and ax25d start them: one for each
//! caller, whose standard input and output are the stream.
//!
//! A program that ends, or closes its output, finishes its stream behind what it wrote. One whose
//! stream ends reads the end of its input, and is killed after five seconds, with all that it has
//! started in its process group.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use mio::Interest;
use mio::unix::SourceFd;
use rustix::process::{Pid, Signal, kill_process_group};
use stackwright_contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Arrivals, Both, Context, Either, Facts, Handle, IndicationTo, Instant, Names, Nothing, Outlet,
    Participant, Party, Protocol,
};
use stackwright_wire::{Message, Pool};

use crate::flow::{Flow, Quiet};
use crate::readiness::{Readiness, Ready, token};
use crate::registry::Registry;

const NAME: &str = "programs";

/// How many octets of a stream may wait for its program.
const ROOM: Credit = Credit::of_octets(4096);
/// How long a program may go on without its stream, and how often it is checked whether it has
/// ended.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(250);

/// A program at an address.
#[derive(Clone, Debug)]
pub struct ProgramAt {
    /// Where it is called.
    pub local: Participant,
    /// The program and its arguments: at least the program.
    pub command: Vec<String>,
    /// How many may run at once. A further caller is told so.
    pub most: usize,
}

/// Starts programs for callers.
pub struct Programs<M: Message> {
    programs: Vec<ProgramAt>,
    registry: Arc<Registry>,
    lane: usize,
    pool: Arc<Pool<M>>,
    /// Listeners by the number of their program.
    names: Arrivals<usize, Caller<M>, Names<()>>,
    /// Programs whose stream has ended, by their number, and until when they may go on.
    leaving: Vec<(Instant, usize, Child)>,
    look: Option<Instant>,
    /// Something is done with the next flush.
    due: bool,
    begun: bool,
    stops: bool,
}

/// A caller of a program.
struct Caller<M: Message> {
    number: usize,
    ends: [Participant; 2],
    flow: Flow<M>,
    program: Connected,
}

/// What a caller is connected to.
enum Connected {
    /// To nothing yet: the program is to be started.
    Waits,
    Runs(Child, UnixStream),
    /// To a program that says no more.
    Finished(Child),
    /// To none, for this reason, which the caller is to be told.
    Refused(Option<String>),
}

type Out<'a, M> = &'a mut dyn Outlet<Programs<M>>;

impl<M: Message> Programs<M> {
    /// Makes it; it listens from its first flush on.
    pub fn new(
        programs: Vec<ProgramAt>,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        let (names, leaving, look) = (Arrivals::default(), Vec::new(), None);
        let [begun, stops] = [false; 2];
        Programs { programs, registry, lane, pool, names, leaving, look, due: true, begun, stops }
    }

    /// Ends all streams behind what was sent, with the next flush, and accepts no more.
    pub fn stop(&mut self) {
        (self.stops, self.due) = (true, true);
    }

    /// Returns the callers whose program was not started yet: the name of each, who was called, and
    /// who calls.
    pub fn waiting(&self) -> impl Iterator<Item = (Handle, [Participant; 2])> {
        let waits = |(_, caller): &(_, &Caller<M>)| matches!(caller.program, Connected::Waits);
        self.names.iter().filter(waits).map(|(name, caller)| (name, caller.ends))
    }

    /// Starts the program of one that is [waiting](Self::waiting), with this in its environment
    /// beside what this program has.
    pub fn start(&mut self, cx: &Context, name: Handle, environment: &[(&str, String)]) {
        let Some(number) = self.names.get(name).map(|caller| caller.number) else { return };
        let ProgramAt { command, most, .. } = &self.programs[number];
        let here = |caller: &Caller<M>| match caller.program {
            Connected::Runs(..) | Connected::Finished(_) => caller.number == number,
            Connected::Waits | Connected::Refused(_) => false,
        };
        let running = self.names.iter().filter(|(_, caller)| here(caller)).count()
            + self.leaving.iter().filter(|(_, its, _)| *its == number).count();
        let started = if running < *most {
            self.spawn(name, command, environment).map_err(|why| {
                cx.event(NAME, format_args!("not started: {}: {why}", command[0]));
                "cannot be started"
            })
        } else {
            Err("has as many callers as it may have; try again later")
        };
        let Some(caller) = self.names.get_mut(name) else { return };
        let [called, calls] = caller.ends.map(|end| end.address);
        caller.program = match started {
            Ok((child, socket)) => {
                cx.event(NAME, format_args!("{calls} is connected to {called}"));
                Connected::Runs(child, socket)
            }
            Err(why) => {
                cx.event(NAME, format_args!("{calls} is refused by {called}, which {why}"));
                self.due = true;
                Connected::Refused(Some(format!("{called} {why}\r\n")))
            }
        };
    }

    fn spawn(
        &self,
        name: Handle,
        command: &[String],
        environment: &[(&str, String)],
    ) -> io::Result<(Child, UnixStream)> {
        let [program, arguments @ ..] = command else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let interest = Interest::READABLE.add(Interest::WRITABLE);
        let token = token(self.lane, name);
        self.registry.register(&mut SourceFd(&socket.as_raw_fd()), token, interest)?;
        let theirs = OwnedFd::from(theirs);
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().cloned()).process_group(0);
        command.stdin(theirs.try_clone()?).stdout(theirs);
        Ok((command.spawn()?, socket))
    }

    fn expect(&mut self, listener: Handle, out: Out<'_, M>) {
        if self.names.awaited(listener) == 0
            && let Some(association) = self.names.expect(listener, ROOM)
        {
            let credit = ROOM;
            out.request(Either::Left(StreamsRequest::Await { listener, association, credit }));
        }
    }

    /// Passes octets both ways, as far as each side takes them.
    fn pass(&mut self, cx: &Context, association: Handle, out: Out<'_, M>) {
        let Some(Caller { flow, program, .. }) = self.names.get_mut(association) else { return };
        let Connected::Runs(_, socket) = program else { return };
        // A program that reads no more may still have something to say.
        if let Ok(octets @ 1..) = flow.write(cx, NAME, Quiet(socket)) {
            let credit = Credit::of_octets(octets);
            out.request(Either::Left(StreamsRequest::Credit { association, credit }));
        }
        let read = flow.read(&*socket, |message| out.request(send(association, message)));
        if read.is_err() {
            *program = match mem::replace(program, Connected::Waits) {
                Connected::Runs(child, _) => Connected::Finished(child),
                other => other,
            };
            out.request(Either::Left(StreamsRequest::Finish { association }));
        }
    }

    fn ended(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        match self.names.forget(name) {
            Some(Party::Open(Caller { number, ends: [called, calls], program, .. })) => {
                if let Connected::Runs(child, _) | Connected::Finished(child) = program {
                    let (called, calls) = (called.address, calls.address);
                    cx.event(NAME, format_args!("{calls} and {called}: {why}"));
                    self.leaving.push((cx.now() + LEAVE_WITHIN, number, child));
                    self.look = Some(cx.now());
                }
            }
            Some(Party::Listener(number)) if !self.stops => {
                let local = self.programs[number].local.address;
                cx.event(NAME, format_args!("calls to {local} are not answered: {why}"));
            }
            Some(Party::Listener(_) | Party::Awaited(_)) | None => {}
        }
        let listeners: Vec<_> = self.names.listeners().map(|(name, _)| name).collect();
        listeners.into_iter().for_each(|listener| self.expect(listener, out));
    }
}

fn send<M: Message>(
    association: Handle,
    message: M,
) -> Either<StreamsRequest<M>, std::convert::Infallible> {
    let (batch, properties) = (message.into(), Default::default());
    Either::Left(StreamsRequest::Send { association, batch, properties })
}

fn kill(child: &mut Child) {
    // It was not waited for, so its number is no other's.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

impl<M: Message> Drop for Programs<M> {
    fn drop(&mut self) {
        let connected = self.names.iter_mut().filter_map(|(_, caller)| match &mut caller.program {
            Connected::Runs(child, _) | Connected::Finished(child) => Some(child),
            Connected::Waits | Connected::Refused(_) => None,
        });
        for child in connected.chain(self.leaving.iter_mut().map(|(.., child)| child)) {
            kill(child);
            let _ = child.wait();
        }
    }
}

impl<M: Message> Protocol for Programs<M> {
    const FACTS: Facts = Facts::named(NAME);
    type Provides = Nothing;
    type Uses = Both<Streams<M>, Readiness>;

    fn handle_request(
        &mut self,
        _: &Context,
        never: std::convert::Infallible,
        _: &mut impl Outlet<Self>,
    ) {
        match never {}
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let word = match word {
            Either::Left(word) => word,
            Either::Right(Ready { name, readable, writable, .. }) => {
                if let Some(Caller { flow, .. }) = self.names.get_mut(name) {
                    flow.readable |= readable;
                    flow.writable |= writable;
                    self.pass(cx, name, out);
                }
                return;
            }
        };
        match word {
            StreamsIndication::Opened { association, local, remote, credit, .. } => {
                let Some(listener) = self.names.waits_at(association) else { return };
                let Some(number) = self.names.listener(listener).copied() else { return };
                let mut flow = Flow::new(self.pool.clone());
                flow.credit = credit.octets;
                let (ends, program) = ([local, remote], Connected::Waits);
                self.names.arrived(association, || Caller { number, ends, flow, program });
                self.expect(listener, out);
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                if let Some(Caller { flow, .. }) = self.names.get_mut(association) {
                    flow.push(batch.into_octets());
                    self.pass(cx, association, out);
                }
            }
            StreamsIndication::Credit { association, credit } => {
                if let Some(Caller { flow, .. }) = self.names.get_mut(association) {
                    flow.credit += credit.octets;
                    self.pass(cx, association, out);
                }
            }
            StreamsIndication::Finished { association: name } => {
                out.request(Either::Left(StreamsRequest::Close { name }));
            }
            StreamsIndication::Ended { name, why } => self.ended(cx, name, why, out),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, _: &mut impl Outlet<Self>) {
        if self.look.is_none_or(|look| look > cx.now()) {
            return;
        }
        self.leaving.retain_mut(|(until, _, child)| {
            let runs = matches!(child.try_wait(), Ok(None));
            if runs && *until <= cx.now() {
                kill(child);
            }
            runs
        });
        self.look = (!self.leaving.is_empty()).then(|| cx.now() + LOOK);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.look
    }

    fn flush(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        if !mem::take(&mut self.due) {
            return;
        }
        if !mem::replace(&mut self.begun, true) {
            for number in 0..self.programs.len() {
                let (listener, local) = (self.names.listen(number), self.programs[number].local);
                out.request(Either::Left(StreamsRequest::Listen { listener, local }));
                self.expect(listener, out);
            }
        }
        for (association, Caller { flow, program, .. }) in self.names.iter_mut() {
            if let Connected::Refused(told) = program
                && let Some(why) = told.take()
            {
                let why = &why.as_bytes()[..why.len().min(flow.credit)];
                out.request(send(association, M::with_headroom(0, why)));
                out.request(Either::Left(StreamsRequest::Finish { association }));
            }
        }
        if self.stops {
            let callers = self.names.iter().map(|(name, _)| name);
            let listeners = self.names.listeners().map(|(name, _)| name);
            for name in listeners.chain(callers) {
                out.request(Either::Left(StreamsRequest::Close { name }));
            }
        }
    }

    fn wants_flush(&self) -> bool {
        self.due
    }
}
