//! One association: its role, what is held, what waits.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use stackwright_contract::services::{Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Command, CommandError, Handle, Instant, Outlet, RuleRefusal};
use stackwright_wire::{Header, Message};

use crate::layer::RoleLayer;
use crate::part::{RoleEvent, RoleOutlet, RolePart};
use crate::words::RoleIndication;

/// What a role hears.
pub(crate) type EventOf<M, P> = RoleEvent<<P as RolePart<M>>::Adu, <P as RolePart<M>>::Input>;

/// What came and is not heard yet, with the credit that it holds.
type Held<M, P> = (EventOf<M, P>, Credit);

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Its opening was asked for.
    Opening,
    Open,
    /// It ends when what waits has been sent.
    Closing,
    /// Its end was asked for.
    Ending,
}

/// In which phase the layer below is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Entered {
    phase: u8,
    /// Whether it has been told the rule of a phase, where the two ends negotiate rules; and
    /// whether it has not answered yet.
    is_told: bool,
    is_asked: bool,
}

pub(crate) struct Association<M: Message, P: RolePart<M>> {
    pub(crate) part: P,
    pub(crate) stage: Stage,
    /// What may still be sent, and what could be when it opened.
    pub(crate) credit: Credit,
    first_credit: Credit,
    /// ADUs for which there is no credit yet, or no rule, with their phases.
    pub(crate) waiting: VecDeque<(u8, M)>,
    /// The phase of what is sent next.
    phase: u8,
    entered: Entered,
    /// Oldest first.
    pub(crate) held: VecDeque<Held<M, P>>,
    /// When each wait is over.
    pub(crate) deadlines: Vec<Option<Instant>>,
}

impl<M: Message, P: RolePart<M>> Association<M, P> {
    pub(crate) fn new(part: P) -> Self {
        Association {
            part,
            stage: Stage::Opening,
            credit: Credit::default(),
            first_credit: Credit::default(),
            waiting: VecDeque::new(),
            phase: 0,
            entered: Entered::default(),
            held: VecDeque::new(),
            deadlines: vec![None; P::WAITS],
        }
    }

    pub(crate) fn opened(&mut self, credit: Credit) {
        (self.stage, self.credit, self.first_credit) = (Stage::Open, credit, credit);
    }

    /// Lets the role react to one word, and to what follows from it: there is still room, all has
    /// arrived, what was held is heard now. Returns the credit of the ADUs that were heard.
    pub(crate) fn react<N>(
        &mut self,
        name: Handle,
        now: Instant,
        event: &EventOf<M, P>,
        out: &mut dyn Outlet<RoleLayer<M, P, N>>,
    ) -> Credit
    where
        N: FnMut() -> P,
    {
        let mut heard = Credit::default();
        let mut sent = self.step(name, now, event, out);
        loop {
            // Room is told where something was sent and more may be: a role that only waits for
            // room does not turn for ever.
            let next = if !self.hears_more() {
                break;
            } else if sent && self.has_room() && self.part.hears(&RoleEvent::Room) {
                RoleEvent::Room
            } else if sent && self.is_drained() && self.part.hears(&RoleEvent::Drained) {
                RoleEvent::Drained
            } else if let Some((word, credit)) = self.heard_now() {
                heard.octets += credit.octets;
                heard.messages += credit.messages;
                word
            } else {
                break;
            };
            sent = self.step(name, now, &next, out);
        }
        heard
    }

    /// Whether it may hear more: it is open, and what it sent has left.
    pub(crate) fn hears_more(&self) -> bool {
        self.stage == Stage::Open && self.waiting.is_empty() && !self.part.is_over()
    }

    fn has_room(&self) -> bool {
        self.credit.messages > 0 && self.credit.octets > 0
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.waiting.is_empty()
            && self.credit.messages >= self.first_credit.messages
            && self.credit.octets >= self.first_credit.octets
    }

    /// The oldest held word that is heard now.
    pub(crate) fn heard_now(&mut self) -> Option<Held<M, P>> {
        let place = self.held.iter().position(|(word, _)| self.part.hears(word))?;
        self.held.remove(place)
    }

    /// Begins what waits for silence anew: an ADU came, whether the role hears it now or later.
    pub(crate) fn is_not_idle(&mut self, now: Instant) {
        for (timer, deadline) in self.deadlines.iter_mut().enumerate() {
            let wait = P::wait(timer);
            if wait.idle && deadline.is_some() {
                *deadline = Some(now + wait.time);
            }
        }
    }

    /// Returns whether something was sent.
    fn step<N>(
        &mut self,
        name: Handle,
        now: Instant,
        event: &EventOf<M, P>,
        out: &mut dyn Outlet<RoleLayer<M, P, N>>,
    ) -> bool
    where
        N: FnMut() -> P,
    {
        let mut turn = Turn {
            name,
            now,
            sends: matches!(self.stage, Stage::Open | Stage::Closing),
            sent: false,
            credit: &mut self.credit,
            waiting: &mut self.waiting,
            phase: &mut self.phase,
            entered: &mut self.entered,
            deadlines: &mut self.deadlines,
            out,
        };
        self.part.step(event, &mut turn);
        turn.sent
    }

