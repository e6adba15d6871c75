//! XID (§6.3.2): what two stations of version 2.2 agree on after the link is open. An answer that
//! never comes changes nothing; data do not wait for it.

use stackwright_contract::{Duration, Instant};
use stackwright_wire::Message;

use super::outgoing::HEADROOM;
use super::{Act, Env, Link, LinkState, Selective};
use crate::config::Config;
use crate::header::{Modulus, Role, Unnumbered};
use crate::xid::{BALANCED_HALF_DUPLEX, Functions, XID_MOST, XidParameters};

/// How often XID is sent.
const TRIES: u8 = 3;
/// TM201, beside a T1: other frames may be before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of a negotiation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Negotiation {
    tries: u8,
    /// TM201: when XID is sent again.
    pub(super) until: Option<Instant>,
}

/// Returns what this station can.
pub(crate) fn offer(config: &Config) -> XidParameters {
    let functions = Functions::REJECT
        .and(Functions::SELECTIVE_REJECT)
        .and(Functions::MULTIPLE_SELECTIVE_REJECT)
        .and(Functions::EXTENDED_ADDRESS)
        .and(Functions::MODULO_128)
        .and(Functions::TEST)
        .and(Functions::CHECK_16)
        .and(Functions::SYNCHRONOUS);
    let timeout = u16::try_from(config.timeout.as_millis()).unwrap_or(u16::MAX);
    XidParameters {
        classes: Some(BALANCED_HALF_DUPLEX),
        functions: Some(functions),
        longest: Some(config.longest as u32),
        window: Some(config.window_extended),
        timeout: Some(timeout),
        tries: Some(config.tries),
    }
}

/// Returns what both can: the answer to what a peer offers.
pub(crate) fn agree(config: &Config, theirs: &XidParameters) -> XidParameters {
    let own = offer(config);
    let lesser = |own: Option<u32>, theirs: Option<u32>| own.min(theirs.or(own));
    let window = lesser(own.window.map(u32::from), theirs.window.map(u32::from));
    XidParameters {
        functions: own.functions.map(|own| own.shared(theirs.functions.unwrap_or(own))),
        longest: lesser(own.longest, theirs.longest),
        window: window.map(|window| window as u8),
        timeout: own.timeout.max(theirs.timeout),
        tries: own.tries.max(theirs.tries),
        ..own
    }
}

/// Returns the information of an XID frame.
pub(crate) fn information<M: Message>(parameters: &XidParameters) -> M {
    let mut octets = [0; XID_MOST];
    let length = parameters.encode(&mut octets);
    M::with_headroom(HEADROOM, &octets[..length])
}

impl<M: Message> Link<M> {
    /// Begins to negotiate.
    pub(super) fn negotiate(&mut self, env: &mut Env<'_, M>) {
        self.negotiation = Negotiation::default();
        self.negotiate_again(env);
    }

    pub(super) fn negotiate_again(&mut self, env: &mut Env<'_, M>) {
        self.negotiation.until = None;
        let open = matches!(self.state, LinkState::Connected | LinkState::TimerRecovery);
        if !open || self.negotiation.tries >= TRIES {
            return;
        }
        self.negotiation.tries += 1;
        self.negotiation.until = Some(env.now() + PATIENCE + self.clock.smoothed * 2);
        let information = Some(information(&offer(env.config)));
        let (kind, role) = (Unnumbered::Xid, Role::Command);
        env.acts.push_back(Act::Say { kind, role, poll: true, information, timed: false });
    }

    /// Handles XID of the peer.
    pub(super) fn xid(
        &mut self,
        role: Role,
        poll: bool,
        theirs: Option<XidParameters>,
        env: &mut Env<'_, M>,
    ) {
        let Some(theirs) = theirs else {
            return env.cx.dropped(crate::NAME, "XID that is malformed");
        };
        let agreed = agree(env.config, &theirs);
        if role == Role::Response {
            if self.negotiation.until.take().is_none() {
                return env.cx.dropped(crate::NAME, "XID that answers nothing");
            }
        } else {
            let information = Some(information(&agreed));
            let (kind, role) = (Unnumbered::Xid, Role::Response);
            env.acts.push_back(Act::Say { kind, role, poll, information, timed: false });
        }
        if self.modulus == Modulus::Extended {
            self.apply(&agreed, env.config);
        }
    }

    /// Both questions and answers may cross: what was said last holds.
    fn apply(&mut self, agreed: &XidParameters, config: &Config) {
        let functions = agreed.functions.unwrap_or_default();
        self.selective = if functions.has(Functions::MULTIPLE_SELECTIVE_REJECT) {
            Selective::Multiple
        } else if functions.has(Functions::SELECTIVE_REJECT) {
            Selective::Single
        } else {
            Selective::Absent
        };
        // Half of all numbers at most, so that what is sent again is told from what is new.
        let window = agreed.window.unwrap_or(config.window_extended);
        self.outgoing.window = window.clamp(1, config.window_extended);
        let longest = agreed.longest.unwrap_or(config.longest as u32);
        let most = config.longest.min(config.paclen.into());
        self.outgoing.length.most = longest.clamp(1, most as u32) as u16;
    }
}
