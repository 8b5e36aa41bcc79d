//! Which limits of the sweep are worth a run.
//!
//! What a limit is worth rises with it up to a plateau and falls behind, with noise of far less than a tenth. So every
//! fourth limit is tried, and then all those between two of them of which one is within a tenth of the best: between
//! two that are not, there is no limit within half a percent, and all that are enter the sweep's best. A run is worth
//! something in all and in each measured phase, and each of these has its own plateau; they are all looked at.
//!
//! The sweep ends where nothing was refused, for no greater limit makes a difference; and where two that were tried in a
//! row are under half the best in all respects, for past a peak it would only measure the depth of a collapse.

/// Of so many limits one is tried at first.
const STRIDE: usize = 4;
/// Percent of the best from which a limit's neighbours are tried.
const NEAR_PERCENT: u128 = 90;

/// A limit that was tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried<T> {
    pub(super) limit: u32,
    /// What it was worth, in each respect.
    pub(super) worth: Vec<u64>,
    /// Nobody was refused.
    pub(super) unrefused: bool,
    pub(super) outcome: T,
}

/// Tries those of `limits`, in order, that may matter; answers them in that order.
pub(super) fn search<T, E>(
    limits: &[u32],
    mut attempt: impl FnMut(u32) -> Result<Tried<T>, E>,
) -> Result<Vec<Tried<T>>, E> {
    let mut places: Vec<Option<Tried<T>>> = limits.iter().map(|_| None).collect();
    let mut coarse: Vec<usize> =
        (0..limits.len()).step_by(STRIDE).chain(limits.len().checked_sub(1)).collect();
    coarse.dedup();
    for (count, &place) in coarse.iter().enumerate() {
        let tried = attempt(limits[place])?;
        let last = tried.unrefused;
        places[place] = Some(tried);
        let row = [count.checked_sub(1).map(|before| coarse[before]), Some(place)];
        if last || row.iter().all(|place| place.is_some_and(|place| is_hopeless(&places, place))) {
            break;
        }
    }
    loop {
        let open = open(&places);
        if open.is_empty() {
            return Ok(places.into_iter().flatten().collect());
        }
        for place in open {
            places[place] = Some(attempt(limits[place])?);
        }
    }
}

/// The best in each respect.
fn best<T>(places: &[Option<Tried<T>>]) -> Vec<u64> {
    let mut best = Vec::new();
    for tried in places.iter().flatten() {
        best.resize(tried.worth.len(), 0);
        for (best, &worth) in best.iter_mut().zip(&tried.worth) {
            *best = worth.max(*best);
        }
    }
    best
}

/// Whether it is under half the best in all respects.
fn is_hopeless<T>(places: &[Option<Tried<T>>], place: usize) -> bool {
    let best = best(places);
    places[place]
        .as_ref()
        .is_some_and(|tried| tried.worth.iter().zip(best).all(|(&worth, best)| worth < best / 2))
}

/// The limits not tried between two that were and of which one is near the best in some respect.
fn open<T>(places: &[Option<Tried<T>>]) -> Vec<usize> {
    let best = best(places);
    let near = |tried: &Tried<T>| {
        let near = |(&worth, &best): (&u64, &u64)| u128::from(worth) * 100 >= u128::from(best) * NEAR_PERCENT;
        tried.worth.iter().zip(&best).any(near)
    };
    let tried: Vec<(usize, bool)> =
        places.iter().enumerate().filter_map(|(place, tried)| Some((place, near(tried.as_ref()?)))).collect();
    let between = tried.windows(2).filter(|pair| pair.iter().any(|&(_, near)| near));
    between.flat_map(|pair| pair[0].0 + 1..pair[1].0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries limits worth `worth`, nobody refused from `unrefused` on; answers the limits that were tried.
    fn limits(worth: impl Fn(u32) -> Vec<u64>, unrefused: u32) -> Vec<u32> {
        let all: Vec<u32> = (1..=41).collect();
        let attempt = |limit| {
            Ok::<_, ()>(Tried { limit, worth: worth(limit), unrefused: limit >= unrefused, outcome: () })
        };
        search(&all, attempt).unwrap().into_iter().map(|tried| tried.limit).collect()
    }

    #[test]
    fn all_limits_about_the_plateau_are_tried_and_few_elsewhere() {
        let tried = limits(|limit| vec![1000 - 40 * u64::from(limit.abs_diff(19))], 100);
        assert_eq!(tried, [1, 5, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 29, 33, 37]);
    }

    #[test]
    fn a_peak_between_two_that_were_tried_is_climbed_from_the_nearer_one() {
        let steep = |limit: u32| vec![1000 >> (2 * limit.abs_diff(19))];
        let tried = limits(steep, 100);
        assert!([18, 19, 20].iter().all(|limit| tried.contains(limit)), "{tried:?}");
        assert!(!tried.contains(&41), "the sweep ends behind the peak: {tried:?}");
    }

    #[test]
    fn each_respect_has_its_own_plateau() {
        let two = |limit: u32| [5, 37].map(|peak| 1000 - 20 * u64::from(limit.abs_diff(peak))).to_vec();
        let tried = limits(two, 100);
        assert!((2..=9).chain(33..=40).all(|limit| tried.contains(&limit)), "{tried:?}");
        assert!(!tried.contains(&20), "{tried:?}");
    }

    #[test]
    fn nothing_is_tried_beyond_a_limit_that_refuses_nobody() {
        let tried = limits(|limit| vec![u64::from(limit.min(13))], 14);
        assert_eq!(tried.last(), Some(&17));
        assert!((10..=17).all(|limit| tried.contains(&limit)), "{tried:?}");
    }
}
