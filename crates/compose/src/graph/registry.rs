//! Which protocols a description may name, and with which parameters.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::str::FromStr;

use stackwright_contract::described::{self, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Protocol, Service};
use stackwright_wire::Message;

use super::description::{Described, Given, Value};
use super::flaw::{About, suggestion};
use super::{Erased, Flaw, LayerMeter, Node};

/// The protocols that may stand in a described graph. The program fills it.
pub struct ProtocolRegistry<M: Message, B: Service> {
    entries: BTreeMap<&'static str, Entry<M, B>>,
    meter: Option<Rc<LayerMeter>>,
}

/// Makes a node of what stands in its table.
type Make<M, B> = dyn Fn(&Parameters<'_>) -> Result<Box<dyn Node<M, B>>, Flaw>;

struct Entry<M: Message, B: Service> {
    purpose: &'static str,
    parameters: &'static [Parameter],
    make: Box<Make<M, B>>,
}

impl<M: Message, B: Service> Default for ProtocolRegistry<M, B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message, B: Service> ProtocolRegistry<M, B> {
    /// Makes a registry without any protocol.
    pub fn new() -> Self {
        ProtocolRegistry { entries: BTreeMap::new(), meter: None }
    }

    /// Adds a protocol: how it is called, what it is for in one sentence, what may stand in its
    /// table, and how it is made of that. Keys and kinds are checked before it is made.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        purpose: &'static str,
        parameters: &'static [Parameter],
        make: impl Fn(&Parameters<'_>) -> Result<Box<dyn Node<M, B>>, Flaw> + 'static,
    ) -> Self {
        self.entries.insert(name, Entry { purpose, parameters, make: Box::new(make) });
        self
    }

    /// Adds a protocol of which its table says everything. Each that is made is given a random
    /// `number`.
    #[must_use]
    pub fn describe<P>(
        self,
        purpose: &'static str,
        described: described::Described<P>,
        number: impl Fn() -> u64 + 'static,
    ) -> Self
    where
        M: Message,
        B: 'static,
        P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>> + 'static,
    {
        let described::Described { parameters, make } = described;
        self.with(P::FACTS.name, purpose, parameters, move |table| match make(table, number()) {
            Ok(protocol) => Ok(Box::new(Erased(protocol))),
            Err(unfit) => Err(table.unfit(&unfit)),
        })
    }

    /// Lets `meter` measure what is made from here on.
    #[must_use]
    pub fn measured(self, meter: Rc<LayerMeter>) -> Self {
        ProtocolRegistry { meter: Some(meter), ..self }
    }

    /// Returns all protocols in the order of their names: the name, the purpose, the parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static [Parameter])> {
        self.entries.iter().map(|(name, entry)| (*name, entry.purpose, entry.parameters))
    }

    /// Checks that a table names a protocol, and has its keys.
    pub(super) fn check(&self, node: &Described) -> Result<(), Flaw> {
        let Some(entry) = self.entries.get(node.protocol.as_str()) else {
            let says = format!(
                "there is no protocol called `{}`{}",
                node.protocol,
                suggestion(&node.protocol, self.entries.keys().copied())
            );
            return Err(Flaw::new(About::Protocol { node: node.name.clone() }, says));
        };
        for Given { key, value, .. } in &node.parameters {
            let Some(parameter) = entry.parameters.iter().find(|parameter| parameter.name == key)
            else {
                let known = entry.parameters.iter().map(|parameter| parameter.name);
                let about = About::Key { node: node.name.clone(), key: key.clone() };
                let known = suggestion(key, known.chain(["over", "protocol"]));
                return Err(Flaw::new(
                    about,
                    format!("`{}` has no parameter `{key}`{known}", node.protocol),
                ));
            };
            let given = match value {
                Value::Text(_) => ParameterKind::Text.noun(),
                Value::Number(_) => ParameterKind::Number.noun(),
                Value::Truth(_) => ParameterKind::Truth.noun(),
                Value::Other(noun) => noun,
            };
            if given != parameter.kind.noun() {
                let about = About::Value { node: node.name.clone(), key: key.clone() };
                let (name, wanted) = (&node.name, parameter.kind.noun());
                return Err(Flaw::new(
                    about,
                    format!("`{key}` of `{name}` is {wanted}, and {given} stands there"),
                ));
            }
        }
        let missing = entry.parameters.iter().find(|parameter| {
            parameter.required && !node.parameters.iter().any(|given| given.key == parameter.name)
        });
        let Some(Parameter { name, about, .. }) = missing else { return Ok(()) };
        let says = format!("`{}` needs the parameter `{name}`: {about}", node.name);
        Err(Flaw::new(About::Node(node.name.clone()), says))
    }

    /// Makes a node. `lanes` are the names of the nodes that took a lane so far.
    pub(super) fn make(
        &self,
        node: &Described,
        lanes: &RefCell<Vec<String>>,
    ) -> Result<Box<dyn Node<M, B>>, Flaw>
    where
        M: Message,
        B: 'static,
    {
        let made = (self.entries[node.protocol.as_str()].make)(&Parameters { node, lanes })?;
        let Some(meter) = &self.meter else { return Ok(made) };
        let lowers = node.over.iter().flatten().map(|(lower, _)| lower.clone());
        Ok(meter.node(&node.name, lowers, made))
    }
}

/// What stands in one table. Its keys and their kinds were checked before.
pub struct Parameters<'a> {
    node: &'a Described,
    lanes: &'a RefCell<Vec<String>>,
}

impl Parameters<'_> {
    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.node.name
    }

    /// Returns whether the node stands on others.
    pub fn is_over_others(&self) -> bool {
        self.node.over.iter().any(|lowers| !lowers.is_empty())
    }

    /// The lane in which this node will speak with the outside: for an adapter that has to know it
    /// when it is made, and that stands on nothing else. Nodes are made in the order in which lanes
    /// are numbered.
    pub fn lane(&self) -> usize {
        let mut lanes = self.lanes.borrow_mut();
        if lanes.last().is_none_or(|last| *last != self.node.name) {
            lanes.push(self.node.name.clone());
        }
        lanes.len() - 1
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.node.parameters.iter().find(|given| given.key == key).map(|given| &given.value)
    }

    /// Returns a text that was parsed: `what` says as what, as in "an address and a port".
    ///
    /// # Errors
    /// Where it means no such thing.
    pub fn parsed<X: FromStr>(&self, key: &str, what: &str) -> Result<Option<X>, Flaw> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let wrong = |_| {
            self.flaw(
                key,
                format!("`{key}` of `{}` is {what}, and `{text}` is not", self.node.name),
            )
        };
        text.parse().map(Some).map_err(wrong)
    }

    /// Returns a flaw at the value of `key`, in a sentence of the protocol's own.
    pub fn flaw(&self, key: &str, says: String) -> Flaw {
        Flaw::new(About::Value { node: self.node.name.clone(), key: key.to_owned() }, says)
    }
    /// Returns a flaw at a value that does not fit.
    pub fn unfit(&self, unfit: &Unfit) -> Flaw {
        self.flaw(unfit.key, format!("`{}` of `{}` {}", unfit.key, self.node.name, unfit.is))
    }
}

impl ParameterTable for Parameters<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.value(key) { Some(text) } else { None }
    }

    fn number(&self, key: &str) -> Option<i64> {
        if let Some(Value::Number(number)) = self.value(key) { Some(*number) } else { None }
    }

    fn truth(&self, key: &str) -> Option<bool> {
        if let Some(Value::Truth(truth)) = self.value(key) { Some(*truth) } else { None }
    }
}
