//! What is fair: max-min shares, and Jain's index of how near to them a result is.
//!
//! **Max-min fair.** A capacity is shared so that nobody can get more without somebody getting less who has no more by
//! weight: whoever asks for less than its share gets all it asks for, and the rest is shared among the others by weight.
//! Fill everybody's glass at a speed of its weight, and stop filling those that are full, until nothing is left.
//!
//! **Jain's index** (Jain, Chiu & Hawe, 1984) of x₁…xₙ is (Σx)² / (n·Σx²): 1 where all are equal, 1/n where one has it
//! all.

/// Shares `capacity` among `(demand, weight)` pairs. O(n²), at most n rounds.
#[must_use]
pub fn max_min(demands: &[(f64, f64)], capacity: f64) -> Vec<f64> {
    let mut shares = vec![0.0; demands.len()];
    let mut open: Vec<usize> = (0..demands.len()).filter(|&i| demands[i].1 > 0.0).collect();
    let mut left = capacity;
    loop {
        let weights: f64 = open.iter().map(|&i| demands[i].1).sum();
        let level = left / weights;
        let (full, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&i| demands[i].0 <= level * demands[i].1);
        if full.is_empty() {
            for &i in &rest {
                shares[i] = level * demands[i].1;
            }
            return shares;
        }
        for i in full {
            shares[i] = demands[i].0;
            left -= demands[i].0;
        }
        open = rest;
        if open.is_empty() {
            return shares;
        }
    }
}

/// Jain's index; `NaN` of nothing, or of nothing but zeros.
#[must_use]
pub fn jain(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sum += value;
        squares += value * value;
    }
    sum * sum / (n * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(demands: &[f64], capacity: f64) -> Vec<f64> {
        max_min(&demands.iter().map(|&demand| (demand, 1.0)).collect::<Vec<_>>(), capacity)
    }

    /// Whole tenths do not add up exactly.
    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn max_min_shares_are_those_that_kubernetes_tests_for() {
        assert!(near(&equal(&[47.0, 0.0], 42.0), &[42.0, 0.0]));
        assert!(near(&equal(&[1.0, 47.0], 42.0), &[1.0, 41.0]));
        assert!(near(&equal(&[3.0, 7.0, 9.0, 1.0], 14.0), &[3.0, 5.0, 5.0, 1.0]));
        assert!(near(&equal(&[1.0, 9.0, 7.0, 3.0], 21.0), &[1.0, 9.0, 7.0, 3.0]));
    }

    #[test]
    fn the_rest_is_shared_by_weight() {
        assert!(near(&max_min(&[(10.0, 1.0), (10.0, 3.0)], 8.0), &[2.0, 6.0]));
        assert!(near(&max_min(&[(1.0, 3.0), (10.0, 1.0)], 8.0), &[1.0, 7.0]));
        assert!(near(&max_min(&[], 8.0), &[]));
    }

    #[test]
    fn jain_is_1_for_equals_and_1_in_n_for_one_who_has_it_all() {
        assert!((jain([2.0, 2.0, 2.0]) - 1.0).abs() < 1e-12);
        assert!((jain([5.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!(jain([]).is_nan());
        assert!(jain([0.0, 0.0]).is_nan());
    }
}
