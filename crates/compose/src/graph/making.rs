//! From a description to a graph: its nodes are made, in the order of their lanes, checked and
//! linked.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use stackwright_contract::Service;
use stackwright_contract::words::Speaks;
use stackwright_wire::Message;

use super::flaw::About;
use super::{At, Builder, Description, Flaw, Graph, ProtocolRegistry, Unasked};

impl Description {
    /// Makes all nodes, checks them, and links them.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub fn build<M, B, T>(&self, registry: &ProtocolRegistry<M, B>) -> Result<Graph<M, B, T>, Flaw>
    where
        M: Message,
        B: Speaks<M, B>,
        T: Speaks<M, B>,
    {
        let (builder, lanes) = self.made(registry)?;
        let graph = builder.build().map_err(|flaw| self.located(flaw))?;
        let agreed = lanes.iter().enumerate().all(|(lane, name)| graph.in_lane(lane) == Some(name));
        assert!(agreed, "only a node that stands on nothing but the outside may ask for its lane");
        Ok(graph)
    }

    /// Does the same for a graph that is only drawn and explained, whatever its top provides.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub fn look<M, B>(
        &self,
        registry: &ProtocolRegistry<M, B>,
    ) -> Result<Graph<M, B, Unasked>, Flaw>
    where
        M: Message,
        B: Speaks<M, B>,
    {
        self.builder(registry)?.look().map_err(|flaw| self.located(flaw))
    }

    /// Makes all nodes.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub fn builder<M, B>(&self, registry: &ProtocolRegistry<M, B>) -> Result<Builder<M, B>, Flaw>
    where
        M: Message,
        B: Service + 'static,
    {
        self.made(registry).map(|(builder, _)| builder)
    }

    /// Makes all nodes; returns also the names of those that took a lane.
    fn made<M, B>(
        &self,
        registry: &ProtocolRegistry<M, B>,
    ) -> Result<(Builder<M, B>, Vec<String>), Flaw>
    where
        M: Message,
        B: Service + 'static,
    {
        // Before anything is made: a protocol may ask the operating system for something.
        for node in &self.nodes {
            registry.check(node).map_err(|flaw| self.located(flaw))?;
        }
        let lanes = RefCell::new(Vec::new());
        let mut made: Vec<_> = self.nodes.iter().map(|_| None).collect();
        for index in self.order() {
            let node = registry.make(&self.nodes[index], &lanes);
            made[index] =
                Some(node.map_err(|flaw| self.located(flaw).located(Some(self.nodes[index].at)))?);
        }
        let mut builder = Builder::new();
        for (top, _) in &self.tops {
            builder = builder.top(top);
        }
        for (node, made) in self.nodes.iter().zip(made.into_iter().flatten()) {
            builder = builder.node(&node.name, made);
            for port in &node.over {
                let lowers: Vec<&str> = port.iter().map(|(lower, _)| lower.as_str()).collect();
                builder = builder.over_joined(&lowers);
            }
        }
        Ok((builder, lanes.into_inner()))
    }

    /// Returns all nodes from the tops and from the left, as lanes are numbered; then those that
    /// are not reached.
    fn order(&self) -> Vec<usize> {
        let find = |name: &str| self.nodes.iter().position(|node| node.name == name);
        let mut order = Vec::new();
        // What is to be visited next is at the end.
        let mut next: Vec<usize> = (0..self.nodes.len()).rev().collect();
        next.extend(self.tops.iter().rev().filter_map(|(top, _)| find(top)));
        while let Some(index) = next.pop() {
            if !order.contains(&index) {
                order.push(index);
                next.extend(
                    self.nodes[index]
                        .over
                        .iter()
                        .flatten()
                        .rev()
                        .filter_map(|(name, _)| find(name)),
                );
            }
        }
        order
    }

    fn located(&self, flaw: Flaw) -> Flaw {
        let at = self.place(flaw.about());
        flaw.located(at)
    }

    fn place(&self, about: &About) -> Option<At> {
        let node = |name: &str| self.nodes.iter().find(|node| node.name == name);
        match about {
            About::Graph => self.tops.first().map(|(_, at)| *at),
            About::Node(name) => node(name).map(|node| node.at),
            About::Protocol { node: name } => node(name).map(|node| node.protocol_at),
            About::Lower { node: name, nth, lower } => {
                let lowers = node(name)?.over.get(*nth)?;
                lowers.get(*lower).map(|(_, at)| *at)
            }
            About::Key { node: name, key } => node(name)?
                .parameters
                .iter()
                .find(|given| given.key == *key)
                .map(|given| given.key_at),
            About::Value { node: name, key } => node(name)?
                .parameters
                .iter()
                .find(|given| given.key == *key)
                .map(|given| given.value_at),
        }
    }
}
