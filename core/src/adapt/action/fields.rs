//! The settings with fixed names, as a table: how each is read, written and checked.

use alloc::string::String;

use super::settings::{ActionSettings, AlgorithmName, ResolverName};
use super::value::Value;
use crate::adapt::limiter::Mode;

/// Most of what the reference stores.
const MOST: u32 = 2_147_483_647;

/// One setting.
pub(super) struct Field {
    /// Below the limiter's name.
    pub(super) name: &'static str,
    /// What it may be.
    pub(super) allowed: &'static str,
    get: fn(&ActionSettings) -> Value,
    /// Whether it could be understood; nothing is changed otherwise.
    set: fn(&mut ActionSettings, &Value) -> bool,
    /// Whether what it is can be.
    sound: fn(&ActionSettings) -> bool,
}

impl Field {
    pub(super) fn get(&self, settings: &ActionSettings) -> Value {
        (self.get)(settings)
    }

    pub(super) fn set(&self, settings: &mut ActionSettings, value: &Value) -> bool {
        if *value == Value::Default {
            return (self.set)(settings, &self.get(&ActionSettings::default()));
        }
        (self.set)(settings, value)
    }

    pub(super) fn is_sound(&self, settings: &ActionSettings) -> bool {
        (self.sound)(settings)
    }
}

/// Puts what was understood in its place.
pub(super) fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

/// The one of these that a text names.
fn named<T: Copy, const N: usize>(all: [T; N], name: fn(T) -> &'static str, text: &str) -> Option<T> {
    all.into_iter().find(|&one| name(one) == text)
}

pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "action_name",
        allowed: "a text; empty for none",
        get: |s| Value::Text(s.action_name.clone()),
        set: |s, value| put(&mut s.action_name, value.text()),
        sound: |_| true,
    },
    Field {
        name: "mode",
        allowed: "disabled, monitor_only or enforced",
        get: |s| Value::from(s.mode.name()),
        set: |s, value| put(&mut s.mode, value.text().and_then(|text| named(Mode::ALL, Mode::name, &text))),
        sound: |_| true,
    },
    Field {
        name: "algorithm",
        allowed: "vegas, gradient2, aimd or knee",
        get: |s| Value::from(s.algorithm.name()),
        set: |s, value| {
            let text = value.text().map(|text| text.to_lowercase());
            let known = |text: String| named(AlgorithmName::ALL, AlgorithmName::name, &text);
            put(&mut s.algorithm, text.and_then(known))
        },
        sound: |_| true,
    },
    Field {
        name: "limit.initial",
        allowed: "1 to limit.max",
        get: |s| s.limit.initial.into(),
        set: |s, value| put(&mut s.limit.initial, value.whole()),
        sound: |s| s.limit.initial >= 1 && s.limit.initial <= s.limit.max,
    },
    Field {
        name: "limit.max",
        allowed: "1 to 2147483647",
        get: |s| s.limit.max.into(),
        set: |s, value| put(&mut s.limit.max, value.whole()),
        sound: |s| (1..=MOST).contains(&s.limit.max),
    },
    Field {
        name: "warmup_duration",
        allowed: "a whole number with a unit (nanos, micros, ms, s, m, h, d), 0 or more",
        get: |s| Value::of_time(s.warmup_duration),
        set: |s, value| put(&mut s.warmup_duration, value.time()),
        sound: |_| true,
    },
    Field {
        name: "vegas.updrift_factor",
        allowed: "1 to 2147483647",
        get: |s| s.vegas.updrift_factor.into(),
        set: |s, value| put(&mut s.vegas.updrift_factor, value.whole()),
        sound: |s| (1..=MOST).contains(&s.vegas.updrift_factor),
    },
    Field {
        name: "vegas.increase_barrier",
        allowed: "1 to 2147483647 samples",
        get: |s| s.vegas.increase_barrier.into(),
        set: |s, value| put(&mut s.vegas.increase_barrier, value.whole()),
        sound: |s| (1..=MOST).contains(&s.vegas.increase_barrier),
    },
    Field {
        name: "vegas.decrease_barrier",
        allowed: "1 to 2147483647 samples",
        get: |s| s.vegas.decrease_barrier.into(),
        set: |s, value| put(&mut s.vegas.decrease_barrier, value.whole()),
        sound: |s| (1..=MOST).contains(&s.vegas.decrease_barrier),
    },
    Field {
        name: "vegas.baseline_reset_load_threshold",
        allowed: "0 to 1",
        get: |s| s.vegas.baseline_reset_load_threshold.into(),
        set: |s, value| put(&mut s.vegas.baseline_reset_load_threshold, value.real()),
        sound: |s| (0.0..=1.0).contains(&s.vegas.baseline_reset_load_threshold),
    },
    Field {
        name: "gradient2.rtt_tolerance",
        allowed: "1 or more",
        get: |s| s.gradient2_rtt_tolerance.into(),
        set: |s, value| put(&mut s.gradient2_rtt_tolerance, value.real()),
        sound: |s| s.gradient2_rtt_tolerance >= 1.0 && s.gradient2_rtt_tolerance.is_finite(),
    },
    Field {
        name: "aimd.backoff_ratio",
        allowed: "at least 0.5 and below 1",
        get: |s| s.aimd_backoff_ratio.into(),
        set: |s, value| put(&mut s.aimd_backoff_ratio, value.real()),
        sound: |s| (0.5..1.0).contains(&s.aimd_backoff_ratio),
    },
    Field {
        name: "burst.capacity",
        allowed: "0 to 2147483647 permits",
        get: |s| s.burst.capacity.into(),
        set: |s, value| put(&mut s.burst.capacity, value.whole()),
        sound: |s| s.burst.capacity <= MOST,
    },
    Field {
        name: "burst.close_after",
        allowed: "1 to 2147483647 samples",
        get: |s| s.burst.close_after.into(),
        set: |s, value| put(&mut s.burst.close_after, value.whole()),
        sound: |s| (1..=MOST).contains(&s.burst.close_after),
    },
    Field {
        name: "burst.open_after",
        allowed: "1 to 2147483647 samples",
        get: |s| s.burst.open_after.into(),
        set: |s, value| put(&mut s.burst.open_after, value.whole()),
        sound: |s| (1..=MOST).contains(&s.burst.open_after),
    },
    Field {
        name: "partitions",
        allowed: "names, none of them empty and none twice",
        get: |s| Value::from(&s.partitions[..]),
        set: |s, value| put(&mut s.partitions, value.list()),
        sound: |s| {
            let names = s.partitions.iter().enumerate();
            names.clone().all(|(place, name)| {
                let twice = names.clone().any(|(other, same)| other < place && same == name);
                !name.is_empty() && !twice
            })
        },
    },
    Field {
        name: "partition.resolver",
        allowed: "byHeader, fixed or bySearchType; required where there are partitions",
        get: |s| s.resolver.name.map_or(Value::Default, |resolver| Value::from(resolver.name())),
        set: |s, value| match value.text() {
            None => put(&mut s.resolver.name, (*value == Value::Default).then_some(None)),
            Some(text) => {
                let resolver = named(ResolverName::ALL, ResolverName::name, &text);
                put(&mut s.resolver.name, resolver.map(Some))
            }
        },
        sound: |s| s.partitions.is_empty() || s.resolver.name.is_some(),
    },
    Field {
        name: "partition.resolver.fixed.partition",
        allowed: "one of partitions, where the resolver is fixed",
        get: |s| Value::Text(s.resolver.fixed.clone()),
        set: |s, value| put(&mut s.resolver.fixed, value.text()),
        sound: |s| {
            let fixed = s.resolver.name == Some(ResolverName::Fixed) && !s.partitions.is_empty();
            !fixed || s.partitions.contains(&s.resolver.fixed)
        },
    },
    Field {
        name: "partition.resolver.bySearchType.aggregation",
        allowed: "a name",
        get: |s| Value::Text(s.resolver.aggregation.clone()),
        set: |s, value| put(&mut s.resolver.aggregation, value.text()),
        sound: |_| true,
    },
    Field {
        name: "partition.resolver.bySearchType.filter",
        allowed: "a name",
        get: |s| Value::Text(s.resolver.filter.clone()),
        set: |s, value| put(&mut s.resolver.filter, value.text()),
        sound: |_| true,
    },
];
