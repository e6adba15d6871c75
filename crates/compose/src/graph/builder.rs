//! A graph from its parts: nodes by name, and the lowers of each.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;

use stackwright_contract::rules::{self, Misfit};
use stackwright_contract::words::{Port, Speaks};
use stackwright_contract::{Facts, Service};
use stackwright_wire::Message;

use super::flaw::{About, Flaw};
use super::graph::{Graph, Unasked};
use super::known::Known;
use super::place::{Above, Kind, Place, place};
use super::web::Web;
use super::wiring::Wiring;
use super::{Erased, Node};

/// The most nodes of a graph, modules not counted.
pub const NODES_MOST: usize = 64;

/// Collects the nodes of a graph, and the lowers of each.
///
/// The rule book is the one of static stacks, and refuses in the same words.
pub struct Builder<M: Message, B: Service> {
    pub(super) nodes: Vec<Part<M, B>>,
    pub(super) tops: Vec<String>,
}

/// A node, before it has a place.
pub(super) struct Part<M: Message, B: Service> {
    pub(super) name: String,
    pub(super) node: Box<dyn Node<M, B>>,
    /// The lowers, each port's; several of one port are joined.
    pub(super) over: Vec<Vec<String>>,
    pub(super) uses: Vec<Port>,
    pub(super) provides: Vec<Port>,
}

impl<M: Message, B: Service + 'static> Default for Builder<M, B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message, B: Service + 'static> Builder<M, B> {
    /// Makes a builder without any node.
    pub fn new() -> Self {
        Builder { nodes: Vec::new(), tops: Vec::new() }
    }

    /// Adds a protocol under a name.
    #[must_use]
    pub fn protocol<P>(self, name: &str, protocol: P) -> Self
    where
        Erased<P>: Node<M, B>,
    {
        self.node(name, Box::new(Erased(protocol)))
    }

    /// Adds a node under a name.
    #[must_use]
    pub fn node(mut self, name: &str, node: Box<dyn Node<M, B>>) -> Self {
        let (mut uses, mut provides) = (Vec::new(), Vec::new());
        node.uses(&mut uses);
        node.provides(&mut provides);
        self.nodes.push(Part { name: name.to_owned(), node, over: Vec::new(), uses, provides });
        self
    }

    /// Puts the node that was added last on `lower`, with the next of its ports.
    #[must_use]
    pub fn over(self, lower: &str) -> Self {
        self.over_joined(&[lower])
    }

    /// Puts the node that was added last on several lowers of one service, with the next of its
    /// ports.
    #[must_use]
    pub fn over_joined(mut self, lowers: &[&str]) -> Self {
        if let Some(part) = self.nodes.last_mut() {
            part.over.push(lowers.iter().map(|lower| (*lower).to_owned()).collect());
        }
        self
    }

    /// Names the node on which the application stands. Several of them provide their services side
    /// by side, from the left.
    #[must_use]
    pub fn top(mut self, name: &str) -> Self {
        self.tops.push(name.to_owned());
        self
    }

    /// Asks the rule book about all of it.
    ///
    /// # Errors
    /// The first flaw.
    pub fn build<T>(self) -> Result<Graph<M, B, T>, Flaw>
    where
        B: Speaks<M, B>,
        T: Speaks<M, B>,
    {
        let mut expected = Vec::new();
        T::ports(&mut expected);
        self.finish(Some(&expected))
    }

    /// Does the same for a graph that is only drawn and explained, whatever its top provides.
    ///
    /// # Errors
    /// The first flaw.
    pub fn look(self) -> Result<Graph<M, B, Unasked>, Flaw>
    where
        B: Speaks<M, B>,
    {
        self.finish(None)
    }

    fn finish<T>(self, expected: Option<&[Port]>) -> Result<Graph<M, B, T>, Flaw>
    where
        B: Speaks<M, B>,
    {
        let known = Known::of(&self)?;
        let mut outside = Vec::new();
        B::ports(&mut outside);
        if outside.len() != 1 {
            return Err(Flaw::new(
                About::Graph,
                format!("what is outside of a graph is one service, not {}", outside.len()),
            ));
        }
        let ports = self.lowers_of_ports(&known, &outside)?;
        let wholes = self.ask_rule_book(&known, &ports)?;
        let tops = self.meet_tops(&known, expected)?;
        let Wiring { places, roots, tops, lanes } =
            Wiring::of(self, &known, &ports, &wholes, &tops);
        let mut web = Web {
            places,
            joints: Vec::new(),
            steps: Vec::new(),
            descent: Vec::new(),
            order: Vec::new(),
            several: RefCell::new(None),
            waiting: Cell::new(0),
        };
        web.join();
        Ok(Graph { web, roots, tops, lanes, leaving: Vec::new(), service: PhantomData })
    }

