//! A server of one picture.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::{env, fs, io};

use stackwright::contract::services::{Credit, Ended};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::drivers::{Driver, Lanes};
use stackwright_jis::generated::server::{Input, Output};
use stackwright_jis::{NoPicture, Shelf, SplitCache, SplitPicture};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};

use super::{Picture, Wrong};

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const CREDIT: Credit = Credit { octets: 16 << 10, messages: 16 };
/// Clients at a time.
const CLIENTS: u32 = 16;
/// Octets of split pictures that are kept.
const KEPT: usize = 64 << 20;

/// One picture, whatever name is asked for. It is split once for each length of bodies.
pub struct One {
    file: Vec<u8>,
    split: RefCell<SplitCache<()>>,
}

impl Shelf for One {
    fn file(&self, _: &str) -> Option<Vec<u8>> {
        Some(self.file.clone())
    }

    fn split(&self, _: &str, most: usize) -> Result<Rc<SplitPicture>, NoPicture> {
        if let Some(picture) = self.split.borrow_mut().find("", most, &()) {
            return Ok(picture);
        }
        let picture = Rc::new(SplitPicture::of(Some(self.file.clone()), most)?);
        self.split.borrow_mut().keep("", most, (), picture.clone());
        Ok(picture)
    }
}

#[derive(Default)]
struct Told {
    refused: Option<Ended>,
    /// Names that await the next client.
    free: Vec<Handle>,
}

impl<S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>>> Outlet<S> for Told {
    fn indicate(&mut self, indication: RoleIndication<Output<Picture>>) {
        match indication {
            RoleIndication::Listening { local, .. } => {
                local.internet().into_iter().for_each(|local| println!("{local}"));
            }
            RoleIndication::Ended { name: LISTENER, why } => self.refused = Some(why),
            RoleIndication::Ended { name, .. } => self.free.push(name),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<S>) {
        let _ = request; // nothing is asked of the system but by its adapter
    }
}

/// Serves a file at an address, as the command line says, and prints the address.
///
/// # Errors
/// If the address cannot be had.
pub fn serve<S>(make: impl FnOnce(&Driver, Rc<One>) -> io::Result<S>) -> Result<(), Wrong>
where
    S: Protocol<Provides = Speaking<Input<Picture>, Output<Picture>>, Uses: Lanes>,
{
    let mut arguments = env::args().skip(1);
    let usage = "usage: ADDRESS:PORT FILE";
    let local: SocketAddr = arguments.next().ok_or(usage)?.parse()?;
    let file = fs::read(arguments.next().ok_or(usage)?)?;
    let mut driver = Driver::new(fastrand::u64(..))?;
    let mut stack =
        make(&driver, Rc::new(One { file, split: RefCell::new(SplitCache::new(KEPT)) }))?;
    let mut told = Told::default();
    let listen = RoleRequest::Listen { listener: LISTENER, local: local.into() };
    driver.request(&mut stack, listen, &mut told);
    told.free = (1..=CLIENTS).map(|index| Handle { index, generation: 0 }).collect();
    loop {
        if let Some(why) = told.refused {
            return Err(why.into());
        }
        while let Some(name) = told.free.pop() {
            let association = Handle { generation: name.generation.wrapping_add(1), ..name };
            let awaits = RoleRequest::Await { listener: LISTENER, association, credit: CREDIT };
            driver.request(&mut stack, awaits, &mut told);
        }
        driver.turn(&mut stack, &mut told, None)?;
    }
}
