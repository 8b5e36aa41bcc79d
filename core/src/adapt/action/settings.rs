//! [`ActionSettings`]: how one named limiter is set, as OpenSearch names it.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::error::{SettingViolation, SettingsError};
use super::fields::{FIELDS, Field, put};
use super::value::Value;
use crate::adapt::burst::BurstSettings;
use crate::adapt::limiter::Mode;
use crate::num;

/// How the limit is learnt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AlgorithmName {
    /// [`OpenSearchVegas`](crate::adapt::OpenSearchVegas).
    Vegas,
    /// [`Gradient2`](crate::adapt::Gradient2).
    Gradient2,
    /// [`Aimd`](crate::adapt::Aimd).
    Aimd,
    /// [`Knee`](crate::adapt::Knee), which OpenSearch does not know.
    Knee,
}

impl AlgorithmName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Vegas, Self::Gradient2, Self::Aimd, Self::Knee];

    /// As the setting names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vegas => "vegas",
            Self::Gradient2 => "gradient2",
            Self::Aimd => "aimd",
            Self::Knee => "knee",
        }
    }
}

/// `limit.*`: where the limit begins and ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LimitSettings {
    /// Limit before the first sample, permits; 1 to `max`. Default 20.
    pub initial: u32,
    /// Greatest limit, permits; `initial` to 2³¹ − 1. Default 200.
    pub max: u32,
}

/// `vegas.*`: see [`OpenSearchVegas`](crate::adapt::OpenSearchVegas).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasOptions {
    /// Scales the big step and all three thresholds; 1 or more. Default 1.
    pub updrift_factor: u32,
    /// Samples in a row that raise the limit; 1 or more. Default 1.
    pub increase_barrier: u32,
    /// Samples in a row that lower it; 1 or more. Default 1.
    pub decrease_barrier: u32,
    /// A probe is believed with at most this share of the limit in flight, in \[0, 1\]. Default 0.5.
    pub baseline_reset_load_threshold: f64,
}

/// `partition.<name>.*`: what one partition gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartitionSettings {
    /// Its share of the limit, in \[0, 1\]; kept to the millionth. Default 0.
    pub percent: f64,
    /// How long its refused clients are to be held back, ms. Default 0.
    pub delay: Duration,
}

impl PartitionSettings {
    /// The share in millionths.
    pub(super) fn share_ppm(&self) -> u32 {
        num::trunc_i32(self.percent * 1e6 + 0.5)
    }
}

/// Who tells to which partition a request belongs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ResolverName {
    /// The header [`TIER_HEADER`](super::TIER_HEADER) names it.
    ByHeader,
    /// One for all.
    Fixed,
    /// One for searches with aggregations, one for all other searches.
    BySearchType,
}

impl ResolverName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ByHeader, Self::Fixed, Self::BySearchType];

    /// As the setting names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHeader => "byHeader",
            Self::Fixed => "fixed",
            Self::BySearchType => "bySearchType",
        }
    }
}

/// `partition.resolver` and what follows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResolverSettings {
    /// Which; required where there are partitions. Default none.
    pub name: Option<ResolverName>,
    /// `fixed.partition`: the one for all. Default `default`.
    pub fixed: String,
    /// `bySearchType.aggregation`: for searches with aggregations. Default `aggregation`.
    pub aggregation: String,
    /// `bySearchType.filter`: for all other searches. Default `filter`.
    pub filter: String,
}

/// How one named limiter is set: the settings under `concurrency_limit.action.<name>.` of OpenSearch 3.9, with the same
/// names, defaults and ranges.
///
/// ```
/// use tollgate::adapt::Mode;
/// use tollgate::adapt::action::{ActionSettings, Value};
///
/// let mut settings = ActionSettings::default();
/// settings.set("action_name", &Value::from("indices:data/read/search"))?;
/// settings.set("mode", &Value::from("enforced"))?;
/// settings.set("limit.initial", &Value::from(500))?;
/// assert_eq!(settings.mode, Mode::Enforced);
///
/// let error = settings.validate().unwrap_err();
/// assert_eq!(error.to_string(), "invalid settings: limit.initial is 500, allowed is 1 to limit.max");
/// # Ok::<(), tollgate::adapt::action::SettingViolation>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ActionSettings {
    /// What is limited; empty for nothing. Default empty.
    pub action_name: String,
    /// Whether the limit is enforced. Default [`Mode::Disabled`].
    pub mode: Mode,
    /// How the limit is learnt. Default [`AlgorithmName::Vegas`].
    pub algorithm: AlgorithmName,
    /// Where the limit begins and ends.
    pub limit: LimitSettings,
    /// Nothing is refused for so long. Default 5 minutes.
    pub warmup_duration: Duration,
    /// What only Vegas has.
    pub vegas: VegasOptions,
    /// `gradient2.rtt_tolerance`: how many times slower than before is still fine; 1 or more. Default 1.5.
    pub gradient2_rtt_tolerance: f64,
    /// `aimd.backoff_ratio`: share of the limit left after a drop, in \[0.5, 1). Default 0.9.
    pub aimd_backoff_ratio: f64,
    /// Room for bursts. Default none.
    pub burst: BurstSettings,
    /// Names of the partitions there are. Default none.
    pub partitions: Vec<String>,
    /// What each gets, by name; one that is not in `partitions` gets nothing yet.
    pub partition: BTreeMap<String, PartitionSettings>,
    /// To which a request belongs.
    pub resolver: ResolverSettings,
}

