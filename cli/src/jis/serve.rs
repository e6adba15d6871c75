//! `jis serve`: the pictures of a folder.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stackwright::compose::Over;
use stackwright::contract::services::{Credit, Ended};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright_drivers::Driver;
use stackwright_jis::generated::server::{Input, Output};
use stackwright_role::{RoleIndication, RoleRequest, Speaking};

use super::Serve;
use super::folder::Folder;
use crate::images::below;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::Message;

/// What a client may send before it is taken: more than a request.
const CREDIT: Credit = Credit { octets: 16 << 10, messages: 16 };

/// So many clients are served at a time. A place is of a client that asks within ten seconds, and
/// takes something each minute; of one whose address may be forged, for three seconds where others
/// wait.
const CLIENTS: u32 = 16;

const LISTENER: Handle = Handle { index: 0, generation: 0 };

#[derive(Default)]
struct Told {
    refused: Option<Ended>,
    /// Names whose association has ended, and which await the next client.
    free: Vec<Handle>,
    /// Names whose client asks for nothing, or takes nothing.
    stalled: Vec<Handle>,
    folder: String,
}

impl<S: Protocol<Provides = Speaking<Input<Message>, Output<Message>>>> Outlet<S> for Told {
    fn indicate(&mut self, indication: RoleIndication<Output<Message>>) {
        match indication {
            RoleIndication::Listening { local, .. } => {
                let Some(local) = local.internet() else { return };
                say!("Serving the pictures of {} at jis://{local}/", self.folder);
                say!("  stackwright jis get jis://{local}/NAME --show");
            }
            RoleIndication::Opened { remote, .. } => say!("{remote}: arrived"),
            RoleIndication::Ended { name: LISTENER, why } => self.refused = Some(why),
            RoleIndication::Ended { name, .. } => self.free.push(name),
            RoleIndication::Told { association, output } => match output {
                Output::Stalled => self.stalled.push(association),
                Output::Never(never, _) => match never {},
            },
            RoleIndication::Changed { .. } => {}
        }
    }

    fn request(&mut self, request: RequestOf<S>) {
        let _ = request; // readiness asks nothing of what is below a driver
    }
}

pub(super) fn run(serve: &Serve) -> Result<(), Problem> {
    let folder = serve
        .folder
        .canonicalize()
        .map_err(|why| Problem::Path { path: serve.folder.clone(), why })?;
    if !folder.is_dir() {
        return Err(Problem::NoFolder { path: folder });
    }
    let mut driver = Driver::new(fastrand::u64(..))?;
    let mut told = Told { folder: folder.display().to_string(), ..Told::default() };
    let (below, most) = below(&driver, serve.listen.ip(), &serve.placement)?;
    let kept = usize::try_from(serve.keep).unwrap_or(usize::MAX);
    let shelf = Rc::new(Folder::new(folder, kept));
    let layer = stackwright_jis::server::<Message, _>(shelf, most);
    let mut stack = Over::new(layer, below);
    let interrupted = interrupts()?;
    let listen = RoleRequest::Listen { listener: LISTENER, local: serve.listen.into() };
    driver.request(&mut stack, listen, &mut told);
    told.free = (1..=CLIENTS).map(|index| Handle { index, generation: 0 }).collect();
    while !interrupted.load(Ordering::Relaxed) {
        if let Some(why) = told.refused {
            return Err(Problem::Listen { address: serve.listen, why });
        }
        for association in std::mem::take(&mut told.stalled) {
            driver.request(&mut stack, RoleRequest::Abort { association }, &mut told);
        }
        while let Some(name) = told.free.pop() {
            let association = Handle { generation: name.generation.wrapping_add(1), ..name };
            let awaits = RoleRequest::Await { listener: LISTENER, association, credit: CREDIT };
            driver.request(&mut stack, awaits, &mut told);
        }
        driver.turn(&mut stack, &mut told, Some(Duration::from_secs(1)))?;
    }
    Ok(())
}
