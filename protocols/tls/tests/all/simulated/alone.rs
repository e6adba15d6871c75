//! The layer alone: a test is both of its neighbours, keeps account of credit, and sees each octet.

use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{
    Command, CommandError, Context, Duration, Handle, Outlet, Participant, PathLimits, Protocol,
    Secure,
};
use stackwright_tls::{Config, Tls};
use stackwright_wire::{Message, Pool};

use crate::simulated::setting::{M, name};

#[derive(Default)]
struct Said {
    up: Vec<Told<M>>,
    down: Vec<Ask<M>>,
}

impl Outlet<Tls<M>> for Said {
    fn indicate(&mut self, told: Told<M>) {
        self.up.push(told);
    }

    fn request(&mut self, ask: Ask<M>) {
        self.down.push(ask);
    }
}

/// What was requested of the stream below besides octets and credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Below {
    Finish,
    Close,
    Abort,
}

/// One layer with one association, whose name is 0.
pub(crate) struct Alone {
    pub(crate) cx: Context,
    pub(crate) tls: Tls<M>,
    said: Said,
    /// Credit of the layer above, and what it may send.
    pub(crate) above: usize,
    pub(crate) may_send: usize,
    /// Credit of the stream below, and what it may deliver.
    pub(crate) below: usize,
    pub(crate) granted: usize,
    /// What was delivered above, and what left below and was not carried yet.
    pub(crate) octets: Vec<u8>,
    pub(crate) left: Vec<u8>,
    pub(crate) outcomes: Vec<Result<u32, CommandError>>,
    pub(crate) finished: bool,
    pub(crate) finished_below: bool,
    pub(crate) ended: Option<Ended>,
    pub(crate) asked: Vec<Below>,
    /// Commands that reached the stream below.
    pub(crate) commands: Vec<Command>,
}

pub(crate) const IT: Handle = name(0);

impl Alone {
    /// It opens with these credits.
    pub(crate) fn new(config: Config, above: usize, below: usize) -> Self {
        let mut alone = Self::asked(config, above);
        alone.open(below);
        alone
    }

    /// It has asked for an association that is not open.
    pub(crate) fn asked(config: Config, above: usize) -> Self {
        Self::asked_of(Tls::new(config), above)
    }

    pub(crate) fn asked_of(tls: Tls<M>, above: usize) -> Self {
        let mut alone = Alone {
            cx: Context::new(1),
            tls,
            said: Said::default(),
            above,
            may_send: 0,
            below: 0,
            granted: 0,
            octets: Vec::new(),
            left: Vec::new(),
            outcomes: Vec::new(),
            finished: false,
            finished_below: false,
            ended: None,
            asked: Vec::new(),
            commands: Vec::new(),
        };
        let (remote, credit) = (Participant::OTHER_END, Credit::of_octets(above));
        alone.ask(Ask::Open { association: IT, remote, local: None, credit });
        alone
    }

    pub(crate) fn open(&mut self, below: usize) {
        self.below = below;
        let (local, remote) = (Participant::OTHER_END, Participant::OTHER_END);
        let (credit, path) = (Credit::of_octets(below), PathLimits::UNBOUNDED);
        self.tell(Told::Opened { association: IT, local, remote, credit, path });
    }

    pub(crate) fn ask(&mut self, ask: Ask<M>) {
        self.tls.handle_request(&self.cx, ask, &mut self.said);
        self.account();
    }

    pub(crate) fn tell(&mut self, told: Told<M>) {
        self.tls.handle_indication(&self.cx, told, &mut self.said);
        self.account();
    }

    pub(crate) fn flush(&mut self) {
        while self.tls.wants_flush() {
            self.tls.flush(&self.cx, &mut self.said);
            self.account();
        }
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.cx.set_now(self.cx.now() + Duration::from_secs(seconds));
        self.tls.handle_timeout(&self.cx, &mut self.said);
        self.account();
        self.flush();
    }

    pub(crate) fn secure(&mut self, secure: Secure) {
        self.control(Command::Secure(secure));
    }

    pub(crate) fn control(&mut self, command: Command) {
        self.ask(Ask::Control { association: IT, command });
        self.flush();
    }

    pub(crate) fn send(&mut self, octets: &[u8]) {
        assert!(octets.len() <= self.may_send, "the test keeps within the credit");
        self.may_send -= octets.len();
        let (batch, properties) =
            (M::with_headroom(16, octets).into(), StreamProperties::default());
        self.ask(Ask::Send { association: IT, batch, properties });
    }

    pub(crate) fn give_above(&mut self, octets: usize) {
        self.above += octets;
        self.ask(Ask::Credit { association: IT, credit: Credit::of_octets(octets) });
    }

    pub(crate) fn give_below(&mut self, octets: usize) {
        self.below += octets;
        self.tell(Told::Credit { association: IT, credit: Credit::of_octets(octets) });
    }

    /// Octets arrive, within the credit.
    pub(crate) fn arrive(&mut self, octets: &[u8]) {
        assert!(octets.len() <= self.granted, "the test keeps within the credit");
        self.granted -= octets.len();
        self.deliver(M::with_headroom(0, octets));
    }

