//! Both roles of JIS with a peer that says anything.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use stackwright::jis::generated::{client, server};
use stackwright::jis::{self, PictureView, requested};
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Handle, Outlet, Participant, PathLimits, Protocol, RequestOf,
};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};
use stackwright_wire::Message;

use crate::Input;
use crate::lower::M;

const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
/// What the peer may say before it is heard.
const GIVEN: Credit = Credit { octets: 16 << 10, messages: 16 };
/// What a role may say at once.
const TAKEN: Credit = Credit { octets: 4 << 10, messages: 4 };

/// The first octet chooses a role; each step is a message, time, or credit.
pub fn roles(octets: &[u8]) {
    let mut input = Input(octets);
    if input.octet() % 2 == 0 {
        let view = PictureView::default();
        let name = requested("picture").expect("it is short");
        let get = client::Input::Get { most: 1452, name };
        play(jis::client::<M>(view.clone()), Some(get), &mut input);
        // Whatever arrived can be looked at.
        let _ = (view.progress(), view.partial(), view.fetched());
    } else {
        let shelf = BTreeMap::from([("picture".to_owned(), PICTURE.to_vec())]);
        play(jis::server::<M, _>(Rc::new(shelf), 300), None::<server::Input<M>>, &mut input);
    }
}

/// A picture of one unit, with octets behind it.
const PICTURE: &[u8] = include_bytes!("../corpus/jpeg/grey");

/// What a role says.
#[derive(Default)]
struct Said {
    down: VecDeque<DatagramsRequest<M>>,
    ended: bool,
}

impl<P, I, O> Outlet<P> for Said
where
    P: Protocol<Provides = Speaking<I, O>, Uses = stackwright_contract::services::Datagrams<M>>,
{
    fn indicate(&mut self, told: RoleIndication<O>) {
        if let RoleIndication::Ended { .. } = told {
            assert!(!self.ended, "a last word comes once");
            self.ended = true;
        }
    }

    fn request(&mut self, asked: RequestOf<P>) {
        self.down.push_back(asked);
    }
}

fn play<P, I, O>(mut layer: P, tells: Option<I>, input: &mut Input<'_>)
where
    P: Protocol<Provides = Speaking<I, O>, Uses = stackwright_contract::services::Datagrams<M>>,
{
    let (cx, mut said) = (Context::new(1), Said::default());
    let there: Participant = SocketAddr::from(([10, 0, 0, 1], 7)).into();
    let association = ASSOCIATION;
    let open = RoleRequest::Open { association, remote: there, local: None, credit: GIVEN };
    layer.handle_request(&cx, open, &mut said);
    let path = PathLimits::UNBOUNDED;
    let opened = DatagramsIndication::Opened {
        association,
        local: there,
        remote: there,
        credit: TAKEN,
        path,
    };
    layer.handle_indication(&cx, opened, &mut said);
    if let Some(input) = tells {
        layer.handle_request(&cx, RoleRequest::Tell { association, input }, &mut said);
    }
    // What the peer may still say, what is on its way to it, and whether it is over below.
    let (mut may, mut away, mut over) = (GIVEN, Credit::default(), false);
    while !input.is_empty() && !said.ended {
        match input.octet() {
            0..200 => {
                let length = usize::from(input.number()) % 1500;
                let octets = input.take(length);
                if !over && may.messages > 0 && may.octets >= octets.len() {
                    may.messages -= 1;
                    may.octets -= octets.len();
                    let batch = M::with_headroom(0, octets).into();
                    let properties = MessageProperties::default();
                    let told = DatagramsIndication::Delivered { association, batch, properties };
                    layer.handle_indication(&cx, told, &mut said);
                }
            }
            200..230 => {
                let credit = std::mem::take(&mut away);
                if !over && credit.messages > 0 {
                    let told = DatagramsIndication::Credit { association, credit };
                    layer.handle_indication(&cx, told, &mut said);
                }
            }
            230..254 => {
                cx.set_now(cx.now() + Duration::from_millis(1 << (input.octet() % 14)));
                if layer.next_deadline().is_some_and(|deadline| deadline <= cx.now()) {
                    layer.handle_timeout(&cx, &mut said);
                }
            }
            _ => over = true,
        }
        while let Some(asked) = said.down.pop_front() {
            match asked {
                DatagramsRequest::Send { batch, .. } => {
                    let cost = batch.cost();
                    away.octets += cost.octets;
                    away.messages += cost.messages;
                    assert!(
                        away.messages <= TAKEN.messages && away.octets <= TAKEN.octets,
                        "a role sends within its credit"
                    );
                }
                DatagramsRequest::Credit { credit, .. } => {
                    may.octets += credit.octets;
                    may.messages += credit.messages;
                    assert!(
                        may.messages <= GIVEN.messages && may.octets <= GIVEN.octets,
                        "no more is given back than was heard"
                    );
                }
                DatagramsRequest::Close { .. } | DatagramsRequest::Abort { .. } => over = true,
                _ => {}
            }
        }
        if over && !said.ended {
            let told = DatagramsIndication::Ended { name: association, why: Ended::Finished };
            layer.handle_indication(&cx, told, &mut said);
            said.down.clear();
            assert!(layer.next_deadline().is_none(), "no timer runs for what has ended");
        }
    }
}
