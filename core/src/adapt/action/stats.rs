//! What a named limiter tells, under the names that dashboards of OpenSearch know.

use super::settings::AlgorithmName;
use crate::adapt::limiter::{LimiterStats, Mode};

/// What a named limiter has seen and thinks. With the feature `serde` it is written as the statistics of OpenSearch, followed by
/// those that are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ActionStats<'a> {
    /// Name of the limiter; `alias` of its gauges.
    pub name: &'a str,
    /// What it limits.
    pub action_name: &'a str,
    /// How it learns.
    pub algorithm: AlgorithmName,
    /// All the rest.
    pub limiter: LimiterStats,
}

impl ActionStats<'_> {
    /// Requests that were refused, or would be if the limit were enforced.
    #[must_use]
    pub const fn total_rejected(&self) -> u64 {
        let LimiterStats { rejected, rejected_overweight, would_reject, .. } = self.limiter;
        rejected.saturating_add(rejected_overweight).saturating_add(would_reject)
    }

    /// Last round-trip time, whole milliseconds; −1 while there is none.
    #[must_use]
    pub fn last_rtt_millis(&self) -> i64 {
        millis(self.limiter.last_rtt)
    }

    /// Round-trip time without a queue, whole milliseconds; −1 while there is none.
    #[must_use]
    pub fn rtt_no_load_millis(&self) -> i64 {
        millis(self.limiter.no_load_rtt)
    }

    /// Mode in force.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.limiter.mode
    }
}

fn millis(time: Option<core::time::Duration>) -> i64 {
    time.map_or(-1, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(feature = "serde")]
impl serde::Serialize for ActionStats<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let LimiterStats {
            limit,
            base_limit,
            burst_open,
            in_flight,
            in_flight_all,
            admitted,
            rejected,
            rejected_overweight,
            would_reject,
            passed_in_warmup,
            paused,
            outcomes: [succeeded, dropped, ignored],
            mean_rtt,
            warmup_left,
            ..
        } = self.limiter;
        let mut stats = serializer.serialize_struct("ActionStats", 22)?;
        stats.serialize_field("action_name", self.action_name)?;
        stats.serialize_field("mode", self.mode().name())?;
        stats.serialize_field("algorithm", self.algorithm.name())?;
        stats.serialize_field("current_limit", &limit)?;
        stats.serialize_field("in_flight", &in_flight)?;
        stats.serialize_field("total_rejected", &self.total_rejected())?;
        stats.serialize_field("last_rtt_millis", &self.last_rtt_millis())?;
        stats.serialize_field("rtt_no_load_millis", &self.rtt_no_load_millis())?;
        stats.serialize_field("base_limit", &base_limit)?;
        stats.serialize_field("burst_open", &burst_open)?;
        stats.serialize_field("in_flight_all", &in_flight_all)?;
        stats.serialize_field("admitted", &admitted)?;
        stats.serialize_field("rejected", &rejected)?;
        stats.serialize_field("rejected_overweight", &rejected_overweight)?;
        stats.serialize_field("would_reject", &would_reject)?;
        stats.serialize_field("passed_in_warmup", &passed_in_warmup)?;
        stats.serialize_field("paused", &paused)?;
        stats.serialize_field("succeeded", &succeeded)?;
        stats.serialize_field("dropped", &dropped)?;
        stats.serialize_field("ignored", &ignored)?;
        stats.serialize_field("mean_rtt_millis", &millis(mean_rtt))?;
        stats.serialize_field("warmup_left_millis", &millis(Some(warmup_left)))?;
        stats.end()
    }
}
