//! The names of a graph: which node each means, whether a node stands on itself, and whether each
//! is needed.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use stackwright_contract::Service;
use stackwright_wire::Message;

use super::builder::{Builder, NODES_MOST, Part};
use super::flaw::{About, Flaw, suggestion};

/// The names of a graph are found, and it has no loop.
pub(super) struct Known {
    pub(super) tops: Vec<usize>,
    /// Each node's lowers, as `Part::over`.
    pub(super) lowers: Vec<Vec<Vec<usize>>>,
    /// All nodes from the tops: each after all that stand on it.
    pub(super) order: Vec<usize>,
}

impl Known {
    pub(super) fn of<M: Message, B: Service + 'static>(
        builder: &Builder<M, B>,
    ) -> Result<Known, Flaw> {
        let Builder { nodes, tops } = builder;
        if nodes.len() > NODES_MOST {
            return Err(Flaw::new(
                About::Graph,
                format!("the graph has {} nodes; {NODES_MOST} are the most", nodes.len()),
            ));
        }
        for (index, part) in nodes.iter().enumerate() {
            if nodes[..index].iter().any(|other| other.name == part.name) {
                return Err(Flaw::new(
                    About::Node(part.name.clone()),
                    format!("two nodes are called `{}`", part.name),
                ));
            }
        }
        let find = |name: &str, about: About, who: &str| {
            nodes.iter().position(|part| part.name == name).ok_or_else(|| {
                let names = nodes.iter().map(|part| part.name.as_str());
                Flaw::new(
                    about,
                    format!(
                        "{who} `{name}`, which is not in this graph{}",
                        suggestion(name, names)
                    ),
                )
            })
        };
        let tops = tops
            .iter()
            .map(|top| find(top, About::Graph, "the top is"))
            .collect::<Result<Vec<_>, _>>()?;
        if tops.is_empty() {
            return Err(Flaw::new(
                About::Graph,
                "the graph does not say which node is its top".to_owned(),
            ));
        }
        let mut lowers = Vec::new();
        for part in nodes {
            let mut ports = Vec::new();
            for (nth, port) in part.over.iter().enumerate() {
                let about = |lower| About::Lower { node: part.name.clone(), nth, lower };
                let who = format!("`{}` stands on", part.name);
                let found =
                    port.iter().enumerate().map(|(nth, lower)| find(lower, about(nth), &who));
                ports.push(found.collect::<Result<Vec<_>, _>>()?);
            }
            lowers.push(ports);
        }
        let mut known = Known { tops, lowers, order: Vec::new() };
        let mut way = Vec::new();
        for node in 0..nodes.len() {
            known.walk(nodes, node, &mut way)?;
        }
        // From below, so far, and from any node: now from above.
        known.order.reverse();
        known.each_is_needed(nodes)?;
        known.tops_are_on_top(nodes)?;
        Ok(known)
    }

    fn walk<M: Message, B: Service>(
        &mut self,
        nodes: &[Part<M, B>],
        node: usize,
        way: &mut Vec<usize>,
    ) -> Result<(), Flaw> {
        if let Some(first) = way.iter().position(|passed| *passed == node) {
            let passed = way[first..].iter().chain([&node]).map(|node| nodes[*node].name.as_str());
            let circle = passed.collect::<Vec<_>>().join("` over `");
            return Err(Flaw::new(
                About::Node(nodes[node].name.clone()),
                format!("`{}` would stand on itself: `{circle}`", nodes[node].name),
            ));
        }
        if self.order.contains(&node) {
            return Ok(());
        }
        way.push(node);
        let lowers: Vec<usize> = self.lowers[node].iter().flatten().copied().collect();
        for lower in lowers {
            self.walk(nodes, lower, way)?;
        }
        way.pop();
        self.order.push(node);
        Ok(())
    }

    fn each_is_needed<M: Message, B: Service>(&self, nodes: &[Part<M, B>]) -> Result<(), Flaw> {
        for (index, part) in nodes.iter().enumerate() {
            let stood_on = self.lowers.iter().flatten().flatten().any(|lower| *lower == index);
            if !stood_on && !self.tops.contains(&index) {
                return Err(Flaw::new(
                    About::Node(part.name.clone()),
                    format!("nobody stands on `{}`, and it is not the top", part.name),
                ));
            }
        }
        Ok(())
    }

    /// Checks that what a top tells is for the application alone.
    fn tops_are_on_top<M: Message, B: Service>(&self, nodes: &[Part<M, B>]) -> Result<(), Flaw> {
        for (nth, top) in self.tops.iter().enumerate() {
            let name = &nodes[*top].name;
            if self.tops[..nth].contains(top) {
                return Err(Flaw::new(About::Graph, format!("`{name}` is named as the top twice")));
            }
            let upper = self
                .lowers
                .iter()
                .position(|ports| ports.iter().flatten().any(|lower| lower == top));
            if let Some(upper) = upper {
                let says = format!("`{name}` is the top, and `{}` stands on it", nodes[upper].name);
                return Err(Flaw::new(About::Graph, says));
            }
        }
        Ok(())
    }
}
