//! A stack whose parts are chosen while the program runs. It is itself a protocol.

use alloc::vec::Vec;
use core::any::Any;
use core::cell::{Ref, RefMut};
use core::fmt;
use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::words::{InLane, Indication, Outside, Request, Speaks};
use stackwright_contract::{
    Batches, Context, Facts, IndicationTo, Instant, Outlet, Protocol, RequestTo, Service, earliest,
};
use stackwright_wire::Message;

use super::live::Leaving;
use super::place::{Below, Kind};
use super::web::{Ends, Web};
use super::{AskPort, Erased};

/// Protocols of messages `M` over what is outside, `B`, that together provide `T`.
///
/// A [`Builder`](super::Builder) makes one, of protocols or of a description. What it says to the
/// outside, and in which order, is the same as of a static stack of the same parts.
pub struct Graph<M: Message, B: Service, T> {
    pub(super) web: Web<M, B>,
    /// The places on top.
    pub(super) roots: Vec<usize>,
    /// The place and port at each port of `T`.
    pub(super) tops: Vec<(usize, usize)>,
    /// The place and port in each lane.
    pub(super) lanes: Vec<(usize, usize)>,
    pub(super) leaving: Vec<Leaving>,
    pub(super) service: PhantomData<fn() -> T>,
}

/// What a graph provides that is only drawn and explained
/// ([`Builder::look`](super::Builder::look)). It is no service, so that nothing can be asked of
/// such a graph.
#[derive(Debug)]
pub enum Unasked {}

impl<M: Message, B: Service + 'static, T> Graph<M, B, T> {
    /// Returns the facts of the whole, as the rule book sees it from outside.
    pub fn facts(&self) -> Facts {
        let mut facts = self.roots.iter().map(|place| self.web.places[*place].whole);
        let first = facts.next().unwrap_or(Facts::named("graph"));
        facts.fold(first, |left, right| stackwright_contract::rules::beside(&left, &right))
    }

    /// Returns the services that it provides to the application, from the left.
    pub fn provides(&self) -> Vec<&'static str> {
        let service = |(place, port): &(usize, usize)| {
            let mut ports = Vec::new();
            self.web.places[*place].node.borrow().provides(&mut ports);
            ports[*port].service
        };
        self.tops.iter().map(service).collect()
    }

    /// Returns the names of the nodes on which the application stands, from the left.
    pub fn tops(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|place| self.web.places[*place].name.as_str())
    }

    /// Returns the name of the node on which `name` stands with one of its ports, counted from the
    /// left; modules and forks between are passed over. `None` where that is the outside, or
    /// several.
    pub fn lower(&self, name: &str, port: usize) -> Option<&str> {
        let mut below = self.web.places[self.web.place(name)?].below.get(port)?;
        loop {
            let Below::Place(lower, _) = below else { return None };
            let lower = &self.web.places[*lower];
            match (lower.kind, &lower.below[..]) {
                (Kind::Named, _) => return Some(&lower.name),
                (_, [only]) => below = only,
                _ => return None,
            }
        }
    }

    /// Returns the facts of the node with that name, on all that it stands on.
    pub fn facts_of(&self, name: &str) -> Option<Facts> {
        Some(self.web.places[self.web.place(name)?].whole)
    }

    /// Returns the name of the node that speaks with the outside in that lane.
    #[cfg(feature = "std")]
    pub(super) fn in_lane(&self, lane: usize) -> Option<&str> {
        self.lanes.get(lane).map(|(place, _)| self.web.places[*place].name.as_str())
    }

    /// Returns the number of its lanes to the outside.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Lends the protocol, the filter or the node with that name, where it is an `X`.
    ///
    /// # Panics
    /// Where it is called from within that protocol.
    pub fn protocol<X: 'static>(&self, name: &str) -> Option<Ref<'_, X>> {
        let place = &self.web.places[self.web.place(name)?];
        Ref::filter_map(place.node.borrow(), |node| node.as_any().downcast_ref()).ok()
    }

    /// Lends the protocol with that name, where it is an `X`, to be changed.
    ///
    /// # Panics
    /// Where it is called from within that protocol.
    pub fn protocol_mut<X: 'static>(&mut self, name: &str) -> Option<RefMut<'_, X>> {
        let place = &self.web.places[self.web.place(name)?];
        RefMut::filter_map(place.node.borrow_mut(), |node| {
            let node: &mut dyn Any = &mut **node;
            node.downcast_mut().map(|Erased(protocol)| protocol)
        })
        .ok()
    }
}

