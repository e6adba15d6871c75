//! Several uppers of one service on one lower.
//!
//! Each upper gives names from a table of its own, so two of them may give the same one. Between
//! them and the lower stands the [`Split`], which has a table of its own towards the lower, and
//! leads what the lower tells by its name.
//!
//! UDP and TCP on one IP are such a stack. A graph does the same where nodes share a lower node;
//! its traces are compared with those of this one.

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Both, Context, Either, Facts, Guarantees, Handle, IndicationTo, Life, Mirror,
    NameAbove, Names, Outlet, Protocol, RequestTo, Service, Word,
};

use super::{Beside, Over};

/// `U1` and `U2` on one `L`.
pub type Fork<U1, U2, L> = Over<Beside<U1, U2>, Over<Split<<L as Protocol>::Provides>, L>>;

/// Puts two uppers of one service on one lower. Does not compile where the rule book refuses one of
/// them.
pub const fn fork<U1, U2, L>(one: U1, other: U2, lower: L) -> Fork<U1, U2, L>
where
    L: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    U1: Protocol<Uses = L::Provides>,
    U2: Protocol<Uses = L::Provides>,
{
    const {
        Over::<U1, L>::fits();
        Over::<U2, L>::fits();
    };
    Over::new(Beside::new(one, other), Over::new(Split::new(), lower))
}

/// Renames what several uppers give the same name.
#[derive(Debug)]
pub(crate) struct Branches {
    /// Towards the lower: the upper that gave the name, and what it calls it.
    names: Names<(usize, Handle)>,
    /// Towards each upper: what the lower calls it.
    uppers: Vec<Mirror<Handle>>,
}

/// What no lower ever knew, so that it answers as for a name that has ended.
const NOBODY: Handle = Handle { index: u32::MAX, generation: u32::MAX };

impl Branches {
    pub(crate) const fn new() -> Self {
        // The tables are made with the first word of an upper: a stack is made in constants, too.
        Branches { names: Names::new(), uppers: Vec::new() }
    }

    /// Returns the number of living names.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Renames what `upper` asks; returns `false` where its name has ended.
    pub(crate) fn sink(&mut self, upper: usize, request: &mut impl Word) -> bool {
        while self.uppers.len() <= upper {
            self.uppers.push(Mirror::default());
        }
        let mirror = &mut self.uppers[upper];
        if let Some(listener) = request.listener_mut() {
            // The lower answers for a listener that has ended.
            *listener = mirror.get(*listener).copied().unwrap_or(NOBODY);
        }
        let life = request.life();
        let Some(name) = request.name_mut() else { return true };
        if life == Life::Begins {
            let below = self.names.name((upper, *name));
            mirror.insert(*name, below);
            *name = below;
            return true;
        }
        let Some(below) = mirror.get(*name) else { return false };
        *name = *below;
        true
    }

    /// Renames what the lower tells, and returns the upper for which it is; `None` where the name
    /// has ended.
    pub(crate) fn rise(&mut self, indication: &mut impl Word) -> Option<usize> {
        let life = indication.life();
        let name = indication.name_mut()?;
        let below = *name;
        let (upper, above) = *self.names.get(below)?;
        *name = above;
        if life == Life::Ends {
            self.names.forget(below);
            self.uppers[upper].remove(above);
        }
        Some(upper)
    }

    /// Returns what the lower calls a name of `upper`.
    pub(crate) fn below(&self, upper: usize, name: Handle) -> Option<Handle> {
        self.uppers.get(upper)?.get(name).copied()
    }
}

/// Stands between two uppers and the lower that they share.
#[derive(Debug)]
pub struct Split<S> {
    branches: Branches,
    service: PhantomData<S>,
}

impl<S> Split<S> {
    /// Makes a table without any names.
    pub const fn new() -> Self {
        Split { branches: Branches::new(), service: PhantomData }
    }

    /// Returns the number of living names, of both uppers together.
    pub fn names(&self) -> usize {
        self.branches.len()
    }
}

impl<S> Default for Split<S> {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) const NAME: &str = "fork";
pub(crate) const ENDED: &str = "a word for a name that has ended";
impl<S: Service<Request: Word, Indication: Word, Name = Handle>> Protocol for Split<S> {
    const FACTS: Facts = Facts { passes: Guarantees::ALL, ..Facts::named(NAME) };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Both<S, S>;
    type Uses = S;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let (upper, mut request) = match request {
            Either::Left(request) => (0, request),
            Either::Right(request) => (1, request),
        };
        if self.branches.sink(upper, &mut request) {
            out.request(request);
        } else {
            cx.dropped(NAME, ENDED);
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        mut word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match self.branches.rise(&mut word) {
            Some(0) => out.indicate(Either::Left(word)),
            Some(_) => out.indicate(Either::Right(word)),
            None => cx.dropped(NAME, ENDED),
        }
    }

    fn ask(&self, about: NameAbove<Self>, question: &mut Question<'_>, below: &dyn Ask<S>) {
        let (upper, name) = match about {
            Either::Left(name) => (0, name),
            Either::Right(name) => (1, name),
        };
        if let Some(name) = self.branches.below(upper, name) {
            below.ask(name, question);
        }
    }
}
