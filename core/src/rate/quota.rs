//! [`Quota`]: a rate and a burst, as people say them, and `Terms`: the same, checked and reduced.

use core::num::NonZeroU64;
use core::time::Duration;

use crate::error::Rules;
use crate::num;

/// So many tokens per time, and how many may be taken at once.
///
/// A plain description; the limiter that is built from it checks it, and names everything that is wrong with it.
///
/// ```
/// use core::time::Duration;
/// use tollgate::rate::Quota;
///
/// let api = Quota::per_second(100).burst(20);
/// let odd = Quota::new(7, Duration::from_millis(1_500)); // 7 tokens every 1.5 s, burst 7
/// assert_eq!((odd.tokens(), odd.capacity()), (7, 7));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Quota {
    tokens: u64,
    per: Duration,
    burst: u64,
}

impl Quota {
    /// `tokens` every `per`, evenly; `burst` is `tokens` until [set](Self::burst).
    #[must_use]
    pub const fn new(tokens: u64, per: Duration) -> Self {
        Self { tokens, per, burst: tokens }
    }

    /// `tokens` every second.
    #[must_use]
    pub const fn per_second(tokens: u64) -> Self {
        Self::new(tokens, Duration::from_secs(1))
    }

    /// `tokens` every minute.
    #[must_use]
    pub const fn per_minute(tokens: u64) -> Self {
        Self::new(tokens, Duration::from_secs(60))
    }

    /// `tokens` every hour.
    #[must_use]
    pub const fn per_hour(tokens: u64) -> Self {
        Self::new(tokens, Duration::from_secs(3_600))
    }

    /// `tokens` every 24 hours.
    #[must_use]
    pub const fn per_day(tokens: u64) -> Self {
        Self::new(tokens, Duration::from_secs(86_400))
    }

    /// The same rate with another capacity: what may be taken at once after a long idle time, in tokens.
    #[must_use]
    pub const fn burst(self, tokens: u64) -> Self {
        Self { burst: tokens, ..self }
    }

    /// Tokens in each [`period`](Self::period).
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The time over which [`tokens`](Self::tokens) accrue.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.per
    }

    /// What may be taken at once, in tokens.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.burst
    }

    /// States the rules of a quota, and returns its terms if it keeps them.
    pub(super) fn terms(&self, rules: &mut Rules) -> Option<Terms> {
        let per = self.per.as_nanos();
        rules
            .require(self.tokens > 0, "quota.tokens", self.tokens, "1 token or more")
            .require(
                per > 0 && per <= num::widen(u64::MAX),
                "quota.per",
                per,
                "1 to 18446744073709551615 ns (584 years)",
            )
            .require(self.burst > 0, "quota.burst", self.burst, "1 token or more");
        let tokens = NonZeroU64::new(self.tokens)?;
        let period_ns = NonZeroU64::new(num::narrow(per))?;
        let divisor = num::gcd(tokens, period_ns);
        Some(Terms {
            tokens: NonZeroU64::new(tokens.get() / divisor)?,
            period_ns: NonZeroU64::new(period_ns.get() / divisor)?,
            burst: self.burst,
        })
    }
}

/// A checked quota in lowest terms: `tokens` every `period_ns`, exactly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Terms {
    pub(super) tokens: NonZeroU64,
    pub(super) period_ns: NonZeroU64,
    pub(super) burst: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_lowest_terms() {
        let mut rules = Rules::new();
        let terms = Quota::per_second(100).burst(7).terms(&mut rules).unwrap();
        assert_eq!((terms.tokens.get(), terms.period_ns.get(), terms.burst), (1, 10_000_000, 7));
        rules.verdict().unwrap();
    }

    #[test]
    fn a_quota_tells_what_it_was_made_of() {
        let quota = Quota::new(3, Duration::from_secs(2)).burst(5);
        assert_eq!((quota.tokens(), quota.period(), quota.capacity()), (3, Duration::from_secs(2), 5));
        assert_eq!(Quota::new(3, Duration::from_secs(2)).capacity(), 3);
    }

    #[test]
    fn every_broken_rule_is_named() {
        let mut rules = Rules::new();
        assert!(Quota::new(0, Duration::MAX).burst(0).terms(&mut rules).is_none());
        assert_eq!(rules.verdict().unwrap_err().violations().len(), 3);
    }
}
