//! The oracle: the best fixed limit, found by trying.
//!
//! It is the yardstick, not a policy: it knows the whole run beforehand. A sweep tries every limit up to 12 and then
//! steps of 12 %, up to the most that was ever in flight without a limit (above that no limit binds). Goodput has a
//! plateau: many limits are as good as the best, and the greater ones only add latency. So the oracle is the
//! *smallest* limit within 0.5 % of the best goodput; without that rule its latency would be arbitrary. Last it is
//! refined by bisection between the last limit of the sweep that fell short and the first that did not.
//!
//! Goodput is taken as rising up to the plateau. Where chance makes it uneven the answer is still a limit within
//! 0.5 % of the best one seen, whose predecessor was tried and fell short.
//!
//! **Work** one run for each limit tried, about 12 + 20·log₁₀(most / 12) + 5; no limit is tried twice.

use std::collections::BTreeMap;

/// Limits tried one by one.
const DENSE_TO: u32 = 12;
/// A limit is as good as the best if its goodput is at least this many thousandths of it.
const PLATEAU_PER_MILLE: u128 = 995;

/// What the search found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Oracle {
    /// The smallest limit within 0.5 % of the best goodput.
    pub limit: u32,
    /// Its goodput, as measured.
    pub goodput: u64,
    /// Limits tried.
    pub tried: u32,
}

/// Limits of the sweep: 1 to 12, then steps of 12 % (rounded up), the last one `most`.
#[must_use]
pub fn sweep(most: u32) -> Vec<u32> {
    let most = most.max(1);
    let next = |&limit: &u32| {
        let step = if limit < DENSE_TO { 1 } else { limit.saturating_mul(12).div_ceil(100) };
        (limit < most).then(|| limit.saturating_add(step).min(most))
    };
    core::iter::successors(Some(1), next).collect()
}

/// Searches `1..=most`. `measure` gives the goodput of a limit, as a count of what was on time.
///
/// # Errors
/// The first error of `measure`.
pub fn search<E>(most: u32, mut measure: impl FnMut(u32) -> Result<u64, E>) -> Result<Oracle, E> {
    let mut seen = BTreeMap::new();
    for limit in sweep(most) {
        seen.insert(limit, measure(limit)?);
    }
    loop {
        let best = seen.values().copied().max().unwrap_or(0);
        let good = |&(_, &goodput): &(&u32, &u64)| {
            u128::from(goodput) * 1000 >= u128::from(best) * PLATEAU_PER_MILLE
        };
        let (limit, goodput) = seen.iter().find(good).map_or((1, 0), |(&limit, &goodput)| (limit, goodput));
        let below = seen.range(..limit).next_back().map_or(0, |(&limit, _)| limit);
        if limit - below <= 1 {
            let tried = u32::try_from(seen.len()).unwrap_or(u32::MAX);
            return Ok(Oracle { limit, goodput, tried });
        }
        let middle = below.midpoint(limit);
        seen.insert(middle, measure(middle)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;

    fn found(most: u32, goodput: impl Fn(u32) -> u64) -> Oracle {
        let mut tried = Vec::new();
        let oracle = search(most, |limit| {
            assert!((1..=most).contains(&limit) && !tried.contains(&limit), "{limit} after {tried:?}");
            tried.push(limit);
            Ok::<u64, Infallible>(goodput(limit))
        });
        oracle.unwrap()
    }

    #[test]
    fn the_sweep_takes_every_limit_to_twelve_and_then_steps_of_an_eighth_or_so() {
        assert_eq!(sweep(16), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16]);
        assert_eq!(sweep(3), [1, 2, 3]);
        assert_eq!(sweep(0), [1]);
        let long = sweep(6_000);
        assert_eq!(long.last(), Some(&6_000));
        assert!(long.len() < 70, "{}", long.len());
        assert!(long.windows(2).all(|pair| pair[1] <= pair[0] + 1 + pair[0] * 13 / 100));
    }

    #[test]
    fn of_a_plateau_the_smallest_limit_is_found_to_the_unit() {
        for knee in [1, 5, 13, 37, 100, 777] {
            let oracle = found(1_000, |limit| 10_000 * u64::from(limit.min(knee)));
            // Within 0.5 % of the best is as good as the best.
            let expected = (995 * knee).div_ceil(1000);
            assert_eq!(oracle.limit, expected, "knee {knee}");
            assert!(oracle.tried < 60);
        }
    }

    #[test]
    fn past_a_peak_the_greater_limits_are_not_chosen() {
        let oracle =
            found(500, |limit| if limit <= 41 { u64::from(limit) * 100 } else { 4100 - u64::from(limit) });
        assert!((36..=41).contains(&oracle.limit), "{oracle:?}");
    }

    #[test]
    fn where_nothing_is_ever_on_time_the_smallest_limit_is_as_good_as_any() {
        assert_eq!(found(50, |_| 0).limit, 1);
    }
}
