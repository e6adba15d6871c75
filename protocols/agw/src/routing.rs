//! Routes that a program names and the configuration does not: AX.25 is asked for their number, by
//! commands on the listener of the program's call sign.

use stackwright_contract::services::StreamsRequest;
use stackwright_contract::{CallSign, Command, CommandError, Context, Handle};
use stackwright_wire::Message;

use crate::header::{AgwHeader, call};
use crate::{Agw, NAME, Out};

/// The commands of AX.25: a digipeater, and the end of the path, on the port of another route.
const HOP: &str = "route hop";
const END: &str = "route end";

/// Routes that may be asked for at a time.
const ROUTINGS_MOST: usize = 16;

/// A call that waits for the number of its route.
pub(crate) struct Routing {
    /// On which the commands are.
    pub(crate) listener: Handle,
    pub(crate) program: Handle,
    header: AgwHeader,
    /// Answers that are missing, and whether one of those that came was no.
    missing: usize,
    is_refused: bool,
}

impl<M: Message> Agw<M> {
    /// Asks for the number of a route.
    pub(crate) fn ask_route(
        &mut self,
        program: Handle,
        header: &AgwHeader,
        path: &[CallSign],
        out: Out<'_, M>,
    ) -> Result<(), &'static str> {
        let own = call(&header.from).and_then(|own| self.registration(own));
        let own = own.filter(|own| own.program == program);
        let listener = own.and_then(|own| own.listener);
        let association = listener.ok_or("its program has not registered the call sign")?;
        let port = self.config.route(header.port, &[]).ok_or("the station has no such port")?;
        if self.routings.len() >= ROUTINGS_MOST {
            return Err("too many routes are asked for");
        }
        self.routings.push_back(Routing {
            listener: association,
            program,
            header: *header,
            missing: path.len() + 1,
            is_refused: false,
        });
        let hops = path.iter().map(|call| {
            let [a, b, c, d, e, f, g] = call.octets();
            (HOP, u64::from_be_bytes([0, a, b, c, d, e, f, g]))
        });
        for (name, argument) in hops.chain([(END, port.into())]) {
            let command = Command::Own { name, argument };
            Self::ask_links(out, StreamsRequest::Control { association, command });
        }
        Ok(())
    }

    /// AX.25 has answered a command.
    pub(crate) fn on_controlled(
        &mut self,
        cx: &Context,
        listener: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        let place = self.routings.iter().position(|routing| routing.listener == listener);
        let Some(routing) = place.and_then(|place| self.routings.get_mut(place)) else { return };
        routing.missing -= 1;
        routing.is_refused |= outcome.is_err();
        if routing.missing > 0 {
            return;
        }
        let routing = place.and_then(|place| self.routings.remove(place));
        let Some(Routing { program, header, is_refused, .. }) = routing else { return };
        let number = outcome.ok().filter(|_| !is_refused);
        match number.and_then(|number| u16::try_from(number).ok()) {
            None => self.refuse(cx, program, &header, "the station has no such route", out),
            Some(route) => {
                if let Err(why) = self.open_link(program, &header, route, out) {
                    self.refuse(cx, program, &header, why, out);
                }
            }
        }
    }

    /// A listener has ended: its commands are not answered.
    pub(crate) fn drop_routings(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        while let Some(place) = self.routings.iter().position(|asked| asked.listener == listener)
            && let Some(Routing { program, header, .. }) = self.routings.remove(place)
        {
            self.refuse(cx, program, &header, "its call sign is free again", out);
        }
    }

    /// Tells that a call is not made.
    pub(crate) fn refuse(
        &mut self,
        cx: &Context,
        program: Handle,
        header: &AgwHeader,
        why: &'static str,
        out: Out<'_, M>,
    ) {
        cx.event(NAME, format_args!("a call is not made: {why}"));
        self.tell_unconnected(program, header, out);
    }
}
