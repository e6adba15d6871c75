//! A planted bug, to be found: a layer that forgets the last octet of whatever is sent again.

use std::collections::BTreeSet;

use stackwright::stop_and_wait::StopAndWaitHeader;
use stackwright::wire::{Header, Message};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Outlet, Protocol};

use super::M;

/// Stands below stop-and-wait, and says that it passes on what it gets.
#[derive(Default)]
pub(crate) struct Forgetful {
    sent: BTreeSet<(Handle, u16)>,
}

impl Protocol for Forgetful {
    const FACTS: Facts = Facts {
        passes: Guarantees::CHECKED.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        ..Facts::named("forgetful")
    };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        mut request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsRequest::Send { association, batch: messages, .. } = &mut request
            && let message = messages.single_mut()
            && let Some(octets) = message.front(StopAndWaitHeader::LENGTH)
            && let Ok(StopAndWaitHeader { acknowledgement: false, number, .. }) =
                StopAndWaitHeader::decode(octets)
            && !self.sent.insert((*association, number))
        {
            message.truncate(message.len() - 1);
        }
        out.request(request);
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(indication);
    }
}
