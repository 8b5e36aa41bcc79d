//! Two kinds of "no", never mixed: a [`ConfigError`] is a mistake to mend, a [`Refused`] is a decision to act on.

use core::fmt;

use crate::num;
use crate::time::Timestamp;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The rate allows it later: see [`Refused::retry_at`].
    RateExceeded,
    /// More is consumed than the quota holds (an overshoot, a reservation, a lowered quota) and still being repaid;
    /// until then everything is refused.
    InDebt,
    /// It costs more than the limiter can ever hold. Waiting will not help; ask for less.
    ExceedsCapacity,
    /// All permits are in use or owed to those who wait. It passes once enough have come back.
    NoPermits,
    /// It weighs more than the limit. Waiting will not help unless the limit is raised.
    ExceedsLimit,
    /// The waiting room is full.
    QueueFull,
    /// The waiting room of this tenant is full.
    TenantQueueFull,
    /// All tenants that can be kept apart are known and have work, or debts that are not repaid.
    TenantTableFull,
    /// All keys that can be kept apart are known and have not recovered.
    KeyTableFull,
    /// The bytes that may wait are taken up.
    BytesFull,
    /// The bytes of this tenant that may wait are taken up.
    TenantBytesFull,
    /// It would have to wait longer than it can.
    WaitExceedsBudget,
    /// It did not start before its deadline.
    DeadlineExceeded,
    /// It waited too long in a queue that does not drain.
    QueueDelay,
    /// A newer job took its place.
    Displaced,
    /// Its tenant was removed.
    TenantRemoved,
    /// It names a class of jobs that there is not.
    UnknownClass,
    /// A quota that nothing refills is used up. Waiting will not help; whoever gave it can give more.
    QuotaExhausted,
    /// It names a dimension that there is not.
    UnknownDimension,
    /// Its session has written down as much as it can.
    SessionFull,
    /// Closed for good.
    Closed,
}

impl Reason {
    /// Every reason, in the order of their [`index`](Self::index).
    pub const ALL: [Self; 21] = [
        Self::RateExceeded,
        Self::InDebt,
        Self::ExceedsCapacity,
        Self::NoPermits,
        Self::ExceedsLimit,
        Self::QueueFull,
        Self::TenantQueueFull,
        Self::TenantTableFull,
        Self::KeyTableFull,
        Self::BytesFull,
        Self::TenantBytesFull,
        Self::WaitExceedsBudget,
        Self::DeadlineExceeded,
        Self::QueueDelay,
        Self::Displaced,
        Self::TenantRemoved,
        Self::UnknownClass,
        Self::QuotaExhausted,
        Self::UnknownDimension,
        Self::SessionFull,
        Self::Closed,
    ];

    /// Its place in [`ALL`](Self::ALL), for tables of counts.
    #[must_use]
    pub const fn index(self) -> usize {
        num::discriminant(self)
    }

