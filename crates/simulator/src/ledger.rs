//! Which names are alive: checks that a layer follows the contract about names.

use stackwright_contract::Handle;

/// Every name that was ever given on one boundary. A broken rule is the giver's bug, and stops the
/// run.
#[derive(Debug)]
pub(crate) struct Ledger {
    boundary: &'static str,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Unused,
    Living { generation: u32 },
    Ended { generation: u32 },
}

impl Ledger {
    pub(crate) fn new(boundary: &'static str) -> Self {
        Ledger { boundary, places: Vec::new() }
    }

    /// Records that the layer gives `name`.
    pub(crate) fn given(&mut self, name: Handle) {
        let index = name.index as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, Place::Unused);
        }
        match self.places[index] {
            Place::Living { generation } => panic!(
                "{}: {name:?} is given while generation {generation} of its index lives: a name lives until its last word",
                self.boundary
            ),
            Place::Ended { generation } if generation >= name.generation => panic!(
                "{}: {name:?} is given after generation {generation} of its index ended: a name is given once",
                self.boundary
            ),
            Place::Unused | Place::Ended { .. } => {
                self.places[index] = Place::Living { generation: name.generation };
            }
        }
    }

    /// Whether `name` is alive. Requests and ends cross: one for an ended name is not a bug.
    pub(crate) fn lives(&self, name: Handle) -> bool {
        match self.places.get(name.index as usize) {
            Some(Place::Living { generation }) if *generation == name.generation => true,
            Some(Place::Living { generation } | Place::Ended { generation })
                if name.generation <= *generation =>
            {
                false
            }
            _ => panic!("{}: a word for {name:?}, which was never given", self.boundary),
        }
    }

    /// Records that `name` has ended.
    pub(crate) fn ended(&mut self, name: Handle) {
        assert!(self.lives(name), "{}: a second last word on {name:?}", self.boundary);
        self.places[name.index as usize] = Place::Ended { generation: name.generation };
    }
}