    /// Sends what waits, as far as there is credit.
    pub(crate) fn send_waiting<N>(&mut self, name: Handle, out: &mut dyn Outlet<RoleLayer<M, P, N>>)
    where
        N: FnMut() -> P,
    {
        while let Some((phase, message)) = self.waiting.pop_front() {
            if !takes(self.credit, message.len()) || !self.entered.allows::<M, P>(phase) {
                return self.waiting.push_front((phase, message));
            }
            self.entered.enter(name, phase, out);
            out.request(sending(name, message, &mut self.credit));
        }
    }
}

impl Entered {
    fn is_in<M: Message, P: RolePart<M>>(&self, phase: u8) -> bool {
        let rule = |phase: u8| P::RULES.get(usize::from(phase));
        match rule(phase) {
            Some(asked) => self.is_told && rule(self.phase) == Some(asked),
            None => self.phase == phase,
        }
    }

    /// Returns whether something may be sent in this phase: not before the rule of another one is
    /// negotiated, since there is one proposal at a time.
    fn allows<M: Message, P: RolePart<M>>(&self, phase: u8) -> bool {
        !self.is_asked || self.is_in::<M, P>(phase)
    }

    /// Has the layer below enter the phase of what is sent next, unless it is in it.
    fn enter<M: Message, P: RolePart<M>, N: FnMut() -> P>(
        &mut self,
        association: Handle,
        phase: u8,
        out: &mut dyn Outlet<RoleLayer<M, P, N>>,
    ) {
        if !self.is_in::<M, P>(phase) {
            let rule = P::RULES.get(usize::from(phase));
            *self = Entered { phase, is_told: rule.is_some(), is_asked: rule.is_some() };
            let command = rule.map_or(Command::Phase(phase), |rule| Command::Require(*rule));
            out.request(DatagramsRequest::Control { association, command });
        }
    }
}

impl<M: Message, P: RolePart<M>> Association<M, P> {
    /// Records what the layer below answers that was to enter a phase. Returns whether what is sent
    /// goes by rules that promise what those of the phase do.
    pub(crate) fn on_entered(&mut self, outcome: Result<u32, CommandError>) -> bool {
        use RuleRefusal::{InUse, Other, Silent};
        self.entered.is_asked = false;
        match outcome {
            Ok(_) => true,
            // The rule of the beginning counts, which promises all that the phases do together.
            Err(CommandError::Refused(Silent | InUse | Other)) => !P::RULES.is_empty(),
            Err(_) => false,
        }
    }
}

fn takes(credit: Credit, octets: usize) -> bool {
    credit.messages > 0 && credit.octets >= octets
}

fn sending<M: Message>(name: Handle, message: M, credit: &mut Credit) -> DatagramsRequest<M> {
    credit.octets -= message.len();
    credit.messages -= 1;
    DatagramsRequest::Send {
        association: name,
        batch: message.into(),
        properties: MessageProperties::default(),
    }
}

/// What a role may use in one instant.
struct Turn<'a, M: Message, P: RolePart<M>, N: FnMut() -> P> {
    name: Handle,
    now: Instant,
    sends: bool,
    sent: bool,
    credit: &'a mut Credit,
    waiting: &'a mut VecDeque<(u8, M)>,
    phase: &'a mut u8,
    entered: &'a mut Entered,
    deadlines: &'a mut [Option<Instant>],
    out: &'a mut dyn Outlet<RoleLayer<M, P, N>>,
}

impl<M, P, N> RoleOutlet<M, P::Output> for Turn<'_, M, P, N>
where
    M: Message,
    P: RolePart<M>,
    N: FnMut() -> P,
{
    fn enter(&mut self, phase: u8) {
        *self.phase = phase;
    }

    fn send(&mut self, head: &impl Header, body: Option<&M>) {
        if !self.sends {
            return; // the association is over, and the role hears of it now
        }
        let mut message = match body {
            Some(body) => body.share(),
            None => M::with_headroom(P::HEADER_ROOM, &[]),
        };
        message.push(head);
        self.sent = true;
        let may = takes(*self.credit, message.len()) && self.entered.allows::<M, P>(*self.phase);
        if may && self.waiting.is_empty() {
            self.entered.enter(self.name, *self.phase, self.out);
            self.out.request(sending(self.name, message, self.credit));
        } else {
            self.waiting.push_back((*self.phase, message));
        }
    }

    fn emit(&mut self, output: P::Output) {
        self.out.indicate(RoleIndication::Told { association: self.name, output });
    }

    fn start(&mut self, timer: usize) {
        if let Some(deadline) = self.deadlines.get_mut(timer) {
            *deadline = Some(self.now + P::wait(timer).time);
        }
    }
}
