//! Names: both sides of a boundary speak of an association by one name, given by the side that
//! asked for it.
//!
//! A name lives until its last word (`Ended`, `Closed`, an answer), which always comes, exactly
//! once. Only then is its index given again, with the next generation, so that a word that crossed
//! its end is recognised and dropped.

use alloc::vec::Vec;

/// A name: what the side that asks for an association, or a listener, calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle {
    /// The index in both sides' tables.
    pub index: u32,
    /// The number of names that had this index before.
    pub generation: u32,
}

/// The table of the side that gives the names.
#[derive(Debug)]
pub struct Names<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Names<T> {
    /// Makes an empty table.
    pub const fn new() -> Self {
        Names { slots: Vec::new(), free: Vec::new() }
    }

    /// Gives a name to `value`.
    pub fn name(&mut self, value: T) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 names live at once")
        });
        let (generation, slot) = &mut self.slots[index as usize];
        *slot = Some(value);
        Handle { index, generation: *generation }
    }

    /// Returns what the name stands for; `None` after its last word.
    pub fn get(&self, name: Handle) -> Option<&T> {
        match self.slots.get(name.index as usize)? {
            (generation, Some(value)) if *generation == name.generation => Some(value),
            _ => None,
        }
    }

    /// Returns what the name stands for; `None` after its last word.
    pub fn get_mut(&mut self, name: Handle) -> Option<&mut T> {
        match self.slots.get_mut(name.index as usize)? {
            (generation, Some(value)) if *generation == name.generation => Some(value),
            _ => None,
        }
    }

    /// Ends `name` after its last word: its index may be given again. Returns what it stood for.
    pub fn forget(&mut self, name: Handle) -> Option<T> {
        self.get(name)?;
        let (generation, slot) = &mut self.slots[name.index as usize];
        *generation = generation.wrapping_add(1);
        self.free.push(name.index);
        slot.take()
    }

    /// Returns all living names, in the order of their index.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, (generation, value))| {
            Some((Handle { index: index as u32, generation: *generation }, value.as_ref()?))
        })
    }

    /// Returns all living names, in the order of their index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, (generation, value))| {
            Some((Handle { index: index as u32, generation: *generation }, value.as_mut()?))
        })
    }

    /// Returns the number of living names.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns whether no name lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The table of the side that was given the names: the same index, no map.
#[derive(Debug)]
pub struct Mirror<T> {
    /// Each with the generation of its last name.
    slots: Vec<(u32, Option<T>)>,
}

impl<T> Default for Mirror<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Mirror<T> {
    /// Makes an empty table.
    pub const fn new() -> Self {
        Mirror { slots: Vec::new() }
    }

    /// Returns whether no living name has this index.
    pub fn is_vacant(&self, index: u32) -> bool {
        self.slots.get(index as usize).is_none_or(|(_, value)| value.is_none())
    }

    /// Takes over a name that the asker gave.
    pub fn insert(&mut self, name: Handle, value: T) {
        let index = name.index as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || (0, None));
        }
        debug_assert!(self.slots[index].1.is_none(), "a name lives until its last word");
        self.slots[index] = (name.generation, Some(value));
    }

    /// Returns what the name stands for; `None` after its last word.
    #[inline]
    pub fn get(&self, name: Handle) -> Option<&T> {
        let (generation, value) = self.slots.get(name.index as usize)?;
        if *generation == name.generation { value.as_ref() } else { None }
    }

    /// Returns what the name stands for; `None` after its last word.
    #[inline]
    pub fn get_mut(&mut self, name: Handle) -> Option<&mut T> {
        let (generation, value) = self.slots.get_mut(name.index as usize)?;
        if *generation == name.generation { value.as_mut() } else { None }
    }

    /// Ends `name`; the last word follows. Returns what it stood for.
    pub fn remove(&mut self, name: Handle) -> Option<T> {
        self.get(name)?;
        self.slots[name.index as usize].1.take()
    }

    /// Frees the index of `name`, whatever its generation: for an observer that may have missed a
    /// last word.
    pub fn vacate(&mut self, name: Handle) {
        if let Some((_, value)) = self.slots.get_mut(name.index as usize) {
            *value = None;
        }
    }

    /// Returns all living names, in the order of their index.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        (0..).zip(&self.slots).filter_map(|(index, (generation, value))| {
            Some((Handle { index, generation: *generation }, value.as_ref()?))
        })
    }

    /// Returns all living names, in the order of their index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        (0..).zip(&mut self.slots).filter_map(|(index, (generation, value))| {
            Some((Handle { index, generation: *generation }, value.as_mut()?))
        })
    }
}
