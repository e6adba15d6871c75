//! Routes: what the `route` of a station's address stands for.

use alloc::vec::Vec;

use stackwright_contract::{CallSign, Command, CommandError};

use crate::config::Route;
use crate::header::{DIGIPEATERS_MOST, DigipeaterPath};

/// Routes that are kept of peers that came by themselves. The oldest makes room for a new one; a
/// link keeps its own path, whatever becomes of its route's number.
const LEARNED_MOST: usize = 64;

/// The routes of the configuration, from number 1 on, and behind them those that were learned.
pub(crate) struct Routes {
    routes: Vec<Route>,
    configured: usize,
    /// Which of the learned ones makes room next.
    oldest: usize,
    /// The digipeaters of a route that the layer above makes.
    hops: Vec<CallSign>,
}

impl Routes {
    pub(crate) fn new(configured: &[Route]) -> Self {
        Routes {
            routes: configured.to_vec(),
            configured: configured.len(),
            oldest: 0,
            hops: Vec::new(),
        }
    }

    /// Returns the route of this number.
    pub(crate) fn get(&self, number: u16) -> Option<Route> {
        match number.checked_sub(1) {
            None => Some(Route::DIRECT),
            Some(place) => self.routes.get(usize::from(place)).copied(),
        }
    }

    /// Obeys a command that makes a route: `route hop` adds a digipeater, the seven octets of its
    /// call sign in the lower octets of the argument; `route end` returns the number of the route
    /// through them, on the port of the route whose number is the argument. It is to be used at
    /// once: other routes may take its number.
    ///
    /// # Errors
    /// Another command; what is no call sign; more than eight digipeaters; a route that there is
    /// not.
    pub(crate) fn command(&mut self, command: Command) -> Result<u32, CommandError> {
        match command {
            Command::Own { name: "route hop", argument } => {
                let [_, octets @ ..] = argument.to_be_bytes();
                let call = CallSign::from_octets(octets).map_err(|_| CommandError::Declined)?;
                // One more is refused with the end.
                if self.hops.len() <= DIGIPEATERS_MOST {
                    self.hops.push(call);
                }
                Ok(0)
            }
            Command::Own { name: "route end", argument } => {
                let path = DigipeaterPath::through(&core::mem::take(&mut self.hops));
                let base = u16::try_from(argument).ok().and_then(|number| self.get(number));
                let (path, base) = path.zip(base).ok_or(CommandError::Declined)?;
                Ok(self.number(Route { port: base.port, path }).into())
            }
            _ => Err(CommandError::Unknown),
        }
    }

    /// Returns the number of a route by which a frame came back.
    pub(crate) fn number(&mut self, route: Route) -> u16 {
        if route == Route::DIRECT {
            return 0;
        }
        let known = self.routes.iter().position(|known| *known == route);
        let place = known.unwrap_or_else(|| {
            if self.routes.len() < self.configured + LEARNED_MOST {
                self.routes.push(route);
                return self.routes.len() - 1;
            }
            let place = self.configured + self.oldest;
            self.oldest = (self.oldest + 1) % LEARNED_MOST;
            self.routes[place] = route;
            place
        });
        u16::try_from(place + 1).unwrap_or(0)
    }
}
