//! Protects outgoing datagrams and opens incoming ones, in one session.

use alloc::boxed::Box;

use stackwright_contract::services::MessageKind;
use stackwright_transport::words::Dropped;
use stackwright_wire::{Header, Message, Pool};

use super::agreed::Agreed;
#[cfg(feature = "__seal")]
use super::seal::Sealer;
#[cfg(feature = "sign")]
use super::sign::Signer;
use super::{Protection, opaque};
use crate::control::items;
use crate::header::{ControlHeader, ControlKind, Signed};

/// The control item in which protected items travel. *Chosen*: 1 to 3 arrange sessions.
const PROTECTED: u8 = 4;

/// The number of consecutive datagrams that cannot be opened after which the session is given up:
/// the peer does not have the right key.
const FORGED_MOST: u32 = 16;

/// Identifies a datagram: its protection is valid for no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Datagram {
    pub(crate) kind: MessageKind,
    /// Its number (DSEQ); 0 for control, which has none.
    pub(crate) number: u32,
}

impl Datagram {
    pub(super) fn octets(self) -> [u8; 5] {
        let [a, b, c, d] = self.number.to_be_bytes();
        [u8::from(self.kind == MessageKind::Control), a, b, c, d]
    }
}

/// A protection with keys.
pub(super) trait Keyed<M>: Send {
    /// Puts what replaces a signature before a datagram, and may encrypt it, in memory of `pool`
    /// where it cannot stay in place.
    ///
    /// # Errors
    /// Returns the datagram if there is no key for it any more, or if it cannot be read.
    fn protect(&mut self, message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, M>
    where
        M: Message;

    /// Opens a datagram: the reverse of [`protect`](Keyed::protect).
    ///
    /// # Errors
    /// [`Dropped::Forged`]; [`Dropped::Duplicate`] if it arrived before.
    fn open(&mut self, message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, Dropped>
    where
        M: Message;
}

/// The protection of the datagrams of one session.
pub(crate) struct Guard<M> {
    /// `None` where datagrams are not protected: such a session needs no memory for secrets.
    protection: Option<Box<Protection>>,
    /// `None` before both sides' salts are known.
    keyed: Option<Box<dyn Keyed<M>>>,
    /// How many consecutive datagrams could not be opened.
    forged: u32,
}

impl<M> Guard<M> {
    pub(crate) fn new(protection: Protection) -> Self {
        let protects = protection != Protection::Absent;
        Guard { protection: protects.then(|| Box::new(protection)), keyed: None, forged: 0 }
    }

    /// See [`Protection::signature`].
    fn signature(&self) -> Option<usize> {
        self.protection.as_ref().map_or(Some(0), |protection| protection.signature())
    }

    /// Returns how many octets longer a datagram becomes.
    pub(crate) fn adds(&self, kind: MessageKind) -> usize {
        match (self.signature(), kind) {
            (None, _) | (Some(0), MessageKind::Control) => 0,
            (Some(octets), MessageKind::Data) => Signed::LENGTH + octets,
            (Some(octets), MessageKind::Control) => ControlHeader::LENGTH + octets,
        }
    }

    /// Whether datagrams are not protected: data are then read in place.
    #[inline]
    pub(crate) fn is_absent(&self) -> bool {
        self.protection.is_none()
    }

    pub(crate) fn gives_up(&self) -> bool {
        self.forged >= FORGED_MOST
    }
}

impl<M: Message> Guard<M> {
    /// Begins the session, for which both sides agreed on `agreed`.
    pub(crate) fn begin(&mut self, agreed: &[u8]) {
        if let (Some(protection), Some(agreed)) = (&self.protection, Agreed::read(agreed)) {
            self.keyed = keyed(protection, agreed);
        }
    }

    /// Returns a datagram as it leaves.
    ///
    /// # Errors
    /// Returns the datagram unchanged if it cannot be protected: the session has not begun, or
    /// there is no key for it any more; or it should bear the application's signature and is
    /// shorter than its header says.
    pub(crate) fn protect(
        &mut self,
        mut message: M,
        datagram: Datagram,
        pool: &Pool<M>,
    ) -> Result<M, M> {
        let control = datagram.kind == MessageKind::Control;
        let signature = match self.signature() {
            None if control || opaque::is_whole(&mut message) => return Ok(message),
            None => return Err(message),
            Some(0) if control => return Ok(message),
            Some(octets) => octets,
        };
        if signature > 0 {
            let Some(keyed) = &mut self.keyed else { return Err(message) };
            message = keyed.protect(message, datagram, pool)?;
        }
        if control {
            let size = (ControlHeader::LENGTH + message.len()) as u16; // it fits into a packet
            message.push(&ControlHeader { size, kind: ControlKind::Request, id: PROTECTED });
        } else {
            message.push(&Signed { signature: signature as u32 });
        }
        Ok(message)
    }

    /// Returns what arrived as the application gets it.
    ///
    /// # Errors
    /// The reason why it is dropped.
    pub(crate) fn open(
        &mut self,
        message: M,
        datagram: Datagram,
        pool: &Pool<M>,
    ) -> Result<M, Dropped> {
        let opened = self.opened(message, datagram, pool);
        match opened {
            Ok(_) => self.forged = 0,
            Err(Dropped::Forged) => self.forged = self.forged.saturating_add(1),
            Err(_) => {}
        }
        opened
    }

    /// Opens unprotected data in place: one message, or several of equal length, which are left
    /// unchanged if one of them claims a protection.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub(crate) fn open_bare(&mut self, message: &mut M, messages: usize) -> Result<(), Dropped> {
        if messages > 1 {
            if !message.strip_each(message.len() / messages, &Signed::NOTHING) {
                return Err(Dropped::Unjoinable);
            }
        } else if message.pull::<Signed>().map_err(|_| Dropped::Unjoinable)?.signature != 0 {
            self.forged += 1;
            return Err(Dropped::Forged);
        }
        self.forged = 0;
        Ok(())
    }

    fn opened(&mut self, mut message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, Dropped> {
        let control = datagram.kind == MessageKind::Control;
        let signature = match self.signature() {
            None if control || opaque::is_whole(&mut message) => return Ok(message),
            None => return Err(Dropped::Unjoinable),
            Some(0) if control => return Ok(message),
            Some(octets) => octets,
        };
        let protected = if control {
            // The protected item is the last: what follows it would not be protected.
            let octets = message.len();
            let item = message.pull::<ControlHeader>().map_err(|_| Dropped::Forged)?;
            item.id == PROTECTED && usize::from(item.size) == octets
        } else {
            message.pull::<Signed>().map_err(|_| Dropped::Unjoinable)?.signature as usize
                == signature
        };
        if !protected {
            return Err(Dropped::Forged);
        }
        if signature == 0 {
            return Ok(message);
        }
        let keyed = self.keyed.as_mut().ok_or(Dropped::NotOurs)?;
        let mut message = keyed.open(message, datagram, pool)?;
        if control {
            let octets = message.len();
            let inside = message.front(octets).filter(|octets| !octets.is_empty());
            let inside = inside.ok_or(Dropped::Malformed)?;
            items(inside).try_for_each(|item| item.map(|_| ()))?;
        }
        Ok(message)
    }
}

fn keyed<M: Message>(protection: &Protection, agreed: Agreed) -> Option<Box<dyn Keyed<M>>> {
    match protection {
        Protection::Absent | Protection::Opaque => None,
        #[cfg(feature = "sign")]
        Protection::Signed(signing) => Some(Box::new(Signer::new(signing, agreed))),
        #[cfg(feature = "__seal")]
        Protection::Sealed(sealing) => Some(Box::new(Sealer::new(sealing, agreed))),
    }
}
