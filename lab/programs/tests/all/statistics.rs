//! Medians and intervals, against cases whose answer is known.

use stackwright_programs::statistics::{Ratio, median, quantile, ratio};

#[test]
fn a_median_is_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
}

#[test]
fn what_does_not_vary_is_certain() {
    let certain = ratio(&[2.0; 9], &[4.0; 9]);
    assert_eq!(certain, Some(Ratio { value: 0.5, low: 0.5, high: 0.5 }));
}

#[test]
fn without_rounds_or_with_nothing_to_divide_by_there_is_no_ratio() {
    assert_eq!(ratio(&[], &[]), None);
    assert_eq!(ratio(&[1.0], &[]), None);
    assert_eq!(ratio(&[1.0, 1.0], &[0.0, 0.0]), None);
}

#[test]
fn a_round_that_is_slow_for_both_moves_neither() {
    let theirs = [1.0, 1.0, 1.0, 1.0, 7.0, 1.0, 9.0, 1.0, 1.0];
    let ours = theirs.map(|seconds| 0.5 * seconds);
    assert_eq!(ratio(&ours, &theirs), Some(Ratio { value: 0.5, low: 0.5, high: 0.5 }));
}

/// Of many experiments whose true ratio is known, about 95 of 100 intervals hold it, and few of
/// another one.
#[test]
fn the_interval_holds_the_truth_as_often_as_it_says() {
    let mut state = 7_u64;
    // Between 1 and 2, the median 1.5.
    let mut sample = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut holds, mut holds_another) = (0, 0);
    for _ in 0..200 {
        let ours: Vec<f64> = (0..31).map(|_| 0.8 * sample()).collect();
        let theirs: Vec<f64> = (0..31).map(|_| sample()).collect();
        let found = ratio(&ours, &theirs).expect("there are rounds");
        holds += u32::from(found.holds(0.8));
        holds_another += u32::from(found.holds(1.2));
    }
    assert!((180..=200).contains(&holds), "{holds} of 200 hold the truth");
    assert!(holds_another < 10, "{holds_another} of 200 hold what is not true");
}

#[test]
fn a_quantile_is_a_value_that_the_part_is_not_above() {
    let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
    assert_eq!(quantile(&values, 0.95), Some(19.0));
    assert_eq!(quantile(&values, 0.0), Some(1.0));
    assert_eq!(quantile(&values, 1.0), Some(20.0));
    assert_eq!(quantile(&[], 0.95), None);
}
