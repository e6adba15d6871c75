//! Finds the few events that a failure needs.

/// Returns a part of `events`, in their order, with which `fails` still holds, and from which no
/// single event can be removed.
///
/// Delta debugging (Zeller, Hildebrandt: *Simplifying and isolating failure-inducing input*, 2002):
/// ever smaller pieces are left out, as long as what remains fails. `fails` is called about `n²`
/// times at worst for `n` events, and about `k log n` times if a failure needs only `k` of them.
///
/// ```
/// use stackwright_simulator::shrink;
/// let needed = shrink((0..1000).collect(), |some| some.contains(&17) && some.contains(&800));
/// assert_eq!(needed, [17, 800]);
/// ```
///
/// # Panics
/// If all events together do not fail.
pub fn shrink<T: Clone>(mut events: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    assert!(fails(&events), "what does not fail cannot be made to fail with less");
    let mut piece = events.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        let before = events.len();
        while start < events.len() {
            let end = (start + piece).min(events.len());
            let rest = [&events[..start], &events[end..]].concat();
            if fails(&rest) {
                events = rest;
            } else {
                start = end;
            }
        }
        // An event that was needed together with a removed one may be removable now.
        if piece == 1 && events.len() == before {
            break;
        }
        piece = if piece > 1 { piece.div_ceil(2) } else { piece.min(events.len()) };
    }
    events
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn nothing_is_needed_where_everything_fails() {
        assert_eq!(shrink((0..100).collect(), |_| true), Vec::<i32>::new());
    }

    #[test]
    fn what_is_needed_stays_in_order() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let all: Vec<u32> = (0..random.u32(1..300)).collect();
            let needed: Vec<u32> = all.iter().copied().filter(|_| random.u8(..) < 8).collect();
            let mut asked = 0;
            let found = shrink(all.clone(), |some| {
                asked += 1;
                needed.iter().all(|one| some.contains(one))
            });
            assert_eq!(found, needed, "seed {seed}");
            assert!(asked <= 2 + 2 * all.len() * all.len(), "seed {seed}: asked {asked} times");
        }
    }

    #[test]
    fn one_of_two_is_enough() {
        let found = shrink((0..64).collect(), |some| some.contains(&3) || some.contains(&60));
        assert_eq!(found.len(), 1);
    }

    #[test]
    #[should_panic(expected = "cannot be made to fail")]
    fn what_does_not_fail_is_a_mistake() {
        shrink(vec![1, 2, 3], |_| false);
    }
}