    fn deliver(&mut self, message: M) {
        let (batch, properties) = (message.into(), StreamProperties::default());
        self.tell(Told::Delivered { association: IT, batch, properties });
    }

    /// Octets arrive in a block of this pool.
    pub(crate) fn arrive_in_block(&mut self, octets: &[u8], pool: &Pool<M>) {
        self.granted -= octets.len();
        let mut block = pool.take();
        block[..octets.len()].copy_from_slice(octets);
        self.deliver(M::from_block(block, 0, octets.len()));
    }

    /// Octets arrive as far as there is credit. Returns how many.
    pub(crate) fn arrive_some(&mut self, octets: &[u8]) -> usize {
        if matches!(self.asked.last(), Some(Below::Close | Below::Abort)) {
            return octets.len(); // discarded below
        }
        let some = octets.len().min(self.granted);
        if some > 0 {
            self.arrive(&octets[..some]);
            self.flush();
        }
        some
    }

    /// The stream below finishes; it ends where this side has finished, too, and where it was
    /// closed.
    pub(crate) fn finish_below(&mut self) {
        if self.is_over() {
            return;
        }
        if !std::mem::replace(&mut self.finished_below, true) {
            self.tell(Told::Finished { association: IT });
            self.flush();
        }
        self.end_below();
    }

    /// The stream below ends if it was asked to.
    pub(crate) fn end_below(&mut self) {
        if self.is_over() {
            return;
        }
        let why = match self.asked.last() {
            Some(Below::Abort) => Ended::Aborted,
            Some(Below::Finish | Below::Close) => Ended::Finished,
            None => return,
        };
        self.tell(Told::Ended { name: IT, why });
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn account(&mut self) {
        for ask in self.said.down.drain(..) {
            let over = matches!(self.asked.last(), Some(Below::Close | Below::Abort));
            assert!(!over || matches!(ask, Ask::Abort { .. }), "behind the end: {ask:?}");
            match ask {
                Ask::Send { batch, .. } => {
                    assert!(!self.asked.contains(&Below::Finish), "octets behind Finish");
                    let octets = batch.octets();
                    assert!(
                        octets <= self.below,
                        "{octets} octets with a credit of {}",
                        self.below
                    );
                    self.below -= octets;
                    let start = self.left.len();
                    self.left.resize(start + octets, 0);
                    batch.into_octets().copy_to(&mut self.left[start..]);
                }
                Ask::Credit { credit, .. } => {
                    assert!(credit.octets > 0, "never zero");
                    self.granted += credit.octets;
                }
                Ask::Open { credit, .. } => self.granted += credit.octets,
                Ask::Finish { .. } => self.asked.push(Below::Finish),
                Ask::Close { .. } => self.asked.push(Below::Close),
                Ask::Abort { .. } => self.asked.push(Below::Abort),
                Ask::Control { command, .. } => self.commands.push(command),
                Ask::Listen { .. } | Ask::Await { .. } => {}
            }
        }
        for told in self.said.up.drain(..) {
            assert!(self.ended.is_none(), "behind the last word: {told:?}");
            match told {
                Told::Delivered { batch, .. } => {
                    let octets = batch.octets();
                    assert!(
                        octets <= self.above,
                        "{octets} octets with a credit of {}",
                        self.above
                    );
                    self.above -= octets;
                    let start = self.octets.len();
                    self.octets.resize(start + octets, 0);
                    batch.into_octets().copy_to(&mut self.octets[start..]);
                }
                Told::Opened { credit, .. } => self.may_send += credit.octets,
                Told::Credit { credit, .. } => {
                    assert!(credit.octets > 0, "never zero");
                    self.may_send += credit.octets;
                }
                Told::Controlled { outcome, .. } => self.outcomes.push(outcome),
                Told::Finished { .. } => self.finished = true,
                Told::Ended { why, .. } => self.ended = Some(why),
                Told::Listening { .. }
                | Told::Changed { .. }
                | Told::Reported { .. }
                | Told::Ending { .. } => {}
            }
        }
    }
}

/// Carries what has left either end to the other, as far as there is credit, until nothing moves;
/// credit below comes back with what is carried.
pub(crate) fn carry(ends: &mut [Alone; 2]) {
    loop {
        let mut moved = 0;
        for side in 0..2 {
            let left = std::mem::take(&mut ends[side].left);
            let some = if ends[1 - side].is_over() { 0 } else { ends[1 - side].arrive_some(&left) };
            ends[side].left = left[some..].to_vec();
            if some > 0 && !ends[side].is_over() {
                ends[side].give_below(some);
                ends[side].flush();
            }
            moved += some;
        }
        if moved == 0 {
            return;
        }
    }
}

/// The same, and then the ends: each side is told that the other has finished.
pub(crate) fn carry_ends(ends: &mut [Alone; 2]) {
    for _ in 0..4 {
        carry(ends);
        for side in 0..2 {
            if !ends[side].asked.is_empty() && !ends[1 - side].is_over() {
                ends[1 - side].finish_below();
            }
        }
    }
}
