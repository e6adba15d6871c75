//! From below: frames, and what the TNC says of those that were sent.

use stackwright_contract::Context;
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_wire::Message;

use crate::config::LinkVersion;
use crate::header::{Addresses, ControlField, HEAD_MOST, Modulus, Role, Unnumbered};
use crate::link::{Key, agree, information};
use crate::send::Queued;
use crate::xid::XidParameters;
use crate::{Ax25, NAME, Out};

/// The credit upward: it is given back with each frame, which is handled when it arrives.
const AT_ONCE: Credit = Credit { octets: 1 << 16, messages: 256 };

impl<M: Message> Ax25<M> {
    pub(crate) fn on_frames(
        &mut self,
        cx: &Context,
        indication: FramesIndication<M>,
        out: Out<'_, M>,
    ) {
        match indication {
            FramesIndication::Credit { port, credit } => {
                if let Some(there) = self.ports.get_mut(usize::from(port)) {
                    there.credit += credit;
                    self.due = true;
                }
            }
            FramesIndication::Delivered { port, batch } => {
                out.request(FramesRequest::Credit { credit: batch.cost() });
                self.on_frame(cx, port, batch.into_single(), out);
            }
            FramesIndication::Left { port, mark } => {
                if let Some(port) = self.ports.get_mut(usize::from(port)) {
                    port.says_left = true;
                }
                self.on_left(cx, port, mark);
            }
            FramesIndication::State { port, up } => self.on_state(cx, port, up, out),
            // How long frames are is configured, and agreed with the peer.
            FramesIndication::Changed { .. } => {}
        }
    }

    fn on_state(&mut self, cx: &Context, port: u8, up: bool, out: Out<'_, M>) {
        // Credit upward is void where no port is up, and else goes on.
        let others_are_up = (0..).zip(&self.ports).any(|(other, its)| other != port && its.is_up);
        let Some(there) = self.ports.get_mut(usize::from(port)) else { return };
        (there.is_up, there.credit) = (up, Credit::NONE);
        self.marks.retain(|(at, ..)| *at != port);
        self.replies.retain(|reply| reply.port() != port);
        if !up {
            self.links.for_each(|link| {
                if link.key.port == port {
                    link.line_down();
                }
            });
            return;
        }
        if !others_are_up {
            out.request(FramesRequest::Credit { credit: AT_ONCE });
        }
        let mut place = 0;
        while let Some(name) = self.links.at(place) {
            if self.links.get(name).is_some_and(|link| link.key.port == port) {
                self.with_link(cx, name, out, |link, env| link.line_up(env));
            }
            place += 1; // none ends by that
        }
        self.due = true;
    }

    fn on_frame(&mut self, cx: &Context, port: u8, message: M, out: Out<'_, M>) {
        self.hear_raw(port, &message, out);
        let mut octets = [0; HEAD_MOST];
        let length = message.copy_to(&mut octets);
        let (addresses, at) = match Addresses::decode(&octets[..length]) {
            Ok(decoded) => decoded,
            Err(_) => return cx.dropped(NAME, "a frame whose addresses are malformed"),
        };
        let air = self.config.air(port, message.len().saturating_sub(at));
        self.links.for_each(|link| {
            if link.key.port == port {
                link.heard(air);
            }
        });
        let Addresses { source, .. } = addresses;
        if self.config.owns(source) || self.config.others.contains(&source) {
            return cx.dropped(NAME, "a frame of this station, heard again");
        }
        if !addresses.path.is_travelled() {
            return self.digipeat(cx, port, addresses, at, message);
        }
        self.on_arrived(cx, port, addresses, at, message, out);
    }

