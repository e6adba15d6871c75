//! What is due at some time.

use stackwright_base::events::Expires as _;
use stackwright_contract::Context;
use stackwright_wire::Message;

use crate::state::Event;
use crate::{Dsr, Out};

impl<M: Message> Dsr<M> {
    pub(crate) fn on_timeout(&mut self, cx: &Context, out: Out<'_, M>) {
        while let Some(event) = self.timers.expire(cx.now()) {
            match event {
                Event::Search(target) => self.search_again(cx, target, out),
                Event::Asked(host) => self.not_acknowledged(cx, host, out),
                Event::Waiting => self.expire_waiting(cx, out),
                Event::Delayed => self.send_delayed(cx, out),
            }
        }
    }
}
