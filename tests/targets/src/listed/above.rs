//! The application, which does what the contract allows.

use stackwright_contract::services::{AssociationIndication, AssociationRequest, Credit, Transfer};
use stackwright_contract::{Handle, Names, Participant};
use stackwright_wire::Message as _;

use super::ASSOCIATIONS_MOST;
use crate::Input;
use crate::lower::M;

/// What it takes of each association.
const ROOM: usize = 1 << 18;

#[derive(Default)]
enum Named {
    #[default]
    Listener,
    /// It waits for its arrival, or is not open.
    Early {
        up: Credit,
    },
    Open {
        up: Credit,
        down: Credit,
        finished: bool,
        peer_finished: bool,
    },
    /// Only its last word may come.
    Closing,
}

/// The application above: its names.
pub(super) struct Above<T> {
    names: Names<Named>,
    listener: Option<Handle>,
    carries: std::marker::PhantomData<T>,
}

impl<T> Default for Above<T> {
    fn default() -> Self {
        Above { names: Names::default(), listener: None, carries: std::marker::PhantomData }
    }
}

fn address() -> Participant {
    Participant::from(([10, 0, 0, 1], 7))
}

impl<T: Transfer<Message = M>> Above<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn listen(&mut self) -> Option<AssociationRequest<T>> {
        let listener = self.names.name(Named::Listener);
        self.listener = Some(listener);
        Some(AssociationRequest::Listen { listener, local: address() })
    }

    /// Closes one of those that are not closed.
    pub(super) fn close(&mut self) -> Option<AssociationRequest<T>> {
        let mut names = self.names.iter();
        let (name, _) = names.find(|(_, named)| !matches!(named, Named::Closing))?;
        drop(names);
        *self.names.get_mut(name)? = Named::Closing;
        self.listener = self.listener.filter(|listener| *listener != name);
        Some(AssociationRequest::Close { name })
    }

    pub(super) fn act(&mut self, input: &mut Input<'_>) -> Option<AssociationRequest<T>> {
        let what = input.octet();
        let credit = Credit { octets: ROOM, messages: if T::MESSAGES { 4 } else { 0 } };
        if what < 64 && self.names.len() < ASSOCIATIONS_MOST {
            let association = self.names.name(Named::Early { up: credit });
            return Some(match self.listener.filter(|_| what.is_multiple_of(2)) {
                Some(listener) => AssociationRequest::Await { listener, association, credit },
                None => {
                    let remote = Participant::from(([10, 0, 0, 2 + what % 4], 7));
                    AssociationRequest::Open { association, remote, local: None, credit }
                }
            });
        }
        let nth = usize::from(input.octet()) % self.names.len().max(1);
        let (association, _) = self.names.iter().nth(nth)?;
        let named = self.names.get_mut(association)?;
        let Named::Open { up, down, finished, .. } = named else {
            let is_early = matches!(named, Named::Early { .. });
            if is_early && what == 255 {
                *named = Named::Closing;
                return Some(AssociationRequest::Close { name: association });
            }
            return None;
        };
        match what % 16 {
            0 => {
                *named = Named::Closing;
                Some(AssociationRequest::Close { name: association })
            }
            1 => {
                *named = Named::Closing;
                Some(AssociationRequest::Abort { association, code: what.into() })
            }
            2 if !T::MESSAGES && !*finished => {
                *finished = true;
                Some(AssociationRequest::Finish { association })
            }
            3..5 if up.octets < ROOM => {
                *up += credit;
                Some(AssociationRequest::Credit { association, credit })
            }
            _ if !*finished => {
                let length = usize::from(input.number()) % 3000;
                let batch = M::with_headroom(64, &vec![what; length.min(down.octets)]).into();
                let cost = T::cost(&batch);
                if !down.covers(cost) || !T::MESSAGES && cost.octets == 0 {
                    return None;
                }
                *down -= cost;
                let properties = T::Properties::default();
                Some(AssociationRequest::Send { association, batch, properties })
            }
            _ => None,
        }
    }

    /// What the protocol tells, as the contract says it.
    pub(super) fn hear(&mut self, told: AssociationIndication<T>) {
        let name = told.name();
        let named = self.names.get_mut(name).unwrap_or_else(|| panic!("{name:?} has ended"));
        match (told, named) {
            (AssociationIndication::Ended { .. }, _) => {
                self.names.forget(name);
                self.listener = self.listener.filter(|listener| *listener != name);
            }
            (_, Named::Closing) | (AssociationIndication::Listening { .. }, Named::Listener) => {}
            (AssociationIndication::Opened { credit, .. }, named @ Named::Early { .. }) => {
                let Named::Early { up } = *named else { return };
                let (finished, peer_finished) = (false, false);
                *named = Named::Open { up, down: credit, finished, peer_finished };
            }
            (
                AssociationIndication::Delivered { batch, .. },
                Named::Open { up, peer_finished, .. },
            ) => {
                let cost = T::cost(&batch);
                assert!(!*peer_finished && up.covers(cost), "{cost:?} of {up:?}");
                *up -= cost;
            }
            (AssociationIndication::Credit { credit, .. }, Named::Open { down, .. }) => {
                assert!(credit != Credit::NONE, "credit is never zero");
                *down += credit;
            }
            (AssociationIndication::Finished { .. }, Named::Open { peer_finished, .. }) => {
                assert!(!std::mem::replace(peer_finished, true), "it finishes once");
            }
            (
                AssociationIndication::Changed { .. }
                | AssociationIndication::Controlled { .. }
                | AssociationIndication::Reported { .. }
                | AssociationIndication::Ending { .. },
                Named::Open { .. },
            ) => {}
            (told, _) => panic!("{:?} is told of, and is not open", told.name()),
        }
    }
}
