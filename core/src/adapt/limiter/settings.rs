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
