//! What is generated of a role.

use stackwright_contract::{Duration, Guarantees, PhaseRule};
use stackwright_wire::{Header, Message};

/// What a role hears in an instant.
#[derive(Debug)]
pub enum RoleEvent<A, I> {
    /// The association is open.
    Begin,
    /// An ADU.
    Adu(A),
    /// A word of the application.
    Input(I),
    /// A wait is over.
    Timer(usize),
    /// More may be sent.
    Room,
    /// All that was sent has arrived.
    Drained,
    /// The association is over.
    Ended,
}

/// A wait of a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoleWait {
    /// How long.
    pub time: Duration,
    /// Whether each ADU that comes begins it anew, heard or held.
    pub idle: bool,
}

/// Takes what a role does in an instant.
pub trait RoleOutlet<M, O> {
    /// Has what is sent from now on go by the rules of a phase; an association begins in phase 0.
    fn enter(&mut self, phase: u8);
    /// Sends an ADU: its fixed part, and what is behind it.
    fn send(&mut self, head: &impl Header, body: Option<&M>);
    /// Tells the application.
    fn emit(&mut self, output: O);
    /// Begins a wait.
    fn start(&mut self, timer: usize);
}

/// One role of one association: its state, its variables, and the functions of its application.
pub trait RolePart<M: Message> {
    /// The ADUs that it receives.
    type Adu;
    /// What its application tells it.
    type Input;
    /// What it tells its application.
    type Output;

    /// Its name.
    const NAME: &'static str;
    /// What it needs of the layer below.
    const NEEDS: Guarantees;
    /// The length of the longest fixed part that it sends.
    const HEADER_ROOM: usize;
    /// How many ADUs are held that it does not hear yet; `None`: as many as there is credit for.
    const HOLD: Option<usize>;
    /// How many waits it has.
    const WAITS: usize;
    /// The rule of each phase, where the layer below negotiates it with the peer; empty where both
    /// sides know a phase by its number.
    const RULES: &'static [PhaseRule] = &[];

    /// Returns a wait, by its number.
    fn wait(timer: usize) -> RoleWait;

    /// Decodes a message that it may receive.
    ///
    /// # Errors
    /// Returns the message where it is none of its ADUs.
    fn decode(message: M) -> Result<Self::Adu, M>;

    /// Returns whether it hears this now; what it does not hear is held.
    fn hears(&self, event: &RoleEvent<Self::Adu, Self::Input>) -> bool;

    /// Reacts.
    fn step(
        &mut self,
        event: &RoleEvent<Self::Adu, Self::Input>,
        out: &mut impl RoleOutlet<M, Self::Output>,
    );

    /// Returns whether it is over.
    fn is_over(&self) -> bool;

    /// Returns whether it is over because what it computed had no place in its range.
    fn has_failed(&self) -> bool;
}
