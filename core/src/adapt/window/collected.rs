//! The samples of one open window.

use core::time::Duration;

use crate::adapt::sample::{Outcome, Sample};
use crate::error::ConfigError;
use crate::num;
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

pub(super) struct Collected<S: Storage> {
    /// Round-trip times, ns, every `stride`-th one; used for percentiles only.
    stored: S::Buffer<u64>,
    capacity: u32,
    stride: u32,
    count: u32,
    sum_ns: u128,
    least_ns: u64,
    in_flight: u32,
    dropped: bool,
    started: Timestamp,
}

impl<S: Storage> Collected<S> {
    /// Empty, with room for `capacity` stored round-trip times; 0 stores none.
    pub(super) fn new(capacity: u32) -> Result<Self, ConfigError> {
        Ok(Self {
            stored: S::buffer(capacity)?,
            capacity,
            stride: 1,
            count: 0,
            sum_ns: 0,
            least_ns: u64::MAX,
            in_flight: 0,
            dropped: false,
            started: Timestamp::MAX,
        })
    }

    pub(super) fn clear(&mut self) {
        while self.stored.pop().is_some() {}
        (self.stride, self.count, self.sum_ns, self.least_ns) = (1, 0, 0, u64::MAX);
        (self.in_flight, self.dropped, self.started) = (0, false, Timestamp::MAX);
    }

    /// Takes a sample in; with `bounded` not past the capacity.
    pub(super) fn add(&mut self, sample: &Sample, bounded: bool) {
        if bounded && self.capacity > 0 && self.count >= self.capacity {
            return;
        }
        let rtt_ns = num::nanos(sample.rtt);
        self.store(rtt_ns);
        self.count = self.count.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(num::widen(rtt_ns));
        self.least_ns = self.least_ns.min(rtt_ns);
        self.in_flight = self.in_flight.max(sample.in_flight);
        self.dropped |= sample.outcome == Outcome::Dropped;
        self.started = self.started.min(sample.started);
    }

    fn store(&mut self, rtt_ns: u64) {
        if self.capacity == 0 || !self.count.is_multiple_of(self.stride) {
            return;
        }
        if num::index_u32(self.stored.as_ref().len()) >= self.capacity {
            self.thin_out();
            if !self.count.is_multiple_of(self.stride) {
                return;
            }
        }
        // Full only at a capacity of 1: then the first value stands for all.
        let _full = self.stored.push(rtt_ns).is_err();
    }

    /// Keeps every second stored value, and of the coming ones half as many as so far.
    fn thin_out(&mut self) {
        let kept = self.stored.as_ref().len().div_ceil(2);
        for to in 0..kept {
            let from = self.stored.as_ref().get(to.saturating_mul(2)).copied();
            if let (Some(value), Some(place)) = (from, self.stored.as_mut().get_mut(to)) {
                *place = value;
            }
        }
        while self.stored.as_ref().len() > kept {
            self.stored.pop();
        }
        self.stride = self.stride.saturating_mul(2);
    }

    /// The window as one sample with its mean round-trip time; `None` if it is empty.
    pub(super) fn average(&self) -> Option<Sample> {
        let mean = self.sum_ns.checked_div(self.count.into())?;
        Some(self.summary(num::narrow(mean)))
    }

    /// The window as one sample with the round-trip time at `rank`; `None` if it is empty, or `strict` and the rank
    /// rounds to none.
    pub(super) fn percentile(&self, rank: f64, strict: bool) -> Option<Sample> {
        let stored = self.stored.as_ref();
        let length = num::index_u32(stored.len());
        let place = num::trunc_u64(f64::from(length) * rank + 0.5);
        if length == 0 || (strict && place == 0) {
            return None;
        }
        Some(self.summary(nth_least(stored, place.clamp(1, length.into()))))
    }

    fn summary(&self, rtt_ns: u64) -> Sample {
        Sample {
            started: self.started,
            rtt: Duration::from_nanos(rtt_ns),
            in_flight: self.in_flight,
            outcome: if self.dropped { Outcome::Dropped } else { Outcome::Success },
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    pub(super) const fn least_rtt(&self) -> Duration {
        Duration::from_nanos(self.least_ns)
    }

    #[cfg(test)]
    pub(super) fn stored(&self) -> &[u64] {
        self.stored.as_ref()
    }
}

/// The `place`-th least of `values`, counted from 1: the least `v` that `place` of them do not exceed. Found by
/// halving the range of `u64`, 64 passes at most; needs no second buffer and cannot panic, as sorting might.
fn nth_least(values: &[u64], place: u64) -> u64 {
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low.midpoint(high);
        let mut within = 0_u64;
        for &value in values {
            within = within.saturating_add(u64::from(value <= middle));
        }
        if within >= place {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::nth_least;

    #[test]
    fn the_nth_least_is_what_sorting_would_give() {
        let values = [7, 0, u64::MAX, 7, 3, 1 << 40];
        let mut sorted = values;
        sorted.sort_unstable();
        for (place, value) in (1..).zip(sorted) {
            assert_eq!(nth_least(&values, place), value);
        }
    }
}
