//! What has to hold in every run, whatever a plan says.
//!
//! **W1** a limit is within the bounds of its estimator. **W2** when a request is admitted, no more are in flight than
//! the limit in force. **W3** a request is refused only while the limit is in use to the last permit. **W4** no limit
//! is absorbing: after [`PATIENCE_FIXED`] + [`PATIENCE_TIMES`] · limit healthy completions at one limit it has moved, or
//! is the greatest; healthy is a success that met a free slot although its limiter was full. **W5** the books balance:
//! offered = admitted + refused, admitted = succeeded + failed + timed out + in flight at the end. **W6** the same plan
//! and seed give the same run.
//!
//! W4 is asked of our presets only: that the references break it is known, and why they are kept is to show it.

use core::fmt;

/// Healthy completions at a limit of zero that a limit may last.
pub(super) const PATIENCE_FIXED: u64 = 2_000;
/// And so many more for each permit: our presets dip every 60 limits' worth at least.
pub(super) const PATIENCE_TIMES: u64 = 200;

/// A rule that did not hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Broken {
    /// W1.
    OutOfBounds {
        /// Limit answered.
        limit: u32,
        /// Least and greatest allowed.
        bounds: (u32, u32),
    },
    /// W2.
    OverLimit {
        /// In flight with the request that was admitted.
        in_flight: u32,
        /// Limit in force.
        limit: u32,
    },
    /// W3.
    RefusedWithRoom {
        /// In flight.
        in_flight: u32,
        /// Limit in force.
        limit: u32,
    },
    /// W4.
    Absorbing {
        /// The limit that lasts.
        limit: u32,
        /// Healthy completions at it.
        healthy: u64,
    },
    /// W5.
    Books {
        /// Requests on one side.
        left: u64,
        /// And on the other.
        right: u64,
    },
    /// W6.
    NotTheSame,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutOfBounds { limit, bounds: (min, max) } => {
                write!(f, "W1: limit is {limit}, allowed is {min} to {max}")
            }
            Self::OverLimit { in_flight, limit } => {
                write!(f, "W2: {in_flight} in flight after an admission, allowed is the limit {limit}")
            }
            Self::RefusedWithRoom { in_flight, limit } => {
                write!(f, "W3: refused with {in_flight} in flight, allowed is at the limit {limit}")
            }
            Self::Absorbing { limit, healthy } => {
                write!(f, "W4: limit {limit} has lasted {healthy} healthy completions, allowed is to move")
            }
            Self::Books { left, right } => write!(f, "W5: {left} requests came and {right} went"),
            Self::NotTheSame => write!(f, "W6: a second run of the same plan and seed differs"),
        }
    }
}

/// Watches one limiter.
#[derive(Debug)]
pub(super) struct Watch {
    bounds: (u32, u32),
    has_to_move: bool,
    limit: u32,
    healthy: u64,
    broken: Option<Broken>,
}

impl Watch {
    pub(super) fn new(bounds: (u32, u32), has_to_move: bool, limit: u32) -> Self {
        let mut watch = Self { bounds, has_to_move, limit, healthy: 0, broken: None };
        watch.limit_is(limit);
        watch
    }

    /// The first rule that did not hold.
    pub(super) const fn broken(&self) -> Option<Broken> {
        self.broken
    }

    #[cold]
    fn breaks(&mut self, rule: Broken) {
        self.broken.get_or_insert(rule);
    }

    /// A limit was answered.
    #[inline]
    pub(super) fn limit_is(&mut self, limit: u32) {
        if limit != self.limit {
            (self.limit, self.healthy) = (limit, 0);
        }
        if !(self.bounds.0..=self.bounds.1).contains(&limit) {
            self.breaks(Broken::OutOfBounds { limit, bounds: self.bounds });
        }
    }

    /// A request was admitted, itself in flight.
    #[inline]
    pub(super) fn admitted(&mut self, in_flight: u32, limit: u32) {
        if in_flight > limit {
            self.breaks(Broken::OverLimit { in_flight, limit });
        }
    }

    /// A request was refused.
    #[inline]
    pub(super) fn refused(&mut self, in_flight: u32, limit: u32) {
        if in_flight < limit {
            self.breaks(Broken::RefusedWithRoom { in_flight, limit });
        }
    }

    /// A success that met a free slot, with so many in flight when it was admitted.
    #[inline]
    pub(super) fn healthy(&mut self, in_flight: u32) {
        if !self.has_to_move || in_flight < self.limit || self.limit == self.bounds.1 {
            return;
        }
        self.healthy += 1;
        if self.healthy > PATIENCE_FIXED + PATIENCE_TIMES * u64::from(self.limit) {
            self.breaks(Broken::Absorbing { limit: self.limit, healthy: self.healthy });
        }
    }

    /// A request that waited in the server, or was lost: there is reason to stay.
    #[inline]
    pub(super) const fn unhealthy(&mut self) {
        self.healthy = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_noticed_when_it_breaks() {
        let broken = |break_it: &dyn Fn(&mut Watch)| {
            let mut watch = Watch::new((1, 10), true, 5);
            break_it(&mut watch);
            watch.broken()
        };
        assert_eq!(broken(&|watch| watch.limit_is(10)), None);
        let out = Broken::OutOfBounds { limit: 11, bounds: (1, 10) };
        assert_eq!(broken(&|watch| watch.limit_is(11)), Some(out));
        assert_eq!(broken(&|watch| watch.admitted(5, 5)), None);
        assert_eq!(broken(&|watch| watch.admitted(6, 5)), Some(Broken::OverLimit { in_flight: 6, limit: 5 }));
        assert_eq!(broken(&|watch| watch.refused(6, 5)), None);
        let room = Broken::RefusedWithRoom { in_flight: 4, limit: 5 };
        assert_eq!(broken(&|watch| watch.refused(4, 5)), Some(room));
    }

    #[test]
    fn a_limit_that_lasts_while_all_is_well_is_absorbing_unless_it_is_the_greatest() {
        let patience = PATIENCE_FIXED + 5 * PATIENCE_TIMES;
        let mut watch = Watch::new((1, 10), true, 5);
        for _ in 0..patience {
            watch.healthy(5);
            watch.healthy(4);
        }
        assert_eq!(watch.broken(), None);
        watch.healthy(5);
        assert!(matches!(watch.broken(), Some(Broken::Absorbing { limit: 5, .. })));
        for mut excused in [Watch::new((1, 5), true, 5), Watch::new((1, 10), false, 5)] {
            for _ in 0..=patience {
                excused.healthy(5);
            }
            assert_eq!(excused.broken(), None);
        }
        let mut moving = Watch::new((1, 10), true, 5);
        for step in 0..=patience {
            moving.healthy(5);
            moving.limit_is(if step % 100 == 0 { 4 } else { 5 });
        }
        assert_eq!(moving.broken(), None);
    }
}
