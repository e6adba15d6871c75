//! A datagram as it is fragmented: MSG = {SIGSZ, SIGDATA, ENCDATA} (ARTP §1.4.1).

use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, Quality};
use stackwright_policies::framing::Fragments;
use stackwright_transport::component;
use stackwright_transport::slots::{Framing, Joined};
use stackwright_transport::words::{Dropped, Label, Unit, View};
use stackwright_wire::{Message, Pool};

use crate::config::Config;
use crate::header::Signed;

/// Datagrams in fragments, with what the document puts before each: the length of a signature. It stands once, at the start of
/// the first fragment, because the whole is fragmented.
pub struct Messages<M> {
    fragments: Fragments<M>,
}

impl<M> Messages<M> {
    /// As `config` says.
    pub fn new(config: &Config) -> Self {
        let count_most = if config.large { u32::MAX } else { u32::from(u16::MAX) };
        let window = config.expires.then_some(u64::from(config.window));
        Messages { fragments: Fragments::new(count_most, config.longest).forgetting(window) }
    }
}

/// Takes off what says that data bear no signature.
#[inline]
fn unsigned<M: Message>(kind: MessageKind, message: &mut M) -> Result<(), Dropped> {
    if kind == MessageKind::Data {
        let signed = message.pull::<Signed>().map_err(|_| Dropped::Unjoinable)?;
        if signed.signature != 0 {
            return Err(Dropped::Forged);
        }
    }
    Ok(())
}

impl<M: Message> Framing<M> for Messages<M> {
    #[inline]
    fn begin(&mut self, mut message: M, quality: &Quality, room: usize) -> Result<(M, Label, usize), M> {
        if quality.kind == MessageKind::Data {
            message.push(&Signed { signature: 0 });
        }
        self.fragments.begin(message, quality, room)
    }

    #[inline]
    fn join(&mut self, view: &View, mut unit: Unit<M>, pool: &Pool<M>) -> Result<Option<Joined<M>>, Dropped> {
        // Whole already: what is looked at first need not be moved once more afterwards.
        if unit.label.count <= 1 {
            unsigned(unit.label.kind, &mut unit.body)?;
            return self.fragments.join(view, unit, pool);
        }
        let mut joined = self.fragments.join(view, unit, pool)?;
        if let Some(joined) = &mut joined {
            unsigned(joined.quality.kind, &mut joined.message)?;
        }
        Ok(joined)
    }

    fn forget(&mut self, view: &View) -> u64 {
        self.fragments.forget(view)
    }

    fn deadline(&self) -> Instant {
        Framing::<M>::deadline(&self.fragments)
    }
}

component! {
    <M> Messages<M>: "framing of signed messages in fragments", "cuts messages and joins them in any order",
    needs: Property::FRAGMENTS, gives: Property::BOUNDS,
}