    /// Returns what is below each port of each node: some lowers, or the outside.
    fn lowers_of_ports(&self, known: &Known, outside: &[Port]) -> Result<Vec<Vec<Lowers>>, Flaw> {
        let (mut all, mut stood_on) = (Vec::new(), Vec::new());
        for (index, part) in self.nodes.iter().enumerate() {
            let mut over = known.lowers[index].iter().enumerate();
            let about = About::Node(part.name.clone());
            let everywhere = part.over.len() == part.uses.len();
            let mut ports = Vec::new();
            for port in &part.uses {
                if !everywhere && outside.contains(port) {
                    ports.push(Lowers::Outside);
                    continue;
                }
                let Some((nth, lowers)) = over.next().filter(|(_, lowers)| !lowers.is_empty())
                else {
                    return Err(Flaw::new(
                        about,
                        format!(
                            "`{}` uses {}, and nothing stands below it there",
                            part.name, port.service
                        ),
                    ));
                };
                for (which, lower) in lowers.iter().enumerate() {
                    self.meets(part, *port, *lower, (nth, which))?;
                    // A fork leads an answer by the name in it; the words of a line have none.
                    if port.service == "Octets" && stood_on.contains(lower) {
                        return Err(Flaw::new(
                            About::Lower { node: part.name.clone(), nth, lower: which },
                            format!(
                                "`{}` cannot share a lower of {}: its words do not say whom they are for",
                                part.name, port.service
                            ),
                        ));
                    }
                    stood_on.push(*lower);
                }
                if lowers.len() > 1 && !["Datagrams", "Streams"].contains(&port.service) {
                    return Err(Flaw::new(
                        About::Lower { node: part.name.clone(), nth, lower: 0 },
                        format!(
                            "`{}` cannot stand on several lowers of {}: its words do not say which of them is meant",
                            part.name, port.service
                        ),
                    ));
                }
                ports.push(Lowers::Places(lowers.clone()));
            }
            if let Some((nth, _)) = over.next() {
                let count = part.uses.iter().filter(|port| !outside.contains(port)).count();
                return Err(Flaw::new(
                    About::Lower { node: part.name.clone(), nth, lower: 0 },
                    format!(
                        "`{}` stands on {} lowers, and has ports for {count}; several lowers of one port are a list in the list",
                        part.name,
                        part.over.len()
                    ),
                ));
            }
            all.push(ports);
        }
        Ok(all)
    }

    fn meets(
        &self,
        upper: &Part<M, B>,
        port: Port,
        lower: usize,
        (nth, which): (usize, usize),
    ) -> Result<(), Flaw> {
        let lower = &self.nodes[lower];
        if lower.provides.contains(&port) {
            return Ok(());
        }
        let misfit = Misfit::Service {
            upper: upper.node.facts().name,
            lower: lower.node.facts().name,
            uses: port.service,
            provides: lower.provides.first().map_or("Nothing", |port| port.service),
        };
        Err(Flaw::misfit_of(About::Lower { node: upper.name.clone(), nth, lower: which }, misfit))
    }

    /// Returns the facts of each node on all that it stands on.
    fn ask_rule_book(&self, known: &Known, ports: &[Vec<Lowers>]) -> Result<Vec<Facts>, Flaw> {
        let mut wholes: Vec<Facts> = self.nodes.iter().map(|part| part.node.facts()).collect();
        for index in known.order.iter().rev().copied() {
            let lowers = ports[index].iter().filter_map(|lowers| match lowers {
                Lowers::Outside => None,
                Lowers::Places(lowers) => lowers
                    .iter()
                    .map(|lower| wholes[*lower])
                    .reduce(|left, right| rules::joined(&left, &right)),
            });
            // As `Beside` leans: to the right.
            let lowers: Vec<Facts> = lowers.collect();
            let Some(below) =
                lowers.into_iter().rev().reduce(|right, left| rules::beside(&left, &right))
            else {
                continue;
            };
            let part = &self.nodes[index];
            rules::fits(&wholes[index], &below)
                .map_err(|misfit| Flaw::misfit_of(About::Node(part.name.clone()), misfit))?;
            wholes[index] = rules::stacked(&wholes[index], &below);
        }
        Ok(wholes)
    }

    /// Returns the node and port at each port of the service that the application expects; `None`
    /// expects nothing in particular.
    fn meet_tops(
        &self,
        known: &Known,
        expected: Option<&[Port]>,
    ) -> Result<Vec<(usize, usize)>, Flaw> {
        let tops = known.tops.iter().flat_map(|top| {
            self.nodes[*top]
                .provides
                .iter()
                .enumerate()
                .map(|(port, provided)| (*top, port, *provided))
        });
        let tops: Vec<_> = tops.collect();
        let expected = match expected {
            Some(expected) if !tops.iter().map(|(_, _, port)| port).eq(expected) => expected,
            _ => return Ok(tops.into_iter().map(|(top, port, _)| (top, port)).collect()),
        };
        let names =
            |ports: &mut dyn Iterator<Item = String>| ports.collect::<Vec<_>>().join(" and ");
        let provided = names(&mut tops.iter().map(|(_, _, port)| port.service.to_string()));
        let expected = names(&mut expected.iter().map(|port| port.service.to_string()));
        let tops = names(&mut self.tops.iter().map(|top| format!("`{top}`")));
        let says = match self.tops.len() {
            1 => format!(
                "the top, {tops}, provides {provided}, and the application expects {expected}"
            ),
            _ => format!(
                "the tops, {tops}, provide {provided}, and the application expects {expected}"
            ),
        };
        Err(Flaw::new(About::Graph, says))
    }
}

/// What is below a port.
pub(super) enum Lowers {
    /// What is outside of the graph.
    Outside,
    /// These nodes.
    Places(Vec<usize>),
}

/// Makes a place for a node that was added.
pub(super) fn place_of<M: Message, B: Service + 'static>(
    part: Part<M, B>,
    whole: Facts,
) -> Place<M, B> {
    let mut place = place(part.name, Kind::Named, part.uses, part.node);
    place.whole = whole;
    place.above = alloc::vec![Above::Nothing; part.provides.len()];
    place
}
