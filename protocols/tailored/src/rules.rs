//! What a packet says of the rules by which messages go.

use stackwright_contract::{PhaseRule, RuleRefusal};
use stackwright_transport::words::{Dropped, RuleAct, RuleProposal, View, unwrap};

use crate::header::{RuleActCode, RuleHeader};

/// Returns the number that dates a question: of those that this side sends, or of the peer's.
fn number(view: &View, act: RuleActCode, low: u32) -> u64 {
    use RuleActCode::{Accept, Decline, Grant, Propose, Refuse, Wish};
    match act {
        Propose | Grant | Decline => unwrap(low, 32, view.received_upto),
        Wish | Accept | Refuse => unwrap(low, 32, view.sent_upto),
    }
}

/// Returns what a packet says.
///
/// # Errors
/// If it says what no rule is.
pub(crate) fn read(view: &View, header: &RuleHeader) -> Result<RuleProposal, Dropped> {
    let RuleHeader { act, ordered, fenced, abandons, phase, nth, detail, number: low } = *header;
    let why = RuleRefusal::of(detail);
    let said = match act {
        RuleActCode::Wish => RuleAct::Wish,
        RuleActCode::Grant => RuleAct::Grant,
        RuleActCode::Decline => RuleAct::Decline(why),
        RuleActCode::Propose => RuleAct::Propose,
        RuleActCode::Accept => RuleAct::Accept,
        RuleActCode::Refuse => RuleAct::Refuse(why),
    };
    let is_refusal = matches!(act, RuleActCode::Decline | RuleActCode::Refuse);
    // The rule of the first phase is never another one.
    let is_first = phase == 0 && act == RuleActCode::Propose;
    if is_first || detail != 0 && !abandons && !is_refusal {
        return Err(Dropped::Malformed);
    }
    let resends = (abandons && !is_refusal).then_some(detail);
    let rule = PhaseRule { ordered, fenced, resends };
    Ok(RuleProposal { act: said, phase, rule, date: (number(view, act, low), nth) })
}

/// Returns what is written of a proposal.
pub(crate) fn written(proposal: &RuleProposal) -> RuleHeader {
    let PhaseRule { ordered, fenced, resends } = proposal.rule;
    let tries = resends.unwrap_or(0);
    let (act, detail) = match proposal.act {
        RuleAct::Wish => (RuleActCode::Wish, tries),
        RuleAct::Grant => (RuleActCode::Grant, tries),
        RuleAct::Decline(why) => (RuleActCode::Decline, why as u16),
        RuleAct::Propose => (RuleActCode::Propose, tries),
        RuleAct::Accept => (RuleActCode::Accept, tries),
        RuleAct::Refuse(why) => (RuleActCode::Refuse, why as u16),
    };
    RuleHeader {
        act,
        ordered,
        fenced,
        abandons: resends.is_some(),
        phase: proposal.phase,
        nth: proposal.date.1,
        detail,
        number: proposal.date.0 as u32,
    }
}
