//! Control items: what sessions and applications exchange beside data (ARTP §1.4.1).

use alloc::vec::Vec;

use stackwright_wire::{Header, Malformed};

use crate::header::{ControlHeader, ControlKind};

/// The first identifier that belongs to applications.
pub const APPLICATION: u8 = 0x80;

/// One control item. A message of the kind `Control` consists of at least one.
///
/// ```
/// use stackwright_artp::{Item, items, header::ControlKind};
/// let mut octets = Vec::new();
/// Item { kind: ControlKind::Request, id: 0x80, value: b"how many?" }.write(&mut octets);
/// let read: Vec<_> = items(&octets).collect::<Result<_, _>>().unwrap();
/// assert_eq!(read[0].value, b"how many?");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item<'a> {
    /// Whether it is a request or a reply.
    pub kind: ControlKind,
    /// Its identifier; applications own those from [`APPLICATION`] on.
    pub id: u8,
    /// Its value: at most 65531 octets, and no more than a packet carries.
    pub value: &'a [u8],
}

impl Item<'_> {
    /// Appends the item to `octets`.
    ///
    /// # Panics
    /// If the value is longer than the size field can express.
    pub fn write(&self, octets: &mut Vec<u8>) {
        let size = u16::try_from(ControlHeader::LENGTH + self.value.len())
            .expect("an item of at most 65535 octets");
        let mut header = [0; ControlHeader::LENGTH];
        ControlHeader { size, kind: self.kind, id: self.id }.encode(&mut header);
        octets.extend_from_slice(&header);
        octets.extend_from_slice(self.value);
    }
}

/// Iterates over the items in `octets`. Each step consumes at least four octets.
pub fn items(octets: &[u8]) -> impl Iterator<Item = Result<Item<'_>, Malformed>> {
    let mut rest = octets;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let item = first(rest);
        rest = match item {
            Ok((_, after)) => after,
            Err(_) => &[],
        };
        Some(item.map(|(item, _)| item))
    })
}

fn first(octets: &[u8]) -> Result<(Item<'_>, &[u8]), Malformed> {
    let header = ControlHeader::decode(octets)?;
    let size = usize::from(header.size);
    if size < ControlHeader::LENGTH || size > octets.len() {
        return Err(Malformed::Field("size"));
    }
    let (item, rest) = octets.split_at(size);
    Ok((Item { kind: header.kind, id: header.id, value: &item[ControlHeader::LENGTH..] }, rest))
}
