//! What is above the FTP server of a station: it begins to serve with the first flush, and tells
//! the operator what was moved.

use std::convert::Infallible;
use std::net::SocketAddr;

use indicatif::HumanBytes;
use stackwright::contract::services::Ended;
use stackwright::contract::{Context, Facts, Nothing, Outlet, Protocol};
use stackwright::ftp::server::{Indication, Request, Serving, TransferDirection};

use crate::report::short;

const NAME: &str = "files";

/// The application of the server.
pub(super) struct Served {
    /// Where it listens.
    local: SocketAddr,
    /// What is requested with the next flush.
    due: Option<Request>,
}

impl Served {
    pub(super) fn new(local: SocketAddr) -> Self {
        Served { local, due: Some(Request::Serve { local: local.into() }) }
    }

    /// Ends all sessions with the next flush.
    pub(super) fn stop(&mut self) {
        self.due = Some(Request::Stop);
    }
}

impl Protocol for Served {
    const FACTS: Facts = Facts::named(NAME);
    type Provides = Nothing;
    type Uses = Serving;

    fn handle_request(&mut self, _: &Context, request: Infallible, _: &mut impl Outlet<Self>) {
        match request {}
    }

    fn handle_indication(&mut self, cx: &Context, told: Indication, _: &mut impl Outlet<Self>) {
        match told {
            Indication::Transferred { peer, path, direction, octets, took, result } => {
                let done = match direction {
                    TransferDirection::Sent => "fetched",
                    TransferDirection::Received => "stored",
                    TransferDirection::Listed => "listed",
                };
                let (octets, took) = (HumanBytes(octets), short(took));
                match result {
                    Ok(()) => {
                        cx.event(NAME, format_args!("{peer} has {done} {path}: {octets} in {took}"))
                    }
                    Err(why) => cx.event(
                        NAME,
                        format_args!("{peer} has not {done} all of {path}: {octets}: {why}"),
                    ),
                }
            }
            Indication::NotServing { why } if why != Ended::Unlistened => {
                cx.event(NAME, format_args!("nothing is served at {}: {why}", self.local));
            }
            _ => {}
        }
    }

    fn flush(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        self.due.take().into_iter().for_each(|request| out.request(request));
    }

    fn wants_flush(&self) -> bool {
        self.due.is_some()
    }
}