    /// As logs, metrics and headers name it: `queue_full`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateExceeded => "rate_exceeded",
            Self::InDebt => "in_debt",
            Self::ExceedsCapacity => "exceeds_capacity",
            Self::NoPermits => "no_permits",
            Self::ExceedsLimit => "exceeds_limit",
            Self::QueueFull => "queue_full",
            Self::TenantQueueFull => "tenant_queue_full",
            Self::TenantTableFull => "tenant_table_full",
            Self::KeyTableFull => "key_table_full",
            Self::BytesFull => "bytes_full",
            Self::TenantBytesFull => "tenant_bytes_full",
            Self::WaitExceedsBudget => "wait_exceeds_budget",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::QueueDelay => "queue_delay",
            Self::Displaced => "displaced",
            Self::TenantRemoved => "tenant_removed",
            Self::UnknownClass => "unknown_class",
            Self::QuotaExhausted => "quota_exhausted",
            Self::UnknownDimension => "unknown_dimension",
            Self::SessionFull => "session_full",
            Self::Closed => "closed",
        }
    }

    /// Whether the same request may pass later with nothing but time or other people's releases.
    #[must_use]
    pub const fn waiting_helps(self) -> bool {
        match self {
            Self::RateExceeded
            | Self::InDebt
            | Self::NoPermits
            | Self::QueueFull
            | Self::TenantQueueFull
            | Self::TenantTableFull
            | Self::KeyTableFull
            | Self::BytesFull
            | Self::TenantBytesFull
            | Self::WaitExceedsBudget
            | Self::DeadlineExceeded
            | Self::QueueDelay
            | Self::Displaced => true,
            Self::ExceedsCapacity
            | Self::ExceedsLimit
            | Self::TenantRemoved
            | Self::UnknownClass
            | Self::QuotaExhausted
            | Self::UnknownDimension
            | Self::SessionFull
            | Self::Closed => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateExceeded => "rate exceeded",
            Self::InDebt => "what was consumed beyond the quota is still being repaid",
            Self::ExceedsCapacity => "cost exceeds the capacity, it can never pass",
            Self::NoPermits => "no permits available",
            Self::ExceedsLimit => "weight exceeds the limit, it can never pass",
            Self::QueueFull => "queue is full",
            Self::TenantQueueFull => "the tenant's queue is full",
            Self::TenantTableFull => "no room for another tenant",
            Self::KeyTableFull => "no room for another key",
            Self::BytesFull => "the bytes that may wait are taken up",
            Self::TenantBytesFull => "the tenant's bytes that may wait are taken up",
            Self::WaitExceedsBudget => "the wait would be longer than it can wait",
            Self::DeadlineExceeded => "it did not start before its deadline",
            Self::QueueDelay => "it waited too long in a queue that does not drain",
            Self::Displaced => "a newer job took its place",
            Self::TenantRemoved => "its tenant was removed",
            Self::UnknownClass => "there is no such class of jobs",
            Self::QuotaExhausted => "the quota is used up",
            Self::UnknownDimension => "there is no such dimension",
            Self::SessionFull => "the session has written down as much as it can",
            Self::Closed => "closed",
        })
    }
}

/// A refusal, as data: nothing was consumed, and this is why and until when.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// Why.
    pub reason: Reason,
    /// The earliest instant at which the same request passes if nobody else comes; one nanosecond earlier it does
    /// not. `None` where no such instant is known: [`Reason::waiting_helps`] says whether waiting is of any use, and
    /// an instant past [`Timestamp::MAX`] is `None` too.
    pub retry_at: Option<Timestamp>,
}

impl Refused {
    /// A refusal, for limiters built on these: it passes from `retry_at` on, where that is known.
    ///
    /// ```
    /// use tollgate::{Reason, Refused, Timestamp};
    ///
    /// let at = Timestamp::from_nanos(5);
    /// assert_eq!(Refused::until(Reason::RateExceeded, Some(at)).retry_at, Some(at));
    /// ```
    #[must_use]
    pub const fn until(reason: Reason, retry_at: Option<Timestamp>) -> Self {
        Self { reason, retry_at }
    }

    /// A refusal without an instant to try again at.
    ///
    /// ```
    /// use tollgate::{Reason, Refused};
    ///
    /// assert_eq!(Refused::because(Reason::QueueFull).retry_at, None);
    /// ```
    #[must_use]
    pub const fn because(reason: Reason) -> Self {
        Self { reason, retry_at: None }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.retry_at {
            Some(at) => write!(f, "refused: {}; try again at {at}", self.reason),
            None => write!(f, "refused: {}", self.reason),
        }
    }
}

impl core::error::Error for Refused {}

/// A ticket or id that no longer stands for anything: it was given back, cancelled, or never came from this machine.
/// Nothing was changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stale;

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stale ticket or id: already given back, or not from this machine")
    }
}

impl core::error::Error for Stale {}

