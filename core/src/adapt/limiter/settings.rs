//! How a [`Limiter`](super::Limiter) is set.

use core::time::Duration;

use crate::adapt::burst::BurstSettings;
use crate::adapt::partition::Guarantee;

/// Whether a limit is enforced.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Mode {
    /// Nothing is counted and nothing refused.
    Disabled,
    /// Everything is let in, and what would be refused is counted.
    MonitorOnly,
    /// What does not fit is refused.
    Enforced,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Disabled, Self::MonitorOnly, Self::Enforced];

    /// As settings, logs and metrics name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::MonitorOnly => "monitor_only",
            Self::Enforced => "enforced",
        }
    }
}

/// What requests count for that are let in past the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counting {
    /// They are samples, and in flight: they load the server.
    Honest,
    /// They are no samples, and the samples of others do not see them in flight. Only the statistics do.
    Reference,
}

/// Settings of a [`Limiter`](super::Limiter).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LimiterSettings {
    /// Whether the limit is enforced. Default [`Mode::Enforced`].
    pub mode: Mode,
    /// Nothing is refused for so long after the limiter was made or enabled. Default 5 minutes.
    pub warmup: Duration,
    /// Room for bursts. Default none.
    pub burst: BurstSettings,
    /// What a share means at the limit. Default [`Guarantee::Reserved`].
    pub guarantee: Guarantee,
    /// What requests past the limit count for. Default [`Counting::Honest`].
    pub counting: Counting,
}

impl LimiterSettings {
    /// A limiter of Netflix' library: in force from the first request on, no room for bursts, and a guarantee that may
    /// pass the limit. To be used with the estimators' presets of the same name.
    #[must_use]
    pub fn netflix() -> Self {
        Self {
            warmup: Duration::ZERO,
            guarantee: Guarantee::Overshoot { unknown_reserve: 0 },
            counting: Counting::Reference,
            ..Self::default()
        }
    }

    /// A limiter of OpenSearch 3.9 before it is set, as its code has it: disabled, and traffic of no partition has
    /// nothing for sure.
    #[must_use]
    pub fn opensearch() -> Self {
        Self {
            mode: Mode::Disabled,
            guarantee: Guarantee::Overshoot { unknown_reserve: 0 },
            counting: Counting::Reference,
            ..Self::default()
        }
    }

    /// The same as its documentation has it: traffic of no partition has one permit at the limit, and every request
    /// is a sample.
    #[must_use]
    pub fn opensearch_documented() -> Self {
        Self {
            guarantee: Guarantee::Overshoot { unknown_reserve: 1 },
            counting: Counting::Honest,
            ..Self::opensearch()
        }
    }
}

impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Enforced,
            warmup: Duration::from_secs(300),
            burst: BurstSettings::default(),
            guarantee: Guarantee::Reserved,
            counting: Counting::Honest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_refuse_from_the_first_request_on_may_pass_the_limit_and_count_as_they_count() {
        let netflix = LimiterSettings::netflix();
        assert_eq!((netflix.mode, netflix.warmup), (Mode::Enforced, Duration::ZERO));
        assert_eq!(netflix.guarantee, Guarantee::Overshoot { unknown_reserve: 0 });
        assert_eq!(netflix.counting, Counting::Reference);

        let code = LimiterSettings::opensearch();
        assert_eq!((code.mode, code.warmup), (Mode::Disabled, Duration::from_secs(300)));
        assert_eq!((code.guarantee, code.counting), (netflix.guarantee, Counting::Reference));

        let documented = LimiterSettings::opensearch_documented();
        assert_eq!((documented.mode, documented.warmup), (code.mode, code.warmup));
        assert_eq!(documented.guarantee, Guarantee::Overshoot { unknown_reserve: 1 });
        assert_eq!(documented.counting, Counting::Honest);
    }
}