impl Default for ActionSettings {
    fn default() -> Self {
        Self {
            action_name: String::new(),
            mode: Mode::Disabled,
            algorithm: AlgorithmName::Vegas,
            limit: LimitSettings { initial: 20, max: 200 },
            warmup_duration: Duration::from_secs(300),
            vegas: VegasOptions {
                updrift_factor: 1,
                increase_barrier: 1,
                decrease_barrier: 1,
                baseline_reset_load_threshold: 0.5,
            },
            gradient2_rtt_tolerance: 1.5,
            aimd_backoff_ratio: 0.9,
            burst: BurstSettings::default(),
            partitions: Vec::new(),
            partition: BTreeMap::new(),
            resolver: ResolverSettings {
                name: None,
                fixed: "default".into(),
                aggregation: "aggregation".into(),
                filter: "filter".into(),
            },
        }
    }
}

impl ActionSettings {
    /// Sets one, by its name below the limiter's: `limit.initial`. [`Value::Default`] takes it back.
    ///
    /// # Errors
    /// There is no such setting, or it cannot have this kind of value; nothing is changed. Ranges are checked by
    /// [`validate`](Self::validate), for some depend on each other.
    pub fn set(&mut self, setting: &str, value: &Value) -> Result<(), SettingViolation> {
        let violation = |allowed: &str| SettingViolation {
            setting: setting.into(),
            given: value.to_string(),
            allowed: allowed.into(),
        };
        if let Some(field) = FIELDS.iter().find(|field| field.name == setting) {
            return field.set(self, value).then_some(()).ok_or_else(|| violation(field.allowed));
        }
        let Some((name, option)) = partition_option(setting) else {
            return Err(violation("nothing: there is no such setting"));
        };
        let mut partition = self.partition.get(name).copied().unwrap_or_default();
        let none = PartitionSettings::default();
        let default = *value == Value::Default;
        let understood = match option {
            PartitionOption::Percent => {
                put(&mut partition.percent, if default { Some(none.percent) } else { value.real() })
            }
            PartitionOption::Delay => {
                put(&mut partition.delay, if default { Some(none.delay) } else { value.millis() })
            }
        };
        if !understood {
            return Err(violation(option.allowed()));
        }
        if partition == none {
            self.partition.remove(name);
        } else {
            self.partition.insert(name.into(), partition);
        }
        Ok(())
    }

    /// All that are not at their default, by their names below the limiter's.
    #[must_use]
    pub fn flat(&self) -> Vec<(String, Value)> {
        let default = Self::default();
        let changed = |field: &&Field| field.get(self) != field.get(&default);
        let fields = FIELDS.iter().filter(changed).map(|field| (field.name.into(), field.get(self)));
        let partitions = self.partition.iter().flat_map(|(name, partition)| {
            let delay_ms = i128::try_from(partition.delay.as_millis()).unwrap_or(i128::MAX);
            let percent = (alloc::format!("partition.{name}.percent"), Value::Real(partition.percent));
            let delay = (alloc::format!("partition.{name}.delay_ms"), Value::Integer(delay_ms));
            let set = [(percent, partition.percent != 0.0), (delay, delay_ms != 0)];
            set.into_iter().filter_map(|(setting, set)| set.then_some(setting))
        });
        fields.chain(partitions).collect()
    }

    /// Whether they can be.
    ///
    /// # Errors
    /// Every rule that is broken.
    pub fn validate(&self) -> Result<(), SettingsError> {
        SettingsError::unless_none(self.violations(""))
    }

    /// Every rule that is broken; names begin with `prefix`.
    pub(super) fn violations(&self, prefix: &str) -> Vec<SettingViolation> {
        let violation = |setting: &str, given: String, allowed: &str| SettingViolation {
            setting: alloc::format!("{prefix}{setting}"),
            given,
            allowed: allowed.into(),
        };
        let unsound = FIELDS.iter().filter(|field| !field.is_sound(self));
        let mut violations: Vec<_> =
            unsound.map(|field| violation(field.name, field.get(self).to_string(), field.allowed)).collect();
        for (name, partition) in &self.partition {
            if !(0.0..=1.0).contains(&partition.percent) {
                let setting = alloc::format!("partition.{name}.percent");
                let allowed = PartitionOption::Percent.allowed();
                violations.push(violation(&setting, partition.percent.to_string(), allowed));
            }
            if partition.delay > Duration::from_millis(i32::MAX.unsigned_abs().into()) {
                let setting = alloc::format!("partition.{name}.delay_ms");
                let given = partition.delay.as_millis().to_string();
                violations.push(violation(&setting, given, PartitionOption::Delay.allowed()));
            }
        }
        let listed = self.partition.iter().filter(|(name, _)| self.partitions.contains(name));
        let sum_ppm: u64 = listed.map(|(_, partition)| u64::from(partition.share_ppm())).sum();
        if sum_ppm > 1_000_000 {
            let given = alloc::format!("{sum_ppm} millionths together");
            violations.push(violation("partition.*.percent", given, "at most 1000000 millionths together"));
        }
        violations
    }
}

#[derive(Clone, Copy)]
enum PartitionOption {
    Percent,
    Delay,
}

impl PartitionOption {
    const fn allowed(self) -> &'static str {
        match self {
            Self::Percent => "0 to 1",
            Self::Delay => "0 to 2147483647 ms",
        }
    }
}

/// `partition.<name>.percent` or `.delay_ms`; a name may have dots.
fn partition_option(setting: &str) -> Option<(&str, PartitionOption)> {
    let (name, option) = setting.strip_prefix("partition.")?.rsplit_once('.')?;
    let option = match option {
        "percent" => PartitionOption::Percent,
        "delay_ms" => PartitionOption::Delay,
        _ => return None,
    };
    (!name.is_empty()).then_some((name, option))
}