/// A number somebody configured.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Given {
    /// A whole number, in the unit of the field.
    Integer(u128),
    /// A real number.
    Real(f64),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

impl From<u32> for Given {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Given {
    fn from(value: u64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u128> for Given {
    fn from(value: u128) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Given {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

/// One broken rule of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Violation {
    /// Where: the field, as the constructor names it.
    pub field: &'static str,
    /// What was given.
    pub given: Given,
    /// What would have been accepted, with its unit.
    pub allowed: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, allowed is {}", self.field, self.given, self.allowed)
    }
}

/// The most violations one error lists. No constructor has more rules than this.
const MAX_VIOLATIONS: usize = 10;

/// A configuration that cannot be: *every* rule it breaks, not only the first.
///
/// ```
/// use core::time::Duration;
/// use tollgate::rate::{Quota, TokenBucket};
///
/// let error = TokenBucket::new(Quota::new(0, Duration::ZERO)).unwrap_err();
/// let fields: Vec<_> = error.violations().iter().map(|violation| violation.field).collect();
/// assert_eq!(fields, ["quota.tokens", "quota.per", "quota.burst"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    violations: heapless::Vec<Violation, MAX_VIOLATIONS>,
}

impl ConfigError {
    /// The broken rules, in the order in which the constructor states them; never empty.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid configuration: ")?;
        for (i, violation) in self.violations.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl core::error::Error for ConfigError {}

/// Collects violations while a constructor states its rules.
#[derive(Debug)]
pub(crate) struct Rules(ConfigError);

impl Rules {
    pub(crate) const fn new() -> Self {
        Self(ConfigError { violations: heapless::Vec::new() })
    }

    /// States one rule; `holds == false` records `given` as a violation of it.
    pub(crate) fn require(
        &mut self,
        holds: bool,
        field: &'static str,
        given: impl Into<Given>,
        allowed: &'static str,
    ) -> &mut Self {
        if !holds {
            let pushed = self.0.violations.push(Violation { field, given: given.into(), allowed });
            debug_assert!(pushed.is_ok(), "a constructor has more than {MAX_VIOLATIONS} rules");
        }
        self
    }

    /// What was parsed, unless a rule was broken.
    pub(crate) fn accept<T>(self, parsed: Option<T>) -> Result<T, ConfigError> {
        match parsed {
            Some(parsed) if self.0.violations.is_empty() => Ok(parsed),
            _ => Err(self.0),
        }
    }

    /// The verdict over all rules stated so far.
    pub(crate) fn verdict(self) -> Result<(), ConfigError> {
        if self.0.violations.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_error_names_every_violation_with_what_was_given_and_what_is_allowed() {
        let mut rules = Rules::new();
        rules.require(false, "limit", 0_u32, "1 to 9 permits");
        rules.require(true, "fine", 1_u64, "anything");
        rules.require(false, "ratio", 1.5, "0.5 to 1");
        let error = rules.verdict().unwrap_err();
        assert_eq!(error.violations().len(), 2);
        assert_eq!(
            std::format!("{error}"),
            "invalid configuration: limit is 0, allowed is 1 to 9 permits; ratio is 1.5, allowed is 0.5 to 1"
        );
    }

    #[test]
    fn a_reason_is_named_in_logs_as_it_is_in_code() {
        for reason in Reason::ALL {
            let words: std::string::String = reason.name().split('_').flat_map(capitalized).collect();
            assert_eq!(words, std::format!("{reason:?}"));
            assert!(reason.name().chars().all(|letter| letter == '_' || letter.is_ascii_lowercase()));
        }
    }

    fn capitalized(word: &str) -> impl Iterator<Item = char> {
        let (first, rest) = word.split_at(1);
        first.chars().map(|letter| letter.to_ascii_uppercase()).chain(rest.chars())
    }

    #[test]
    fn refusals_stay_small_enough_to_pass_in_registers_or_two_words_more() {
        assert!(size_of::<Refused>() <= 24);
    }
}
