//! Groups in the simulator, with faults of every kind: what has to hold, holds; and without any one
//! rule of the membership it does not.
//!
//! They are here, not in `tests`, because only here a rule can be left out.

mod attacks;
mod calm;
mod cuts;
mod directed;
mod hostile;
mod layers;
mod liars;
mod multicast;
mod nth;
mod parts;
mod ring;
mod scene;
mod seeds;
mod star;
mod totality;
