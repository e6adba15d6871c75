//! Runs that do not disturb each other, several at a time.

use std::sync::Mutex;
use std::thread;

use stackwright_results::Problem;

use crate::measure::Stop;

/// How many threads run at the same time.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs all of them on so many threads; the results are in the order of the runs. There are none
/// where somebody asked for the end.
///
/// # Errors
/// Where one fails.
pub(super) fn all<T: Sync, R: Send>(
    runs: &[T],
    threads: usize,
    stop: &Stop,
    run: impl Fn(&T) -> Result<R, Problem> + Sync,
) -> Result<Vec<R>, Problem> {
    let left = Mutex::new(runs.iter().enumerate());
    // The lock is not held while one runs.
    let next = || left.lock().unwrap_or_else(|lock| lock.into_inner()).next();
    let work = || {
        let mut done = Vec::new();
        while !stop.asked()
            && let Some((at, one)) = next()
        {
            done.push((at, run(one)));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(runs.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    if stop.asked() {
        return Ok(Vec::new());
    }
    if done.len() < runs.len() {
        return Err(Problem::new("a run stopped unexpectedly"));
    }
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_runs() {
        let runs: Vec<u64> = (0..20).collect();
        let slow = |run: &u64| {
            thread::sleep(std::time::Duration::from_millis(20 - run));
            Ok(10 * run)
        };
        let done = all(&runs, 3, &Stop::default(), slow).expect("none fails");
        assert_eq!(done, (0..20).map(|run| 10 * run).collect::<Vec<u64>>());
    }

    #[test]
    fn runs_go_on_at_the_same_time() {
        let (say, hear) = std::sync::mpsc::channel();
        let (say, hear) = (Mutex::new(say), Mutex::new(hear));
        let meet = |first: &bool| {
            let heard = match first {
                true => hear
                    .lock()
                    .expect("no panic")
                    .recv_timeout(std::time::Duration::from_secs(10))
                    .is_ok(),
                false => say.lock().expect("no panic").send(()).is_ok(),
            };
            Ok(heard)
        };
        let done = all(&[true, false], 2, &Stop::default(), meet).expect("none fails");
        assert_eq!(done, [true, true], "the first waits for the second");
    }

    #[test]
    fn a_failure_is_told_and_an_end_gives_nothing() {
        let fails = |run: &u64| if *run == 2 { Err(Problem::new("no")) } else { Ok(*run) };
        assert!(all(&[1, 2, 3], 2, &Stop::default(), fails).is_err());
        let stop = Stop::default();
        let ends = |run: &u64| {
            stop.ask();
            Ok(*run)
        };
        assert!(all(&[1, 2, 3], 1, &stop, ends).expect("an end is no failure").is_empty());
    }
}
