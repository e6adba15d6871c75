//! From below: arrivals, ADUs, credit, ends.

use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::Message;

use crate::association::Stage;
use crate::layer::RoleLayer;
use crate::part::{RoleEvent, RolePart};
use crate::words::RoleIndication;

impl<M: Message, P: RolePart<M>, N: FnMut() -> P> RoleLayer<M, P, N> {
    pub(crate) fn hear(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut dyn Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Listening { listener, local } => {
                out.indicate(RoleIndication::Listening { listener, local });
            }
            DatagramsIndication::Opened { association, local, remote, credit, path } => {
                let Some(opening) = self.associations.get_mut(association) else { return };
                if opening.stage != Stage::Opening {
                    return; // it was closed meanwhile, and its end follows
                }
                opening.opened(credit);
                let opened = RoleIndication::Opened { association, local, remote, credit, path };
                out.indicate(opened);
                self.react(cx, association, &RoleEvent::Begin, out);
            }
            DatagramsIndication::Changed { association, path } => {
                out.indicate(RoleIndication::Changed { association, path });
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                self.delivered(cx, association, batch.into_single(), out);
            }
            DatagramsIndication::Credit { association, credit } => {
                self.more_room(cx, association, credit, out);
            }
            DatagramsIndication::Controlled { association, outcome } => {
                let Some(one) = self.associations.get_mut(association) else { return };
                if one.on_entered(outcome) {
                    if !one.waiting.is_empty() {
                        self.more_room(cx, association, Credit::default(), out);
                    }
                } else if matches!(one.stage, Stage::Open | Stage::Closing) {
                    // What it sent would go by the rules of another phase.
                    cx.event(P::NAME, format_args!("the layer below has no such phase"));
                    self.abort(association, out);
                }
            }
            // No role is told of a half close.
            DatagramsIndication::Finished { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name, why } => self.ended(cx, name, why, out),
        }
    }

    fn delivered(&mut self, cx: &Context, name: Handle, message: M, out: &mut dyn Outlet<Self>) {
        let credit = Credit { octets: message.len(), messages: 1 };
        let Some(association) = self.associations.get_mut(name) else { return };
        if association.stage != Stage::Open {
            return; // what arrives during an end is discarded
        }
        let event = match P::decode(message) {
            Ok(adu) => RoleEvent::Adu(adu),
            Err(_) => {
                cx.dropped(P::NAME, "a message that is none of its ADUs");
                return out.request(DatagramsRequest::Credit { association: name, credit });
            }
        };
        association.is_not_idle(cx.now());
        if association.hears_more() && association.part.hears(&event) {
            self.react(cx, name, &event, out);
            self.give_back(name, credit, out);
        } else if P::HOLD.is_none_or(|most| association.held.len() < most) {
            association.held.push_back((event, credit));
        } else {
            cx.dropped(P::NAME, "an ADU that is not awaited, and there is no room to hold it");
            out.request(DatagramsRequest::Credit { association: name, credit });
        }
    }

    fn give_back(&mut self, name: Handle, credit: Credit, out: &mut dyn Outlet<Self>) {
        let open = self.associations.get(name).is_some_and(|one| one.stage == Stage::Open);
        if open && credit.octets > 0 {
            out.request(DatagramsRequest::Credit { association: name, credit });
        }
    }

    /// Tells a role what its application says; before the association is open it is held.
    pub(crate) fn tell(
        &mut self,
        cx: &Context,
        name: Handle,
        event: RoleEvent<P::Adu, P::Input>,
        out: &mut dyn Outlet<Self>,
    ) {
        let Some(association) = self.associations.get_mut(name) else {
            return cx.dropped(P::NAME, "a word for a name that has ended");
        };
        match association.stage {
            Stage::Open if association.hears_more() && association.part.hears(&event) => {
                self.react(cx, name, &event, out);
            }
            Stage::Opening | Stage::Open => association.held.push_back((event, Credit::default())),
            Stage::Closing | Stage::Ending => {}
        }
    }

    fn more_room(
        &mut self,
        cx: &Context,
        name: Handle,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        let Some(association) = self.associations.get_mut(name) else { return };
        association.credit.octets += credit.octets;
        association.credit.messages += credit.messages;
        let waited = !association.waiting.is_empty();
        association.send_waiting(name, out);
        if !association.hears_more() {
            return self.go_on(name, out);
        }
        let drained = association.is_drained();
        if drained && association.part.hears(&RoleEvent::Drained) {
            self.react(cx, name, &RoleEvent::Drained, out);
        } else if association.part.hears(&RoleEvent::Room) {
            self.react(cx, name, &RoleEvent::Room, out);
        } else if waited {
            self.offer_held(cx, name, out);
        }
    }

    /// Offers what was held while output waited.
    fn offer_held(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let Some((word, credit)) = association.heard_now() else { return };
        self.react(cx, name, &word, out);
        self.give_back(name, credit, out);
    }

    fn ended(&mut self, cx: &Context, name: Handle, why: Ended, out: &mut dyn Outlet<Self>) {
        if let Some(association) = self.associations.get_mut(name) {
            let is_told =
                association.stage == Stage::Open && association.part.hears(&RoleEvent::Ended);
            association.stage = Stage::Ending;
            if is_told {
                self.react(cx, name, &RoleEvent::Ended, out);
            }
            self.associations.remove(name);
        }
        out.indicate(RoleIndication::Ended { name, why });
    }
}
