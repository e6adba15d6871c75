//! One link between two stations (§6, and the SDL of appendix C4).
//!
//! | file | what |
//! | --- | --- |
//! | `receive.rs` | what a frame does to it |
//! | `send.rs` | what it sends next; requests from above |
//! | `timers.rs` | T1, T2, T3, and when a frame has left the antenna |
//! | `negotiation.rs` | XID |
//! | `outgoing.rs`, `incoming.rs` | the two directions of its octets |
//! | `length.rs` | how long its I frames are |
//!
//! A link holds no frame that waits for the TNC: it knows what it owes, and makes a frame when one
//! can leave ([`Link::next_frame`]). So every N(R) is the newest, and acknowledgements that pile up
//! become one.

mod incoming;
mod length;
mod negotiation;
mod outgoing;
mod receive;
mod send;
mod timers;
#[cfg(test)]
mod windows;

use alloc::collections::VecDeque;

use stackwright_contract::services::Ended;
use stackwright_contract::{CallSign, Context, Duration, Handle, Instant};
use stackwright_wire::{Message, Pool};

use crate::config::{Config, LinkVersion};
use crate::header::{Addresses, DigipeaterPath, Head, Modulus, Role, Unnumbered};
use incoming::Incoming;
use negotiation::Negotiation;
use outgoing::Outgoing;
use timers::{Clock, T1};

pub(crate) use length::Learned;
pub(crate) use negotiation::{agree, information};
pub(crate) use outgoing::HEADROOM;

/// The state of a link, with its number in the SDL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// 0: there is none.
    Disconnected,
    /// 1: SABM was sent.
    AwaitingConnection,
    /// 2: DISC was sent.
    AwaitingRelease,
    /// 3: information flows.
    Connected,
    /// 4: the peer was asked what has arrived.
    TimerRecovery,
    /// 5: SABME was sent.
    AwaitingV22Connection,
}

/// What a link has its layer do.
#[derive(Debug)]
pub(crate) enum Act<M> {
    /// Send a U frame.
    Say { kind: Unnumbered, role: Role, poll: bool, information: Option<M>, timed: bool },
    /// Tell that it is open.
    Opened,
    /// Deliver octets.
    Deliver(M),
    /// Give credit back for octets that the peer has.
    Credit(usize),
    /// Tell that the peer sends no more.
    Finished,
    /// Tell the last word. Where nothing else is left to do, the link is gone.
    Ended(Ended),
}

/// What a link needs of its layer.
pub(crate) struct Env<'a, M: Message> {
    pub(crate) cx: &'a Context,
    pub(crate) config: &'a Config,
    pub(crate) pool: &'a Pool<M>,
    pub(crate) acts: &'a mut VecDeque<Act<M>>,
}

impl<M: Message> Env<'_, M> {
    pub(crate) fn now(&self) -> Instant {
        self.cx.now()
    }

    /// Returns a frame that is a head alone.
    fn frame(&self, head: &Head) -> M {
        let mut octets = M::from_block(self.pool.take(), HEADROOM, HEADROOM);
        octets.push_front(head.as_octets().len()).copy_from_slice(head.as_octets());
        octets
    }

    fn command(&mut self, kind: Unnumbered, timed: bool) {
        let role = Role::Command;
        self.acts.push_back(Act::Say { kind, role, poll: true, information: None, timed });
    }

    fn respond(&mut self, kind: Unnumbered, poll: bool) {
        let role = Role::Response;
        self.acts.push_back(Act::Say { kind, role, poll, information: None, timed: false });
    }
}

/// An I or an S frame that leaves now, whole.
pub(crate) struct Frame<M> {
    pub(crate) octets: M,
    /// Whether T1 starts when it has left.
    pub(crate) timed: bool,
}

/// Which stations a link is between, and on which port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) port: u8,
    pub(crate) local: CallSign,
    pub(crate) remote: CallSign,
}

/// Whether gaps are requested frame by frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Selective {
    /// REJ: everything from the gap on is sent again.
    Absent,
    /// SREJ, one frame for each number.
    Single,
    /// SREJ, which may name several.
    Multiple,
}

/// What becomes of a link when the octets that were sent are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// Nothing.
    Open,
    /// DISC.
    Finish,
    /// Octets were lost: DM before DISC, which alone ends a stream in good order.
    Break,
}

/// What has to be said as soon as a frame can leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Owes {
    /// RR or RNR as a command, P=1.
    enquiry: bool,
    /// An answer to P=1.
    answer: bool,
    /// REJ.
    reject: bool,
    /// An acknowledgement.
    acknowledgement: bool,
}

/// The counters of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) retransmitted: u64,
}

