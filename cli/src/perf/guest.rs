//! Somebody who measures us: what has come from him, and what he is told.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use stackwright::contract::Guarantees;
use stackwright::contract::services::{Batch, MessageProperties};
use stackwright::wire::{Message as _, take_copied};
use stackwright_parts::Message;

use super::processor;
use super::transport::Association;
use super::words::{Kind, Report, Word};

/// Where messages may be lost, nothing comes any more after so long a silence.
const QUIET: Duration = Duration::from_millis(300);
/// Where nobody says that he goes, he has gone after so long a silence.
const GONE: Duration = Duration::from_secs(60);

/// How often a client is told that what comes is counted: well within its patience.
const COUNTING: Duration = Duration::from_secs(10);

/// Octets that are free before an answer.
const HEADROOM: usize = 128;

/// What has come, and how many messages were sent.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) report: Report,
    pub(super) sent: u64,
}

pub(super) struct Guest {
    association: Association,
    /// How many messages we have taken from the association.
    taken: usize,
    report: Report,
    /// What came in earlier runs.
    earlier: Report,
    /// Whether he was told what has come.
    is_told: bool,
    /// When the first counted message came, and what we had taken of the processor then.
    began: Option<(Instant, Duration)>,
    /// When the last came.
    last: Instant,
    /// When he was last told that something is counted.
    counted_on: Instant,
    /// How many were sent; and he waits for a report.
    expected: Option<u64>,
    /// There was no room yet for these.
    answers: VecDeque<Message>,
    /// Where a report is expected that cannot be answered here, and that report.
    elsewhere: Option<SocketAddr>,
    report_elsewhere: Option<Message>,
}

impl Guest {
    pub(super) fn new(mut association: Association) -> Self {
        association.set_timeout(Some(Duration::ZERO));
        Guest {
            association,
            taken: 0,
            report: Report::default(),
            earlier: Report::default(),
            is_told: false,
            began: None,
            last: Instant::now(),
            counted_on: Instant::now(),
            expected: None,
            answers: VecDeque::new(),
            elsewhere: None,
            report_elsewhere: None,
        }
    }

    /// Takes what has come, and answers. Gives a report where one is made.
    pub(super) fn turn(&mut self) -> Option<Counted> {
        self.answer();
        let taken = self.taken;
        // Nobody is asked who has nothing: each question costs a look at the operating system.
        while self.taken < self.association.statistics().received.messages {
            let Ok((messages, _)) = self.association.receive_batch() else { break };
            self.taken += messages.count();
            self.take_batch(messages);
        }
        if self.taken > taken {
            self.last = Instant::now(); // once for all that came together
            self.count_on();
        }
        self.report()
    }

    /// Says now and then that something is counted. Over a slow path, what a client has sent may be
    /// under way for long, and where its own system keeps it, as that of TCP, nothing else shows
    /// that.
    fn count_on(&mut self) {
        let lossless = self.association.facts().gives.has(Guarantees::RELIABLE);
        if lossless && self.began.is_some() && self.last - self.counted_on >= COUNTING {
            self.counted_on = self.last;
            let mut message = Message::with_headroom(HEADROOM, &[]);
            message.push(&Word { kind: Kind::Counting, number: self.report.messages });
            self.say(message);
        }
    }

    fn take_batch(&mut self, messages: Batch<Message>) {
        // What is only counted is looked at where it lies.
        let is_data = |pieces| Word::begins(pieces).is_some_and(|word| word.kind == Kind::Data);
        if messages.pieces().all(is_data) {
            return self.count(messages.octets(), messages.count());
        }
        messages.into_iter().for_each(|message| self.take(message));
    }

    fn count(&mut self, octets: usize, messages: usize) {
        if self.is_told {
            // Another run: where no association ends, its port is another's now.
            (self.earlier, self.report, self.began) = (self.counted(), Report::default(), None);
            self.is_told = false;
        }
        self.began.get_or_insert_with(|| (Instant::now(), processor()));
        self.report.octets += octets as u64;
        self.report.messages += messages as u64;
    }

