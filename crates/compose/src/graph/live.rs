//! Modules pushed into a live graph, and popped out of it, between two batches.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::mem;

use stackwright_contract::rules::{self, Misfit};
use stackwright_contract::{Facts, Service};
use stackwright_wire::Message;

use super::graph::Graph;
use super::node::{Module, ModuleNode};
use super::place::{Above, Below, Kind, place};

/// What became of a module that was popped.
pub enum Popped<M: Message, B: Service> {
    /// It has left; here it is.
    Left(Box<dyn Module<M, B>>),
    /// It holds messages: it was asked to release them, and leaves at the end of the first batch
    /// after which it holds none.
    Draining {
        /// The number of messages that it holds.
        held: usize,
    },
}

/// Why a module was not pushed or popped, as a sentence. The graph is unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeRefused(String);

impl fmt::Display for ChangeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ChangeRefused {}

impl<M: Message, B: Service + 'static> fmt::Debug for Popped<M, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Popped::Left(module) => write!(f, "Left({})", module.name()),
            Popped::Draining { held } => write!(f, "Draining({held})"),
        }
    }
}

/// The name of a module that leaves as soon as it is empty.
pub(super) type Leaving = String;

impl<M: Message, B: Service + 'static, T> Graph<M, B, T> {
    /// Puts `module` under `name` between two neighbours, directly below the upper one. Where
    /// several ports of `above` lead to `below`, it is the first. A filter is pushed as
    /// [`Inserted`](super::Inserted).
    ///
    /// # Errors
    /// Where the name is taken, the two are no neighbours, or the rule book refuses: something
    /// above needs what the module does not pass.
    pub fn push(
        &mut self,
        above: &str,
        below: &str,
        name: &str,
        module: impl Module<M, B>,
    ) -> Result<(), ChangeRefused> {
        if self.web.place(name).is_some() {
            return Err(ChangeRefused(format!("`{name}` is the name of another node already")));
        }
        let upper = self.known(above)?;
        let lower = self.known(below)?;
        let Some((port, Below::Place(next, next_port))) = self.edge(upper, lower) else {
            return Err(ChangeRefused(format!(
                "`{above}` does not stand on `{below}`, so nothing fits between them"
            )));
        };
        let new = self.web.places.len();
        let here = &self.web.places[upper];
        let service = here.uses[port];
        let mut added = place(
            String::from(name),
            Kind::Module,
            Vec::from([service]),
            Box::new(ModuleNode(module)),
        );
        added.above.push(Above::Place(upper, port));
        added.below.push(Below::Place(next, next_port));
        self.web.places.push(added);
        self.web.places[upper].below[port] = Below::Place(new, 0);
        self.web.places[next].above[next_port] = Above::Place(new, 0);
        let refused = self.ask_rule_book().err();
        self.web.join();
        match refused {
            None => Ok(()),
            Some(misfit) => {
                drop(self.unlink(name));
                Err(ChangeRefused(misfit.explain().as_str().into()))
            }
        }
    }

    /// Takes a module out. One that holds messages is asked to release them, and leaves later:
    /// until then its name is taken.
    ///
    /// # Errors
    /// Where that is no module.
    pub fn pop(&mut self, name: &str) -> Result<Popped<M, B>, ChangeRefused> {
        let module = self.module(name)?;
        let held = module.held();
        if held == 0 {
            return Ok(Popped::Left(self.unlink(name)));
        }
        module.drain();
        if !self.leaving.iter().any(|leaving| leaving == name) {
            self.leaving.push(String::from(name));
        }
        Ok(Popped::Draining { held })
    }

    /// Takes a module out at once, or not at all.
    ///
    /// # Errors
    /// Where that is no module, or it holds messages.
    pub fn pop_now(&mut self, name: &str) -> Result<Box<dyn Module<M, B>>, ChangeRefused> {
        let held = self.module(name)?.held();
        if held > 0 {
            let messages = if held == 1 { "message" } else { "messages" };
            return Err(ChangeRefused(format!(
                "`{name}` cannot leave: it holds {held} {messages}"
            )));
        }
        Ok(self.unlink(name))
    }

    /// Returns whether a node has that name.
    pub fn has(&self, name: &str) -> bool {
        self.web.place(name).is_some()
    }

    /// Unlinks the modules that were asked to leave, and hold nothing any more.
    #[inline]
    pub(super) fn see_off(&mut self) {
        if !self.leaving.is_empty() {
            self.see_off_the_empty();
        }
    }

    #[cold]
    fn see_off_the_empty(&mut self) {
        for name in mem::take(&mut self.leaving) {
            match self.module(&name).map(|module| module.held()) {
                Ok(0) => drop(self.unlink(&name)),
                Ok(_) => self.leaving.push(name),
                Err(_) => {}
            }
        }
    }

    fn known(&self, name: &str) -> Result<usize, ChangeRefused> {
        self.web.place(name).ok_or_else(|| {
            let names = self.web.places.iter().map(|place| place.name.as_str());
            ChangeRefused(format!(
                "nothing in this graph is called `{name}`{}",
                super::flaw::suggestion(name, names)
            ))
        })
    }

    /// Returns the port of `upper` that leads to `lower`, and what is next there: a module or a
    /// fork may stand between them.
    fn edge(&self, upper: usize, lower: usize) -> Option<(usize, Below)> {
        let places = &self.web.places;
        let leads = |below: &Below| {
            let mut next = *below;
            while let Below::Place(place, _) = next {
                if place == lower {
                    return true;
                }
                let passes = places[place].kind != Kind::Named;
                match &places[place].below[..] {
                    [only] if passes => next = *only,
                    several if passes => {
                        return several.iter().any(
                            |below| matches!(below, Below::Place(place, _) if *place == lower),
                        );
                    }
                    _ => return false,
                }
            }
            false
        };
        let below = &places[upper].below;
        below.iter().position(leads).map(|port| (port, below[port]))
    }

    fn module(&mut self, name: &str) -> Result<&mut dyn Module<M, B>, ChangeRefused> {
        let place = self.known(name)?;
        let module = self.web.places[place].node.get_mut().as_module();
        module.ok_or_else(|| {
            ChangeRefused(format!("`{name}` is not a module: only what was pushed can be popped"))
        })
    }

    /// Takes a module out, and makes its neighbours neighbours again.
    fn unlink(&mut self, name: &str) -> Box<dyn Module<M, B>> {
        let gone = self.web.place(name).expect("asked above");
        let place = self.web.places.remove(gone);
        self.leaving.retain(|leaving| leaving != name);
        let (above, below) = (place.above[0], place.below[0]);
        if let (Above::Place(upper, upper_port), Below::Place(lower, lower_port)) = (above, below) {
            let index = |place: usize| place - usize::from(place > gone);
            self.web.places[index(upper)].below[upper_port] = below;
            self.web.places[index(lower)].above[lower_port] = above;
        }
        self.renumber(gone);
        self.ask_rule_book().expect("what fits with a module fits without it");
        self.web.join();
        place.node.into_inner().into_module().expect("asked above")
    }

    /// Asks the rule book about every place, and notes the facts of each on all that is below it.
    fn ask_rule_book(&mut self) -> Result<(), Misfit> {
        let mut wholes = alloc::vec![None; self.web.places.len()];
        for place in 0..wholes.len() {
            self.whole(place, &mut wholes)?;
        }
        for (place, whole) in self.web.places.iter_mut().zip(wholes.into_iter().flatten()) {
            place.whole = whole;
        }
        Ok(())
    }

    /// Returns the facts of a place on all that is below it, as the builder found them.
    fn whole(&self, place: usize, wholes: &mut [Option<Facts>]) -> Result<Facts, Misfit> {
        if let Some(whole) = wholes[place] {
            return Ok(whole);
        }
        let here = &self.web.places[place];
        let mut lowers = Vec::new();
        for below in &here.below {
            if let Below::Place(lower, _) = below {
                lowers.push(self.whole(*lower, wholes)?);
            }
        }
        let whole = if here.kind == Kind::Between {
            lowers.into_iter().reduce(|left, right| rules::joined(&left, &right))
        } else {
            // As `Beside` leans: to the right.
            lowers.into_iter().rev().reduce(|right, left| rules::beside(&left, &right))
        };
        let whole = match whole {
            None => here.facts,
            Some(below) if here.kind == Kind::Between => below,
            Some(below) => {
                rules::fits(&here.facts, &below)?;
                rules::stacked(&here.facts, &below)
            }
        };
        wholes[place] = Some(whole);
        Ok(whole)
    }

    /// Renumbers the places behind `gone`, which have moved up.
    fn renumber(&mut self, gone: usize) {
        let up = |place: &mut usize| *place -= usize::from(*place > gone);
        for place in &mut self.web.places {
            for above in &mut place.above {
                if let Above::Place(upper, _) = above {
                    up(upper);
                }
            }
            for below in &mut place.below {
                if let Below::Place(lower, _) = below {
                    up(lower);
                }
            }
        }
        self.roots.iter_mut().for_each(up);
        self.tops.iter_mut().for_each(|(place, _)| up(place));
        self.lanes.iter_mut().for_each(|(place, _)| up(place));
    }
}
