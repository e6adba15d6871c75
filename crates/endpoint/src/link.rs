//! An association as the application sees it.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use stackwright_contract::services::{Batch, Credit, Ended, MessageProperties};
use stackwright_contract::{Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::commands::Commands;
use crate::error::Error;
use crate::offered::Size;
use crate::pace::Pace;
use crate::placed::{Placed, place};
use crate::qlog::Qlog;
use crate::shared::TOGETHER;

/// Counters of an association, as its endpoint sees it. What its transport measures is told by the
/// question [`PathStatistics`](stackwright_contract::ask::PathStatistics).
///
/// ```
/// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// # use stackwright_wire::BufferTree;
/// # let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
/// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// let association = endpoint.connect(endpoint.local().unwrap())?;
/// association.send(b"hello")?;
/// let statistics = association.statistics();
/// assert_eq!((statistics.sent.messages, statistics.sent.octets, statistics.late), (1, 5, 0));
/// assert!(statistics.opened.is_some());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// What was sent.
    pub sent: Credit,
    /// What was delivered.
    pub received: Credit,
    /// Credit downward: how much may be sent now. Over ARTP it begins with 64 KiB, and grows with
    /// the path to its send buffer (`artp::Config::send`). On a stream messages are not counted,
    /// and have no bound.
    pub credit: Credit,
    /// Messages that were refused because they could not arrive within their lifetime.
    pub late: u64,
    /// Messages that arrived, and were over before they were asked for: they were dropped.
    pub expired: u64,
    /// When it was opened; `None` before.
    pub opened: Option<Instant>,
}

/// What an association allows now, as far as the stack has told.
///
/// ```
/// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// # use stackwright_wire::BufferTree;
/// # let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
/// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// let association = endpoint.connect(endpoint.local().unwrap())?;
/// let now = association.condition();
/// assert!(now.is_open && now.may_send && !now.may_receive && now.ended.is_none());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Condition {
    /// Whether it was opened, and has not ended.
    pub is_open: bool,
    /// Whether there is something to receive: a message, or that the peer sends no more.
    pub may_receive: bool,
    /// Whether there is credit.
    pub may_send: bool,
    /// Why it has ended, once it has. Messages that arrived before may still be received.
    pub ended: Option<Ended>,
}

/// Messages that came together, and what came with each: the number is that of the first.
pub(crate) type Received<M> = (Batch<M>, MessageProperties);

/// The same, and until when they are of use.
pub(crate) struct Waiting<M> {
    received: Received<M>,
    due: Option<Instant>,
}

pub(crate) struct Link<M> {
    pub(crate) state: State,
    pub(crate) ends: Option<(Participant, Participant)>,
    /// What the path takes, as the stack has told last.
    pub(crate) path: PathLimits,
    /// Made with the first command.
    pub(crate) commands: Option<Box<Commands>>,
    /// How much may be sent; and at most, when nothing is on its way, as far as is known: a stack
    /// that learns that its path is fast gives more than at first.
    pub(crate) credit: Credit,
    room_most: Credit,
    /// What came and was not taken.
    pub(crate) inbox: VecDeque<Waiting<M>>,
    /// The peer sends no more.
    pub(crate) finished: bool,
    statistics: Statistics,
    /// The application has dropped it.
    pub(crate) abandoned: bool,
    /// It is listed as changed.
    pub(crate) is_listed: bool,
    /// Measured from the first message on that has a lifetime.
    pace: Option<Box<Pace>>,
    /// Slots of tasks that wait for something on it.
    pub(crate) waits: Vec<Handle>,
    /// Where the application asked for one.
    pub(crate) qlog: Option<Box<Qlog>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Opening,
    Open,
    /// Our half is over, the peer's may not be.
    Finishing,
    /// Closed by the application; the last word is awaited.
    Closing,
    Ended(Ended),
}

impl<M: Message> Link<M> {
    pub(crate) fn new() -> Self {
        Link {
            state: State::Opening,
            ends: None,
            path: PathLimits::UNBOUNDED,
            commands: None,
            credit: Credit::default(),
            room_most: Credit::default(),
            inbox: VecDeque::new(),
            finished: false,
            statistics: Statistics::default(),
            abandoned: false,
            is_listed: false,
            pace: None,
            waits: Vec::new(),
            qlog: None,
        }
    }

    pub(crate) fn opened(
        &mut self,
        ends: (Participant, Participant),
        path: PathLimits,
        credit: Credit,
    ) {
        (self.ends, self.path) = (Some(ends), path);
        (self.credit, self.room_most) = (credit, credit);
        self.statistics.opened = Some(Instant::now());
        if self.state == State::Opening {
            self.state = State::Open;
        }
    }

