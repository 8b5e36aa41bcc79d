//! [`Denied`]: which window said no, to how much, and when it will say yes.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use super::Limits;
use crate::error::{Reason, Refused};
use crate::observe::KeyObserver;
use crate::rate::rules::{Dimension, RuleId};
use crate::time::Timestamp;

/// A refusal of one dimension, with all there is to tell about it. Nothing was consumed.
///
/// Where several windows refuse, it is the one that clears last: when that one does, the same request passes, if nobody
/// else came and no rule, tier or grace changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Denied {
    /// Which dimension.
    pub dimension: Dimension,
    /// Why.
    pub reason: Reason,
    /// The rule; `None` where no rule refused (no such dimension, no room).
    pub rule: Option<RuleId>,
    /// Its limit.
    pub limit: u64,
    /// Its window.
    pub window: Duration,
    /// How much was asked for.
    pub asked: u64,
    /// What counts as consumed of the window, rounded up; beyond the limit in debt.
    pub used: u64,
    /// The most that would pass now, on all windows of the dimension.
    pub allowed: u64,
    /// After how long the same request passes, and not a nanosecond earlier. `None` if waiting does not help, or past
    /// [`Timestamp::MAX`].
    pub clears_in: Option<Duration>,
}

impl Denied {
    /// Whether the same request may pass later with nothing but time. A rate: yes (429). A used up quota, a cost above
    /// the capacity: no (422), and a client that tries again will do so for ever.
    #[must_use]
    pub const fn waiting_helps(&self) -> bool {
        self.reason.waiting_helps()
    }

    pub(in crate::rate) const fn because(reason: Reason, dimension: Dimension, asked: u64) -> Self {
        Self {
            dimension,
            reason,
            rule: None,
            limit: 0,
            window: Duration::ZERO,
            asked,
            used: 0,
            allowed: 0,
            clears_in: None,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Explanation { denied: *self, unit: "" }.fmt(f)
    }
}

impl core::error::Error for Denied {}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// A refusal as one line a person can read, in the noun of its dimension: "60 requests / 1 minute, clears in 12 s".
    #[must_use]
    pub fn explain(&self, denied: &Denied) -> Explanation<'_> {
        Explanation { denied: *denied, unit: self.rules.dimensions().unit(denied.dimension) }
    }

    /// What there is to tell about a refusal that is known to come. O(windows).
    #[cold]
    pub(in crate::rate) fn denied(
        &self,
        sheet: u32,
        now: Timestamp,
        dimension: Dimension,
        asked: u64,
    ) -> Denied {
        let mut worst: Option<(u32, Refused)> = None;
        let mut allowed = u64::MAX;
        for (place, meter) in self.in_force(sheet, Some(dimension)) {
            allowed = allowed.min(meter.machine.grantable(now));
            if let Err(refused) = meter.machine.peek(now, asked)
                && worst.is_none_or(|(_, worst)| clears_later(refused, worst))
            {
                worst = Some((place, refused));
            }
        }
        let told = worst.and_then(|(place, refused)| {
            let meter = self.meters.at(place)?;
            let rule = self.rules.rule(meter.rule)?;
            Some(Denied {
                dimension,
                reason: refused.reason,
                rule: Some(rule.id),
                limit: rule.limit,
                window: rule.window,
                asked,
                used: meter.machine.consumed(now),
                allowed,
                clears_in: refused.retry_at.map(|at| at.saturating_since(now)),
            })
        });
        told.unwrap_or_else(|| Denied::because(Reason::TenantRemoved, dimension, asked))
    }
}

/// Never is later than some day, and that later than any instant.
fn clears_later(one: Refused, other: Refused) -> bool {
    let rank =
        |refused: Refused| (!refused.reason.waiting_helps(), refused.retry_at.is_none(), refused.retry_at);
    rank(one) > rank(other)
}

/// One line about a [`Denied`].
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a> {
    denied: Denied,
    unit: &'a str,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Denied { rule, limit, window, asked, reason, clears_in, .. } = self.denied;
        if rule.is_none() {
            return reason.fmt(f);
        }
        write!(
            f,
            "{limit}{}{} / {}",
            if self.unit.is_empty() { "" } else { " " },
            self.unit,
            Window(window)
        )?;
        match (clears_in, reason) {
            (Some(wait), _) => write!(f, ", clears in {}", Wait(wait)),
            (None, Reason::ExceedsCapacity) => write!(f, ", {asked} at once can never pass"),
            (None, Reason::QuotaExhausted) => f.write_str(", used up: waiting does not help"),
            (None, _) => f.write_str(", clears beyond the end of time"),
        }
    }
}

/// A window, exactly, in the largest unit of which it is a whole number.
struct Window(Duration);

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 7] = [
            (86_400_000_000_000, "day"),
            (3_600_000_000_000, "hour"),
            (60_000_000_000, "minute"),
            (1_000_000_000, "second"),
            (1_000_000, "millisecond"),
            (1_000, "microsecond"),
            (1, "nanosecond"),
        ];
        let nanos = self.0.as_nanos();
        let whole = |(unit, _): &&(u128, &str)| nanos.is_multiple_of(*unit);
        let (unit, name) = UNITS.iter().find(whole).copied().unwrap_or((1, "nanosecond"));
        let count = nanos.checked_div(unit).unwrap_or(nanos);
        write!(f, "{count} {name}{}", if count == 1 { "" } else { "s" })
    }
}

/// A wait, rounded up in a unit of which it is a number people can take in: 1 ms at least.
struct Wait(Duration);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, u128, &str); 4] = [
            (1_000_000_000, 1_000_000, "ms"),
            (120_000_000_000, 1_000_000_000, "s"),
            (7_200_000_000_000, 60_000_000_000, "min"),
            (172_800_000_000_000, 3_600_000_000_000, "h"),
        ];
        let nanos = self.0.as_nanos();
        // A second less a nanosecond is a second, not a thousand milliseconds.
        let fits = |(below, unit, _): &&(u128, u128, &str)| nanos <= below.saturating_sub(*unit);
        let (_, unit, name) = UNITS.iter().find(fits).copied().unwrap_or((0, 86_400_000_000_000, "d"));
        let count = crate::num::div_ceil_wide(nanos, unit).max(1);
        write!(f, "{count} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_to_what_people_can_read() {
        let wait = |nanos| std::format!("{}", Wait(Duration::from_nanos(nanos)));
        let s = 1_000_000_000;
        let all = [
            0,
            1,
            1_000_001,
            s - 1,
            s,
            11 * s + 1,
            119 * s,
            119 * s + 1,
            3_600 * s,
            7_141 * s,
            48 * 3_600 * s,
        ];
        let said: std::vec::Vec<_> = all.into_iter().map(wait).collect();
        let read = ["1 ms", "1 ms", "2 ms", "1 s", "1 s", "12 s", "119 s", "2 min", "60 min", "2 h", "2 d"];
        assert_eq!(said, read);
    }

    #[test]
    fn windows_are_said_exactly() {
        let window = |nanos| std::format!("{}", Window(Duration::from_nanos(nanos)));
        let s = 1_000_000_000;
        let said = [60 * s, 90 * s, 86_400 * s, 7_200 * s, 1_500_000, 1].map(window);
        let read = ["1 minute", "90 seconds", "1 day", "2 hours", "1500 microseconds", "1 nanosecond"];
        assert_eq!(said, read);
    }
}
