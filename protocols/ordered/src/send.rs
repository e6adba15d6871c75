//! From above, downward: openings, listeners, ends.

use alloc::boxed::Box;
use alloc::vec::Vec;

use stackwright_contract::services::{Code, DatagramsRequest, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::state::{Above, Awaited, Below, LastWord, Out, Stage};
use crate::{NAME, Ordered};

impl<M: Message> Ordered<M> {
    pub(crate) fn open(
        &mut self,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: usize,
        out: Out<'_, M>,
    ) {
        // The layer below chooses the port that datagrams leave from: it cannot be requested.
        if local.and_then(Participant::internet).is_some_and(|local| local.port() != 0) {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unavailable });
        }
        let below = self.below.name(Below::Association { above: name });
        self.above.insert(name, Above::Association(Box::new(self.fresh(below, credit))));
        out.request(DatagramsRequest::Open {
            association: below,
            remote,
            credit: self.room_below(),
            local: None,
        });
    }

    pub(crate) fn listen(&mut self, name: Handle, local: Participant, out: Out<'_, M>) {
        let below = self.below.name(Below::Listener { above: name });
        self.above.insert(name, Above::Listener { below });
        out.request(DatagramsRequest::Listen { listener: below, local });
    }

    /// Lets the next arrival take the name `name`.
    pub(crate) fn expect(
        &mut self,
        listener: Handle,
        name: Handle,
        credit: usize,
        out: Out<'_, M>,
    ) {
        let Some(Above::Listener { below: door }) = self.above.get(listener) else {
            return out.indicate(StreamsIndication::Ended { name, why: Ended::Unlistened });
        };
        let door = *door;
        let below = self.below.name(Below::Association { above: name });
        self.above.insert(name, Above::Awaited(Awaited { listener, credit, below, arrival: None }));
        out.request(DatagramsRequest::Await {
            listener: door,
            association: below,
            credit: self.room_below(),
        });
    }

    /// Closes a name gracefully; what is not open ends at once.
    pub(crate) fn close(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        match self.above.get_mut(name) {
            Some(Above::Listener { below }) => {
                let below = *below;
                self.unlisten(cx, name, below, out);
            }
            Some(Above::Association(association)) if association.closes.is_some() => {
                cx.dropped(NAME, "close: it was asked before");
            }
            Some(Above::Association(association)) if matches!(association.stage, Stage::Open) => {
                association.outgoing.finish();
                // What arrives is discarded: nothing has to wait for credit.
                association.incoming.give(usize::MAX);
                self.set_deadline(cx, name);
                self.go_on(cx, name, out);
            }
            _ => self.abort(cx, name, Ended::Finished, 0, out),
        }
    }

    fn unlisten(&mut self, cx: &Context, name: Handle, below: Handle, out: Out<'_, M>) {
        self.above.remove(name);
        if let Some(listener) = self.below.get_mut(below) {
            *listener = Below::Closing;
        }
        let waits =
            |above: &Above<M>| matches!(above, Above::Awaited(waits) if waits.listener == name);
        let waiting: Vec<_> =
            self.above.iter().filter(|(_, above)| waits(above)).map(|(name, _)| name).collect();
        for name in waiting {
            self.end(cx, name, Ended::Unlistened, None, out);
        }
        out.request(DatagramsRequest::Close { name: below });
        out.indicate(StreamsIndication::Ended { name, why: Ended::Unlistened });
    }

    /// Ends an association, or a name that waits to be one, at once.
    pub(crate) fn abort(
        &mut self,
        cx: &Context,
        name: Handle,
        why: Ended,
        code: Code,
        out: Out<'_, M>,
    ) {
        let farewell = match self.above.get(name) {
            Some(Above::Association(association)) => match association.stage {
                Stage::Reaching | Stage::Asking { asked: false, .. } => None,
                Stage::Asking { asked: true, .. } | Stage::Open => Some(LastWord::reset(code)),
            },
            Some(Above::Awaited(_)) => None,
            Some(Above::Listener { .. }) => {
                return cx.dropped(NAME, "abort: that name is a listener's");
            }
            None => return cx.dropped(NAME, "no such association"),
        };
        self.end(cx, name, why, farewell, out);
    }
}