    /// Whether the application may still send, or receive.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Finishing)
    }

    /// What is handed over and was not given back.
    pub(crate) fn waiting(&self) -> Credit {
        Credit {
            octets: self.room_most.octets.saturating_sub(self.credit.octets),
            messages: self.room_most.messages.saturating_sub(self.credit.messages),
        }
    }

    pub(crate) fn given_back(&mut self, credit: Credit) {
        let waited = self.waiting();
        self.credit.octets = self.credit.octets.saturating_add(credit.octets);
        self.credit.messages = self.credit.messages.saturating_add(credit.messages);
        self.room_most.octets = self.room_most.octets.max(self.credit.octets);
        if let Some(pace) = &mut self.pace {
            pace.given_back(Instant::now(), credit.octets, waited);
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, messages: Batch<M>, properties: MessageProperties) {
        let Credit { octets, messages: count } = messages.cost();
        self.statistics.received.octets += octets;
        self.statistics.received.messages += count;
        // Room for one, and not for four: most associations never hold two that were not taken.
        if self.inbox.capacity() == 0 {
            self.inbox.reserve_exact(1);
        }
        let lifetime = |lifetime: NonZeroU32| {
            Instant::now() + Duration::from_micros(u64::from(lifetime.get()))
        };
        let due = properties.lifetime.map(lifetime);
        self.inbox.push_back(Waiting { received: (messages, properties), due });
    }

    /// Drops what is over, as far as nothing of use came before it. Gives its credit.
    #[inline]
    pub(crate) fn drop_expired(&mut self) -> Credit {
        match self.inbox.front() {
            Some(Waiting { due: Some(_), .. }) => self.drop_over(),
            _ => Credit::NONE,
        }
    }

    #[cold]
    fn drop_over(&mut self) -> Credit {
        let (now, mut dropped) = (Instant::now(), Credit::NONE);
        let is_over = |waiting: &Waiting<M>| waiting.due.is_some_and(|due| due <= now);
        while let Some(over) = self.inbox.pop_front_if(|waiting| is_over(waiting)) {
            dropped += over.received.0.cost();
        }
        self.statistics.expired += dropped.messages as u64;
        dropped
    }

    /// The next messages that came together.
    #[inline]
    pub(crate) fn take_batch(&mut self) -> Option<Received<M>> {
        self.inbox.pop_front().map(|waiting| waiting.received)
    }

    /// The next message, and what came with it.
    #[inline]
    pub(crate) fn take_message(&mut self) -> Option<(M, MessageProperties)> {
        let (messages, of_first) = &mut self.inbox.front_mut()?.received;
        match messages.split_first() {
            Some(message) => {
                let properties = *of_first;
                *of_first = properties.of_next();
                Some((message, properties))
            }
            None => {
                self.take_batch().map(|(messages, properties)| (messages.into_single(), properties))
            }
        }
    }

    /// Moves octets of the next message into areas of the application's. What is left of it is the
    /// next message, and does not expire any more.
    pub(crate) fn take_into(&mut self, areas: &mut [IoSliceMut<'_>]) -> Option<Placed> {
        let (mut message, properties) = self.take_message()?;
        let octets = place(&mut message, areas);
        let whole = message.len() == 0;
        if !whole {
            self.inbox.push_front(Waiting { received: (message.into(), properties), due: None });
        }
        Some(Placed { octets, whole, properties })
    }

    /// Whether messages of that size, of use until `due`, are taken now, will never be, or have to
    /// wait.
    #[inline]
    pub(crate) fn takes(
        &mut self,
        size: Size,
        is_message: bool,
        due: Option<Instant>,
    ) -> Option<Result<(), Error>> {
        match self.state {
            State::Opening => return None,
            State::Open => {}
            State::Finishing | State::Closing => return Some(Err(Ended::Finished.into())),
            State::Ended(why) => return Some(Err(why.into())),
        }
        let octets = size.octets;
        // A stream has no messages: it is written piece by piece.
        let (path, most) = (self.path.longest as usize, self.room_most);
        let longest = match is_message {
            true if path < u32::MAX as usize => path,
            true => usize::MAX,
            false => most.octets,
        };
        if size.longest > longest || size.messages > most.messages {
            return Some(Err(Error::TooLong { longest }));
        }
        if is_message && octets == 0 && !self.path.empty {
            return Some(Err(Error::Empty));
        }
        // A message that is longer than all of the credit waits until all of it is there.
        let cost = Credit { octets, messages: size.messages };
        let is_longer = octets > most.octets;
        if is_longer && size.messages > 1 {
            return Some(Err(Error::TooLong { longest: most.octets }));
        }
        if let Some(due) = due {
            let estimate =
                self.pace.as_ref().map(|pace| pace.estimate(self.waiting().octets + octets));
            if due.saturating_duration_since(Instant::now()) <= estimate.unwrap_or_default() {
                self.refuse_late();
                return Some(Err(Error::Late));
            }
        }
        let covers = self.credit.covers(cost) || is_longer && self.credit.covers(most);
        covers.then_some(Ok(()))
    }

    /// A message is refused because its time is over.
    pub(crate) fn refuse_late(&mut self) {
        self.statistics.late += 1;
    }

    /// How many of `n` messages of `len` octets may be handed over at once: as many as there is
    /// ever room for, and beyond one system call only a quarter of that, so that others can follow
    /// while they are on their way. At least one.
    pub(crate) fn takes_at_once(&self, len: usize, n: usize) -> usize {
        let Credit { octets: credit, messages: most } = self.room_most;
        n.min(most).min((credit / 4).max(TOGETHER).min(credit) / len.max(1)).max(1)
    }

    /// Messages were handed over, for which there was room. Gives how many octets are handed over
    /// and were not given back.
    #[inline]
    pub(crate) fn handed_over(&mut self, size: Size, limited: bool) -> usize {
        self.credit.octets = self.credit.octets.saturating_sub(size.octets);
        self.credit.messages -= size.messages;
        self.statistics.sent.octets += size.octets;
        self.statistics.sent.messages += size.messages;
        let waits = self.waiting().octets;
        if limited || self.pace.is_some() {
            self.pace.get_or_insert_default().handed_over(Instant::now(), waits);
        }
        waits
    }

    pub(crate) fn condition(&self) -> Condition {
        let ended = match self.state {
            State::Ended(why) => Some(why),
            _ => None,
        };
        Condition {
            is_open: self.is_open(),
            may_receive: !self.inbox.is_empty() || self.finished || ended.is_some(),
            may_send: self.state == State::Open
                && self.credit.covers(Credit { octets: 1, messages: 1 }),
            ended,
        }
    }

    #[inline]
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics { credit: self.credit, ..self.statistics }
    }
}