/// A link.
pub(crate) struct Link<M> {
    pub(crate) key: Key,
    pub(crate) path: DigipeaterPath,
    /// Its name above; `None`: nobody hears of it any more.
    pub(crate) above: Option<Handle>,
    pub(crate) state: LinkState,
    pub(crate) modulus: Modulus,
    pub(crate) counts: Counts,
    version: LinkVersion,
    selective: Selective,
    outgoing: Outgoing<M>,
    incoming: Incoming<M>,
    negotiation: Negotiation,
    ending: Ending,
    /// Opens again when it is released: the name above came after the last one had aborted.
    reopens: bool,
    /// The last word, while octets wait for credit above.
    last_word: Option<Ended>,
    /// Whether it was told to be open.
    opened: bool,
    /// Whether it was told that something was not delivered.
    told_undelivered: bool,
    /// Whether the peer asked for it, and has shown that it knows the link to be open.
    was_called: bool,
    confirmed: bool,
    /// How the peer counts, as far as that is known, of this link or of one before it.
    spoken: Option<Modulus>,
    /// How many SABME may still be answered, though SABM was sent since. An answer may be to one of
    /// those: then the peer counts otherwise, until it receives SABM.
    unanswered_extended: u8,
    owes: Owes,
    t1: T1,
    t2: Option<Instant>,
    t3: Option<Instant>,
    clock: Clock,
}

impl<M: Message> Link<M> {
    fn new(
        key: Key,
        path: DigipeaterPath,
        config: &Config,
        credit: usize,
        learned: Learned,
    ) -> Self {
        let floor = Duration::from_secs(1 + 2 * path.len() as u64);
        Link {
            key,
            path,
            above: None,
            state: LinkState::Disconnected,
            modulus: Modulus::Eight,
            counts: Counts::default(),
            version: LinkVersion::V20,
            selective: Selective::Absent,
            outgoing: Outgoing::new(config, key.port, learned),
            incoming: Incoming::new(credit),
            negotiation: Negotiation::default(),
            ending: Ending::Open,
            reopens: false,
            last_word: None,
            opened: false,
            told_undelivered: false,
            was_called: false,
            confirmed: false,
            spoken: learned.modulus,
            unanswered_extended: 0,
            owes: Owes::default(),
            t1: T1::Stopped,
            t2: None,
            t3: None,
            clock: Clock::new(floor, config.timeout),
        }
    }

    /// Opens a link to a peer.
    pub(crate) fn open(
        key: Key,
        path: DigipeaterPath,
        version: LinkVersion,
        credit: usize,
        learned: Learned,
        env: &mut Env<'_, M>,
    ) -> Self {
        let mut link = Link::new(key, path, env.config, credit, learned);
        link.version = version;
        link.establish(env);
        link
    }

    /// Accepts a link that a peer asks for.
    pub(crate) fn accept(
        key: Key,
        path: DigipeaterPath,
        (modulus, poll): (Modulus, bool),
        credit: usize,
        learned: Learned,
        env: &mut Env<'_, M>,
    ) -> Self {
        let mut link = Link::new(key, path, env.config, credit, learned);
        link.set_version(modulus, env.config);
        env.respond(Unnumbered::Ua, poll);
        (link.opened, link.was_called) = (true, true);
        env.acts.push_back(Act::Opened);
        link.connect(env);
        link
    }

    /// Returns whether nothing is left to do, so that the link can be forgotten.
    pub(crate) fn is_over(&self) -> bool {
        self.state == LinkState::Disconnected && self.last_word.is_none()
    }