    /// Handles a frame that needs no digipeater any more; its control field begins at `at`.
    pub(crate) fn on_arrived(
        &mut self,
        cx: &Context,
        port: u8,
        addresses: Addresses,
        at: usize,
        mut message: M,
        out: Out<'_, M>,
    ) {
        let mut octets = [0; HEAD_MOST];
        let length = message.copy_to(&mut octets);
        let (local, remote) = (addresses.destination, addresses.source);
        let key = Key { port, local, remote };
        let link = self.find(key);
        let modulus = link.and_then(|link| self.links.get(link)).map(|link| link.modulus);
        let (control, fields) =
            match ControlField::decode(&octets[at..length], modulus.unwrap_or(Modulus::Eight)) {
                Ok((control, fields)) => (control, at + fields),
                Err(_) => return cx.dropped(NAME, "a frame whose control field is malformed"),
            };
        let pid = if control.has_pid() {
            match octets[..length].get(fields) {
                Some(pid) => Some(*pid),
                None => return cx.dropped(NAME, "a frame without its protocol identifier"),
            }
        } else {
            None
        };
        message.advance(fields + usize::from(pid.is_some()));
        if let (ControlField::Unnumbered { kind: Unnumbered::Ui, poll }, Some(pid)) = (control, pid)
        {
            self.on_ui(cx, port, &addresses, pid, message.take(), out);
            if !poll || addresses.role != Role::Command {
                return;
            }
        }
        if !self.config.owns(local) {
            return; // it is for another station
        }
        let opens = matches!(
            control,
            ControlField::Unnumbered { kind: Unnumbered::Sabm | Unnumbered::Sabme, .. }
        );
        if let Some(name) = link {
            let begins_anew = opens && self.links.get(name).is_some_and(|link| link.is_confirmed());
            if !begins_anew {
                self.with_link(cx, name, out, |link, env| {
                    link.receive(control, addresses.role, message, pid, env);
                });
                return;
            }
            self.with_link(cx, name, out, |link, env| link.lost(env));
        }
        self.without_link(cx, key, &addresses, control, message, out);
    }

    /// Handles a frame for which there is no link: state 0.
    fn without_link(
        &mut self,
        cx: &Context,
        key: Key,
        addresses: &Addresses,
        control: ControlField,
        mut message: M,
        out: Out<'_, M>,
    ) {
        let path = addresses.path.reversed();
        let asks = addresses.role != Role::Response;
        let (kind, poll) = match control {
            ControlField::Unnumbered { kind, poll } => (Some(kind), poll),
            ControlField::Information { poll, .. } | ControlField::Supervisory { poll, .. } => {
                (None, poll)
            }
        };
        let mut information_back = None;
        let answer = match kind {
            Some(kind @ (Unnumbered::Sabm | Unnumbered::Sabme)) => {
                let modulus = match kind {
                    Unnumbered::Sabme => Modulus::Extended,
                    _ => Modulus::Eight,
                };
                let knows =
                    kind == Unnumbered::Sabm || self.known(key.remote).0 != LinkVersion::V20;
                if knows && self.arrive(cx, key, path, (modulus, poll), out) {
                    return;
                }
                Unnumbered::Dm
            }
            // Of UI frames, only those that ask come here.
            Some(Unnumbered::Disc | Unnumbered::Ui) => Unnumbered::Dm,
            Some(Unnumbered::Xid) if asks => {
                let length = message.len();
                let octets = message.front(length);
                let theirs = octets.and_then(|octets| XidParameters::decode(octets).ok());
                let Some(theirs) = theirs else {
                    return cx.dropped(NAME, "XID that is malformed");
                };
                information_back = Some(information(&agree(&self.config, &theirs)));
                Unnumbered::Xid
            }
            Some(Unnumbered::Test) if asks => {
                information_back = Some(message);
                Unnumbered::Test
            }
            // Only what asks for an answer gets one.
            None if asks && poll => Unnumbered::Dm,
            _ => return cx.dropped(NAME, "a frame of a link that there is not"),
        };
        self.reply(
            cx,
            Queued {
                port: key.port,
                addresses: Addresses {
                    destination: key.remote,
                    source: key.local,
                    role: Role::Response,
                    path,
                },
                control: ControlField::unnumbered(answer, poll),
                pid: None,
                information: information_back,
                timed: None,
            },
        );
    }
}
