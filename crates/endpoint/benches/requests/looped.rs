//! Ends that are the driver's loop and a stack, and no endpoint: what an endpoint costs is what is
//! beyond them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication as Told, DatagramsRequest as Ask, MessageProperties,
};
use stackwright_contract::{Handle, Names, Outlet, Protocol, RequestOf};
use stackwright_drivers::{Driver, Lanes};
use stackwright_endpoint::System;
use stackwright_wire::Message;

use crate::{LAST, M, SIZE, timed};

const AMPLE: Credit = Credit { octets: 1 << 20, messages: 1024 };

/// What the stack told.
#[derive(Default)]
struct Heard {
    place: Option<SocketAddr>,
    open: bool,
    came: VecDeque<M>,
}

impl<P: Protocol<Provides = Datagrams<M>>> Outlet<P> for Heard {
    fn indicate(&mut self, told: Told<M>) {
        match told {
            Told::Listening { local, .. } => self.place = local.internet(),
            Told::Opened { .. } => self.open = true,
            Told::Delivered { batch: messages, .. } => self.came.extend(messages),
            _ => {}
        }
    }

    fn request(&mut self, _nothing_is_below: RequestOf<P>) {}
}

struct Side<S> {
    driver: Driver,
    stack: S,
    heard: Heard,
    listener: Handle,
    association: Handle,
}

impl<S: Protocol<Provides = Datagrams<M>, Uses: Lanes>> Side<S> {
    fn new(make: fn(&System) -> S) -> Self {
        let (driver, system) = System::with_driver().unwrap();
        let mut names = Names::new();
        let [listener, association] = [(); 2].map(|()| names.name(()));
        Side { driver, stack: make(&system), heard: Heard::default(), listener, association }
    }

    fn request(&mut self, ask: Ask<M>) {
        self.driver.request(&mut self.stack, ask, &mut self.heard);
    }

    fn until<T>(&mut self, found: impl Fn(&mut Heard) -> Option<T>) -> T {
        loop {
            if let Some(found) = found(&mut self.heard) {
                return found;
            }
            self.driver.turn(&mut self.stack, &mut self.heard, None).unwrap();
        }
    }

    /// Sends a message, and gives room for another.
    fn send(&mut self, message: M) {
        let Side { driver, stack, heard, association, .. } = self;
        let (association, credit) = (*association, Credit { octets: SIZE, messages: 1 });
        let asks = [
            Ask::Credit { association, credit },
            Ask::Send {
                association,
                batch: message.into(),
                properties: MessageProperties::default(),
            },
        ];
        driver.requests(stack, asks, heard);
        driver.run_due(stack, heard);
    }
}

pub(crate) fn answer<S>(make: fn(&System) -> S, say: Sender<SocketAddr>)
where
    S: Protocol<Provides = Datagrams<M>, Uses: Lanes>,
{
    let mut side = Side::new(make);
    let Side { listener, association, .. } = side;
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    side.request(Ask::Listen { listener, local: any.into() });
    let place = side.until(|heard| heard.place);
    side.request(Ask::Await { listener, association, credit: AMPLE });
    say.send(place).unwrap();
    loop {
        let mut message = side.until(|heard| heard.came.pop_front());
        if message.front(1).is_some_and(|octets| octets[0] == LAST) {
            return;
        }
        side.send(message);
    }
}

pub(crate) fn ask<S>(make: fn(&System) -> S, to: SocketAddr, took: &mut Vec<Duration>)
where
    S: Protocol<Provides = Datagrams<M>, Uses: Lanes>,
{
    let mut side = Side::new(make);
    side.request(Ask::Open {
        association: side.association,
        remote: to.into(),
        credit: AMPLE,
        local: None,
    });
    side.until(|heard| heard.open.then_some(()));
    timed(took, || {
        side.send(M::with_headroom(128, &[0; SIZE]));
        assert_eq!(side.until(|heard| heard.came.pop_front()).len(), SIZE);
    });
    side.send(M::with_headroom(128, &[LAST; SIZE]));
}
