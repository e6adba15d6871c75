//! From names to places: what is above and below each port, with forks and joins between.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::words::Port;
use stackwright_contract::{Facts, Service};
use stackwright_wire::Message;

use super::Node;
use super::between::{ForkNode, JoinNode};
use super::builder::{Builder, Lowers, place_of};
use super::known::Known;
use super::place::{Above, Below, Kind, Place, place};
use crate::stack::fork::Branches;
use crate::stack::join::Routes;

/// Places, those on top, those at each port of the top, and those in each lane.
pub(super) struct Wiring<M: Message, B: Service> {
    pub(super) places: Vec<Place<M, B>>,
    pub(super) roots: Vec<usize>,
    pub(super) tops: Vec<(usize, usize)>,
    pub(super) lanes: Vec<(usize, usize)>,
}

impl<M: Message, B: Service + 'static> Wiring<M, B> {
    /// Makes places of nodes that were checked before.
    pub(super) fn of(
        builder: Builder<M, B>,
        known: &Known,
        ports: &[Vec<Lowers>],
        wholes: &[Facts],
        tops: &[(usize, usize)],
    ) -> Self {
        // From the tops and from the left: so the joints are found in the order of a static stack.
        let mut order = Vec::new();
        for top in &known.tops {
            walk(*top, known, &mut order);
        }
        let provides: Vec<Vec<Port>> =
            order.iter().map(|index| builder.nodes[*index].provides.clone()).collect();
        let mut number = alloc::vec![0; builder.nodes.len()];
        for (place, index) in order.iter().enumerate() {
            number[*index] = place;
        }
        let mut parts: Vec<_> = builder.nodes.into_iter().map(Some).collect();
        let places = order.iter().map(|index| {
            place_of(parts[*index].take().expect("each node has one place"), wholes[*index])
        });
        let places: Vec<_> = places.collect();
        let mut wiring = Wiring { places, roots: Vec::new(), tops: Vec::new(), lanes: Vec::new() };
        for (port, (top, at)) in tops.iter().enumerate() {
            wiring.tops.push((number[*top], *at));
            wiring.places[number[*top]].above[*at] = Above::Top(port);
        }
        let mut asked = Vec::new();
        for index in &order {
            wiring.ask(number[*index], &ports[*index], &number, &provides, &mut asked);
        }
        wiring.lead(&asked);
        let mut seen = Vec::new();
        for top in &known.tops {
            wiring.roots.push(number[*top]);
            wiring.number_lanes(number[*top], &mut seen);
        }
        wiring
    }

    /// Notes which port of which lower each port of one place wants; several are joined.
    fn ask(
        &mut self,
        place: usize,
        ports: &[Lowers],
        number: &[usize],
        provides: &[Vec<Port>],
        asked: &mut Vec<Asked>,
    ) {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut provided = |lower: usize, port: Port| {
            let ports = &provides[lower];
            let fitting = || (0..ports.len()).filter(|at| ports[*at] == port);
            // Two ports of one upper on one lower that offers the service twice get one each.
            let at =
                fitting().find(|at| !taken.contains(&(lower, *at))).or_else(|| fitting().next());
            let at = at.expect("the vocabularies were compared");
            taken.push((lower, at));
            (lower, at)
        };
        for (port, lowers) in ports.iter().enumerate() {
            // Lanes are numbered when each node has a place.
            self.places[place].below.push(Below::Lane(usize::MAX));
            let Lowers::Places(lowers) = lowers else { continue };
            let service = self.places[place].uses[port];
            let lowers: Vec<_> =
                lowers.iter().map(|lower| provided(number[*lower], service)).collect();
            if let [lower] = lowers[..] {
                asked.push(Asked { upper: (place, port), lower });
                continue;
            }
            let node = JoinNode { port: service, lowers: lowers.len(), routes: Routes::new() };
            let name = format!("{} (join)", self.places[place].name);
            let join = self.put_between(name, Box::new(node));
            self.link((place, port), (join, 0));
            for (port, lower) in lowers.into_iter().enumerate() {
                asked.push(Asked { upper: (join, port), lower });
            }
        }
    }

    /// Links uppers with the lowers that they asked for; where several asked for one port, through
    /// a fork.
    fn lead(&mut self, asked: &[Asked]) {
        for (nth, Asked { upper, lower }) in asked.iter().enumerate() {
            if asked[..nth].iter().any(|before| before.lower == *lower) {
                continue;
            }
            let uppers: Vec<_> = asked
                .iter()
                .filter(|other| other.lower == *lower)
                .map(|asked| asked.upper)
                .collect();
            if uppers.len() == 1 {
                self.link(*upper, *lower);
                continue;
            }
            let port = self.places[upper.0].uses[upper.1];
            let name = format!("{} (fork)", self.places[lower.0].name);
            let node = ForkNode { port, uppers: uppers.len(), branches: Branches::new() };
            let fork = self.put_between(name, Box::new(node));
            self.places[fork].whole = self.places[lower.0].whole;
            for (branch, upper) in uppers.into_iter().enumerate() {
                self.link(upper, (fork, branch));
            }
            self.link((fork, 0), *lower);
        }
    }

    fn put_between(&mut self, name: String, node: Box<dyn Node<M, B>>) -> usize {
        let (mut uses, mut provides) = (Vec::new(), Vec::new());
        node.uses(&mut uses);
        node.provides(&mut provides);
        let mut place = place(name, Kind::Between, uses, node);
        place.above = alloc::vec![Above::Nothing; provides.len()];
        place.below = alloc::vec![Below::Lane(usize::MAX); place.uses.len()];
        self.places.push(place);
        self.places.len() - 1
    }

    fn link(&mut self, upper: (usize, usize), lower: (usize, usize)) {
        self.places[upper.0].below[upper.1] = Below::Place(lower.0, lower.1);
        self.places[lower.0].above[lower.1] = Above::Place(upper.0, upper.1);
    }

    /// Numbers the lanes from the left, as a static stack counts.
    fn number_lanes(&mut self, place: usize, seen: &mut Vec<usize>) {
        if seen.contains(&place) {
            return;
        }
        seen.push(place);
        for port in 0..self.places[place].below.len() {
            match self.places[place].below[port] {
                Below::Place(lower, _) => self.number_lanes(lower, seen),
                Below::Lane(_) => {
                    self.places[place].below[port] = Below::Lane(self.lanes.len());
                    self.lanes.push((place, port));
                }
            }
        }
    }
}

/// A port of an upper wants a port of a lower.
struct Asked {
    upper: (usize, usize),
    lower: (usize, usize),
}

fn walk(node: usize, known: &Known, order: &mut Vec<usize>) {
    if order.contains(&node) {
        return;
    }
    order.push(node);
    for lower in known.lowers[node].iter().flatten() {
        walk(*lower, known, order);
    }
}
