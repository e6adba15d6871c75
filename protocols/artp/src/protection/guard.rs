//! Protects what leaves and opens what comes, in one session.

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

/// After so many datagrams in a row that cannot be opened, nobody believes that there is a peer
/// with the right key.
const FORGED_MOST: u32 = 16;

/// Which datagram it is: what protects it holds for no other.
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
pub(super) trait Keyed<M> {
    /// Puts what stands in the place of a signature before a datagram, and may encrypt it, in
    /// memory of `pool` where it has to be elsewhere.
    ///
    /// # Errors
    /// Gives it back where there is no key for it any more, or where it cannot be read.
    fn protect(&mut self, message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, M>
    where
        M: Message;

    /// The reverse.
    ///
    /// # Errors
    /// [`Dropped::Forged`]; [`Dropped::Duplicate`] where it came before.
    fn open(&mut self, message: M, datagram: Datagram, pool: &Pool<M>) -> Result<M, Dropped>
    where
        M: Message;
}

/// What protects the datagrams of one session.
pub(crate) struct Guard<M> {
    /// `None` where nothing protects them: such a session takes no room for secrets.
    protection: Option<Box<Protection>>,
    /// There is none before both sides' salts are known.
    keyed: Option<Box<dyn Keyed<M>>>,
    /// How many in a row could not be opened.
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

    /// How many octets a datagram becomes longer.
    pub(crate) fn adds(&self, kind: MessageKind) -> usize {
        match (self.signature(), kind) {
            (None, _) | (Some(0), MessageKind::Control) => 0,
            (Some(octets), MessageKind::Data) => Signed::LENGTH + octets,
            (Some(octets), MessageKind::Control) => ControlHeader::LENGTH + octets,
        }
    }

    /// Whether nothing is protected: data are looked at where they lie then.
    #[inline]
    pub(crate) fn is_absent(&self) -> bool {
        self.protection.is_none()
    }

    pub(crate) fn gives_up(&self) -> bool {
        self.forged >= FORGED_MOST
    }
}

impl<M: Message> Guard<M> {
    /// The session has begun, and this is what both sides agreed on.
    pub(crate) fn begin(&mut self, agreed: &[u8]) {
        if let (Some(protection), Some(agreed)) = (&self.protection, Agreed::read(agreed)) {
            self.keyed = keyed(protection, agreed);
        }
    }

    /// A datagram as it leaves.
    ///
    /// # Errors
    /// Gives it back where it cannot be protected: the session has not begun, or there is no key
    /// for it any more; or where it should bear the application's signature and is shorter than
    /// that says.
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

    /// What comes, as the application gets it.
    ///
    /// # Errors
    /// Why it does not.
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

    /// The same for data that nothing protects, in place: for one message, or several of equal
    /// length, which stay as they are where one says something else.
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
            // An item of its own is the last: what follows it would not be protected.
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
            items(inside).try_for_each(|item| item.map(|_| ())).map_err(|_| Dropped::Malformed)?;
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
