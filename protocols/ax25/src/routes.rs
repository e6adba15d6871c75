//! Routes: what the `route` of a station's address stands for.

use alloc::vec::Vec;

use crate::config::Route;

/// Routes that are kept of peers that came by themselves. The oldest makes room for a new one; a
/// link keeps its own path, whatever becomes of its route's number.
const LEARNED_MOST: usize = 64;

/// The routes of the configuration, from number 1 on, and behind them those that were learned.
pub(crate) struct Routes {
    routes: Vec<Route>,
    configured: usize,
    /// Which of the learned ones makes room next.
    oldest: usize,
}

impl Routes {
    pub(crate) fn new(configured: &[Route]) -> Self {
        Routes { routes: configured.to_vec(), configured: configured.len(), oldest: 0 }
    }

    /// Returns the route of this number.
    pub(crate) fn get(&self, number: u16) -> Option<Route> {
        match number.checked_sub(1) {
            None => Some(Route::DIRECT),
            Some(place) => self.routes.get(usize::from(place)).copied(),
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