    fn take(&mut self, mut message: Message) {
        let octets = message.len();
        let Ok(word) = message.pull::<Word>() else { return };
        match word.kind {
            Kind::Data | Kind::Request => {
                self.count(octets, 1);
                if word.kind == Kind::Request {
                    message.push(&Word { kind: Kind::Reply, ..word });
                    self.say(message);
                }
            }
            Kind::End => {
                self.expected = Some(word.number);
                let mut port = [0; 2];
                if message.len() == port.len() {
                    message.copy_to(&mut port);
                    let ip = self.association.remote().map(|remote| remote.ip());
                    self.elsewhere = ip.map(|ip| (ip, u16::from_be_bytes(port)).into());
                }
            }
            Kind::Reply | Kind::Report | Kind::Counting => {}
        }
    }

    /// Sends it, behind what waits. A guest for whom nothing ever waited has no memory for it.
    fn say(&mut self, message: Message) {
        self.answer();
        if self.answers.is_empty() {
            self.try_say(message);
        } else {
            self.answers.push_back(message);
        }
    }

    /// Sends what there is room for.
    fn answer(&mut self) {
        while let Some(message) = self.answers.pop_front() {
            if !self.try_say(message) {
                return;
            }
        }
    }

    /// Whether it was sent. Where there was no room, it waits, before all others.
    fn try_say(&mut self, message: Message) -> bool {
        let Err(refused) = self.association.send_message(message, MessageProperties::default())
        else {
            return true;
        };
        if refused.why.is_not_yet() {
            self.answers.push_front(refused.message);
        }
        false
    }

    /// Who he is.
    pub(super) fn remote(&self) -> Option<SocketAddr> {
        self.association.remote()
    }

    /// Tells him what has come, when that is all. In order, nothing comes behind the end; a member
    /// of a group that came late has not all that was sent before it.
    fn report(&mut self) -> Option<Counted> {
        let expected = self.expected?;
        let gives = self.association.facts().gives;
        let may_come = match gives.has(Guarantees::RELIABLE) {
            _ if self.report.messages >= expected || gives.has(Guarantees::ORDERED) => false,
            true => true,
            false => self.last.elapsed() < QUIET,
        };
        if may_come {
            return None;
        }
        self.expected = None;
        self.is_told = true;
        // Where nothing was counted, it is all that this thread took so far.
        let (began, before) = self.began.unwrap_or((self.last, Duration::ZERO));
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // An end that is repeated is answered again: not with the time until then.
        if self.report.took == 0 {
            self.report.took = nanoseconds(self.last - began);
            self.report.processor = nanoseconds(processor().saturating_sub(before));
            self.report.copied = take_copied();
        }
        let mut message = Message::with_headroom(HEADROOM, &[]);
        message.push(&self.report);
        message.push(&Word { kind: Kind::Report, number: expected });
        match self.elsewhere {
            Some(_) => self.report_elsewhere = Some(message),
            None => self.say(message),
        }
        Some(Counted { report: self.report, sent: expected })
    }

    /// Takes a report that is expected elsewhere, and where.
    pub(super) fn take_report(&mut self) -> Option<(SocketAddr, Message)> {
        self.elsewhere.zip(self.report_elsewhere.take())
    }

    /// What has come from him, in all runs.
    pub(super) fn counted(&self) -> Report {
        let Report { octets, messages, .. } = self.earlier;
        let octets = octets + self.report.octets;
        Report { octets, messages: messages + self.report.messages, ..self.report }
    }

    /// Whether he has gone.
    pub(super) fn is_gone(&self) -> bool {
        let lossless = self.association.facts().gives.has(Guarantees::RELIABLE);
        self.association.has_ended() || !lossless && self.last.elapsed() > GONE
    }

    /// Whether he is waited for: his last messages are late, or lost.
    pub(super) fn is_pending(&self) -> bool {
        self.expected.is_some() || !self.answers.is_empty()
    }
}
