//! Settings of a [`Knee`](super::Knee).

use core::time::Duration;

use crate::adapt::bounds;
use crate::error::{ConfigError, Rules};

/// Settings of a [`Knee`](super::Knee).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeSettings {
    /// Up to here the limit may double at the start, permits; beyond it grows by what it learns. It begins at 5, or
    /// here if that is less.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits.
    pub max: u32,
    /// What a request may take before nobody wants it any more. Then bursts may queue as long as that allows, if
    /// refusing them left the server idle soon after. `None`: no queue is worth more than keeping the server busy.
    pub target_delay: Option<Duration>,
    /// Mean round-trip time above which, whatever the reason, the limit only goes down and no baseline is learnt.
    pub max_healthy_rtt: Option<Duration>,
    /// Limiters like this one that share the server, itself included; 1 or more. They then leave each other room:
    /// see the [module](super).
    pub sharers: u32,
}

impl Default for KneeSettings {
    fn default() -> Self {
        Self { initial: 20, min: 1, max: 1000, target_delay: None, max_healthy_rtt: None, sharers: 1 }
    }
}

impl KneeSettings {
    /// # Errors
    /// Every rule that is broken.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, self.initial, self.min, self.max, false);
        for (field, time) in [("target_delay", self.target_delay), ("max_healthy_rtt", self.max_healthy_rtt)]
        {
            let nanos = time.map_or(1, |time| time.as_nanos());
            rules.require(nanos > 0, field, nanos, "above 0 ns");
        }
        // A burst of ours would queue at the expense of the others, and fairness went with it.
        let most = if self.target_delay.is_some() { 1 } else { u32::MAX };
        let allowed = "at least 1, and 1 with a target_delay";
        rules.require((1..=most).contains(&self.sharers), "sharers", self.sharers, allowed);
        rules.verdict()
    }
}