    /// Returns whether the addresses of the link are free for another, though octets wait for
    /// credit above.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.state == LinkState::Disconnected
    }

    /// Returns what the link has learned of its peer.
    pub(crate) fn learned(&self) -> Learned {
        self.outgoing.length.learned(self.spoken)
    }

    /// Returns whether it may give way where places are short: the peer asked for it and has said
    /// nothing since, or it is being released and nobody above hears of it.
    pub(crate) fn gives_way(&self) -> bool {
        match self.state {
            LinkState::Connected | LinkState::TimerRecovery => self.was_called && !self.confirmed,
            LinkState::AwaitingRelease => self.above.is_none() && !self.reopens,
            _ => false,
        }
    }

    /// Ends it at once.
    pub(crate) fn give_way(&mut self, env: &mut Env<'_, M>) {
        env.respond(Unnumbered::Dm, false);
        self.over(Ended::Expired, env);
    }

    /// Returns the smoothed time from an enquiry that has left to its answer.
    pub(crate) fn round_trip(&self) -> Duration {
        self.clock.smoothed
    }

    /// Returns how many octets are held, in both directions.
    pub(crate) fn held(&self) -> usize {
        self.outgoing.held() + self.incoming.held()
    }

    /// Returns the addresses of its frames.
    pub(crate) fn addresses(&self, role: Role) -> Addresses {
        let Key { local, remote, .. } = self.key;
        Addresses { destination: remote, source: local, role, path: self.path }
    }

    fn set_version(&mut self, modulus: Modulus, config: &Config) {
        self.modulus = modulus;
        // Version 2.2 has SREJ unless XID says otherwise; that it may name several, XID says.
        self.selective = match modulus {
            Modulus::Eight => Selective::Absent,
            Modulus::Extended => Selective::Single,
        };
        self.outgoing.window = match modulus {
            Modulus::Eight => config.window,
            Modulus::Extended => config.window_extended,
        };
    }

    /// Whether the peer may count otherwise.
    fn is_doubtful(&self) -> bool {
        self.modulus == Modulus::Eight && self.unanswered_extended > 0
    }

    /// Sends SABM or SABME for the first time.
    fn establish(&mut self, env: &mut Env<'_, M>) {
        self.state = match self.version {
            LinkVersion::V20 => LinkState::AwaitingConnection,
            LinkVersion::Auto | LinkVersion::V22 => LinkState::AwaitingV22Connection,
        };
        // RC counts the first one too: else there would be N2 + 1 of them (erratum).
        self.clock.tries = 1;
        self.ask_to_connect(env);
    }

    fn ask_to_connect(&mut self, env: &mut Env<'_, M>) {
        let (kind, modulus) = match self.state {
            LinkState::AwaitingV22Connection => (Unnumbered::Sabme, Modulus::Extended),
            _ => (Unnumbered::Sabm, Modulus::Eight),
        };
        if modulus == Modulus::Extended {
            self.unanswered_extended = self.unanswered_extended.saturating_add(1);
        }
        self.set_version(modulus, env.config);
        self.stop_timers();
        self.await_departure();
        env.command(kind, true);
    }

    /// Both sides agree that the link is open, or begins again.
    fn connect(&mut self, env: &mut Env<'_, M>) {
        self.state = LinkState::Connected;
        self.confirmed = false;
        self.owes = Owes::default();
        self.outgoing.reset();
        self.incoming.reset();
        self.stop_timers();
        self.clock.tries = 0;
        if !self.is_doubtful() {
            self.spoken = Some(self.modulus);
        }
        self.rest(env);
        self.release_when_drained(env);
    }

    /// Sends DISC.
    fn release(&mut self, env: &mut Env<'_, M>) {
        self.state = LinkState::AwaitingRelease;
        self.owes = Owes::default();
        self.clock.tries = 1;
        self.ask_to_release(env);
    }

    fn ask_to_release(&mut self, env: &mut Env<'_, M>) {
        self.stop_timers();
        self.await_departure();
        if self.ending == Ending::Break {
            env.respond(Unnumbered::Dm, false);
        }
        env.command(Unnumbered::Disc, true);
    }

    /// Returns whether this side has finished, the peer has everything, and was told what has
    /// arrived here: DISC does not say it, and the peer would take its own octets for lost.
    pub(crate) fn is_releasable(&self) -> bool {
        let open = matches!(self.state, LinkState::Connected | LinkState::TimerRecovery);
        let owes = self.owes.answer || self.owes.acknowledgement;
        let told = !owes || self.ending == Ending::Break;
        open && self.ending != Ending::Open && self.outgoing.is_drained() && told
    }

    /// Sends DISC where that is due.
    pub(crate) fn release_when_drained(&mut self, env: &mut Env<'_, M>) {
        if self.ending == Ending::Finish && self.t2.take().is_some() {
            self.owes.acknowledgement = true;
        }
        if self.is_releasable() {
            self.release(env);
        }
    }

    /// The link is over. The last word waits for octets that wait for credit.
    fn over(&mut self, why: Ended, env: &mut Env<'_, M>) {
        self.state = LinkState::Disconnected;
        self.owes = Owes::default();
        self.stop_timers();
        self.outgoing.clear(env.pool);
        if core::mem::take(&mut self.reopens) {
            self.ending = Ending::Open;
            self.establish(env);
            return;
        }
        self.last_word = Some(why);
        self.conclude(env);
    }

    /// Tells the last word where nothing waits.
    fn conclude(&mut self, env: &mut Env<'_, M>) {
        if self.incoming.waits() && self.above.is_some() {
            return;
        }
        if let Some(why) = self.last_word.take() {
            if why == Ended::Finished && self.ending == Ending::Open {
                env.acts.push_back(Act::Finished);
            }
            env.acts.push_back(Act::Ended(why));
        }
    }

    /// Ends a link whose octets can no longer be vouched for: the peer is told to release it.
    fn give_up(&mut self, why: Ended, env: &mut Env<'_, M>) {
        self.outgoing.clear(env.pool);
        self.incoming.discard();
        env.acts.push_back(Act::Ended(why));
        self.above = None;
        self.ending = Ending::Break;
        self.release(env);
    }
}