/// The outlet of a graph, which takes typed words.
struct Doors<'a, O, M, B, T>(&'a mut O, PhantomData<(M, B, T)>);

impl<M, B, T, O> Ends<M, B> for Doors<'_, O, M, B, T>
where
    M: Message,
    B: Speaks<M, B>,
    T: Speaks<M, B>,
    O: Outlet<Graph<M, B, T>>,
{
    fn indicate(&mut self, port: usize, word: Indication<M, B>) {
        self.0.indicate(T::recall_indication(port, word));
    }

    fn request(&mut self, lane: usize, word: Request<M, B>) {
        self.0.request(InLane { lane, word: B::recall_request(0, word) });
    }
}

impl<M: Message, B: Speaks<M, B>, T: Speaks<M, B>> Protocol for Graph<M, B, T> {
    /// What a graph guarantees is not known when the program is compiled.
    const FACTS: Facts = Facts::named("graph");
    /// Its nodes are handed what each takes.
    const BATCHES: Batches = Batches::ALL;
    type Provides = T;
    type Uses = Outside<B>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let (place, port) = self.tops[T::request_port(&request)];
        let word = T::erase_request(request);
        let doors = &mut Doors(out, PhantomData);
        self.web.request(place, port, word, cx, doors);
        self.web.settle_all(cx, doors);
        self.see_off();
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let InLane { lane, word } = word;
        let (place, port) = self.lanes[lane];
        let several = B::indicates_several(&word);
        let (word, doors) = (B::erase_indication(word), &mut Doors(out, PhantomData));
        if several {
            self.web.arrive_each(place, port, word, cx, doors);
        } else {
            self.web.arrive(place, port, word, cx, doors);
        }
        self.see_off();
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.web.timeout(cx, &mut Doors(out, PhantomData));
        self.see_off();
    }

    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.web.places.iter().map(|place| place.node.borrow().next_deadline());
        deadlines.fold(None, earliest)
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.web.flush(cx, &mut Doors(out, PhantomData));
        self.see_off();
    }

    fn wants_flush(&self) -> bool {
        self.web.places.iter().any(|place| place.node.borrow().wants_flush())
    }

    fn may_exit(&self) -> bool {
        self.web.places.iter().all(|place| place.node.borrow().may_exit())
    }

    /// The facts of the whole, as the rule book sees it from outside.
    fn facts(&self) -> Facts {
        Graph::facts(self)
    }

    fn ask(&self, about: T::Name, question: &mut Question<'_>, below: &dyn Ask<Outside<B>>) {
        if let Some((port, name)) = T::erase_name(&about) {
            let (place, port) = self.tops[port];
            self.web.ask(place, port, name, question, &BelowAll::<M, B>(below, PhantomData));
        }
    }
}

/// What is below the whole graph, lane by lane.
struct BelowAll<'a, M, B: Service>(&'a dyn Ask<Outside<B>>, PhantomData<M>);

impl<M: Message, B: Speaks<M, B>> AskPort for BelowAll<'_, M, B> {
    fn ask(&self, lane: usize, about: &dyn Any, question: &mut Question<'_>) {
        if let Some(word) = B::recall_name(0, about) {
            self.0.ask(InLane { lane, word }, question);
        }
    }
}

impl<M: Message, B: Service + 'static, T> fmt::Debug for Graph<M, B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.web.places.iter().map(|place| (&place.name, place.facts.name));
        f.debug_map().entries(names).finish()
    }
}
