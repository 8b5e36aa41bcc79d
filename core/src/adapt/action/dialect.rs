//! [`Dialect`]: what the settings mean where document and code of their source disagree, and where both can be better.

use super::settings::{ActionSettings, AlgorithmName};
use crate::adapt::aimd::AimdSettings;
use crate::adapt::algorithm::AlgorithmSettings;
use crate::adapt::gradient2::Gradient2Settings;
use crate::adapt::knee::KneeSettings;
use crate::adapt::limiter::{Counting, LimiterSettings};
use crate::adapt::opensearch::{Logarithm, OpenSearchVegasSettings};
use crate::adapt::partition::Guarantee;
use crate::adapt::round::{Learning, RoundSettings};

/// The least limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Floor {
    /// 1, and 20 for Gradient2, which even wins over a lower `limit.max`.
    Code,
    /// `limit.initial`.
    Initial,
    /// 1.
    One,
}

/// What a change of a limiter's settings does to what it has learnt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnChange {
    /// It is kept where the algorithm stays, and so is the warm-up.
    Keep,
    /// The limit begins anew; a warm-up that is over stays so.
    Relearn,
    /// Limit and warm-up begin anew.
    Restart,
}

/// What the settings mean. The source's document and its code disagree on some; each such question is a field.
///
/// | | [`default`](Self::default) | [`opensearch`](Self::opensearch) | [`opensearch_documented`](Self::opensearch_documented) |
/// | --- | --- | --- | --- |
/// | least limit | 1 | 1; Gradient2 20 | `limit.initial` |
/// | logarithm of Vegas | down, at least 1 | up | down, at least 1 |
/// | shares at the limit | reserved, never passed | may pass the limit | may pass the limit |
/// | traffic of no partition at the limit | what is left | nothing | one permit |
/// | requests let in past the limit | samples | not seen | samples |
/// | Gradient2 and AIMD learn from | rounds | each sample | each sample |
/// | a change of settings | keeps what was learnt | the limit begins anew | limit and warm-up begin anew |
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialect {
    /// The least limit.
    pub floor: Floor,
    /// How Vegas' logarithm is made whole.
    pub logarithm: Logarithm,
    /// What a share means at the limit.
    pub guarantee: Guarantee,
    /// What requests past the limit count for.
    pub counting: Counting,
    /// Gradient2 and AIMD learn from each sample, with the faults of their references, in place of rounds.
    pub each_sample: bool,
    /// What a change does to what was learnt.
    pub on_change: OnChange,
}

impl Default for Dialect {
    /// None of the known faults that a setting can avoid.
    fn default() -> Self {
        Self {
            floor: Floor::One,
            logarithm: Logarithm::FloorAtLeastOne,
            guarantee: Guarantee::Reserved,
            counting: Counting::Honest,
            each_sample: false,
            on_change: OnChange::Keep,
        }
    }
}

impl Dialect {
    /// As OpenSearch 3.9 has it in its code.
    #[must_use]
    pub fn opensearch() -> Self {
        let LimiterSettings { guarantee, counting, .. } = LimiterSettings::opensearch();
        Self {
            floor: Floor::Code,
            logarithm: Logarithm::Ceil,
            guarantee,
            counting,
            each_sample: true,
            on_change: OnChange::Relearn,
        }
    }

    /// As OpenSearch 3.9 has it in its documentation.
    #[must_use]
    pub fn opensearch_documented() -> Self {
        let LimiterSettings { guarantee, counting, .. } = LimiterSettings::opensearch_documented();
        Self {
            floor: Floor::Initial,
            logarithm: Logarithm::FloorAtLeastOne,
            guarantee,
            counting,
            each_sample: true,
            on_change: OnChange::Restart,
        }
    }

    /// The estimator that these settings mean.
    #[must_use]
    pub fn algorithm(&self, settings: &ActionSettings) -> AlgorithmSettings {
        let (initial, max) = (settings.limit.initial, settings.limit.max);
        let min = match self.floor {
            Floor::Code if settings.algorithm == AlgorithmName::Gradient2 => Gradient2Settings::netflix().min,
            Floor::Code | Floor::One => 1,
            Floor::Initial => initial,
        };
        match settings.algorithm {
            AlgorithmName::Vegas => AlgorithmSettings::OpenSearchVegas(OpenSearchVegasSettings {
                initial,
                min,
                max,
                updrift_factor: settings.vegas.updrift_factor,
                increase_barrier: settings.vegas.increase_barrier,
                decrease_barrier: settings.vegas.decrease_barrier,
                baseline_reset_load_threshold: settings.vegas.baseline_reset_load_threshold,
                logarithm: self.logarithm,
                ..OpenSearchVegasSettings::opensearch()
            }),
            AlgorithmName::Gradient2 => {
                let rtt_tolerance = settings.gradient2_rtt_tolerance;
                let base = if self.each_sample {
                    Gradient2Settings::netflix()
                } else {
                    let learning = Learning::Rounds(rounds(rtt_tolerance));
                    Gradient2Settings { learning, ..Gradient2Settings::default() }
                };
                AlgorithmSettings::Gradient2(Gradient2Settings { initial, min, max, rtt_tolerance, ..base })
            }
            AlgorithmName::Aimd => {
                let backoff_ratio = settings.aimd_backoff_ratio;
                let base = if self.each_sample { AimdSettings::netflix() } else { AimdSettings::default() };
                AlgorithmSettings::Aimd(AimdSettings { initial, min, max, backoff_ratio, ..base })
            }
            AlgorithmName::Knee => {
                AlgorithmSettings::Knee(KneeSettings { initial, min, max, ..KneeSettings::default() })
            }
        }
    }

    /// The limiter around it.
    #[must_use]
    pub const fn limiter(&self, settings: &ActionSettings) -> LimiterSettings {
        LimiterSettings {
            mode: settings.mode,
            warmup: settings.warmup_duration,
            burst: settings.burst,
            guarantee: self.guarantee,
            counting: self.counting,
        }
    }
}

/// Rounds whose dips are deep enough for a tolerance: more than `1 / dip_to` must not be tolerated.
fn rounds(tolerance: f64) -> RoundSettings {
    let default = RoundSettings::default();
    let deep = 0.9 / tolerance;
    RoundSettings { dip_to: if deep < default.dip_to { deep } else { default.dip_to }, ..default }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::adapt::algorithm::Algorithm;
    use crate::adapt::sample::Estimator;

    fn settings(algorithm: AlgorithmName) -> ActionSettings {
        ActionSettings { algorithm, ..ActionSettings::default() }
    }

    #[test]
    fn every_setting_that_can_be_makes_an_estimator_in_every_dialect() {
        for dialect in [Dialect::default(), Dialect::opensearch(), Dialect::opensearch_documented()] {
            for algorithm in AlgorithmName::ALL {
                for (initial, max) in [(1, 1), (3, 7), (20, 200), (5, 2_147_483_647)] {
                    let mut settings = settings(algorithm);
                    (settings.limit.initial, settings.limit.max) = (initial, max);
                    settings.gradient2_rtt_tolerance = 50.0;
                    settings.validate().unwrap();
                    let made = Algorithm::new(dialect.algorithm(&settings)).unwrap();
                    assert!(made.limit() >= 1 && made.limit() <= initial.max(5), "{algorithm:?}");
                }
            }
        }
    }

    #[test]
    fn the_contested_rules_are_those_of_the_code_and_of_the_document() {
        let of = |dialect: Dialect, algorithm| match dialect.algorithm(&settings(algorithm)) {
            AlgorithmSettings::OpenSearchVegas(it) => it.min,
            AlgorithmSettings::Gradient2(it) => it.min,
            AlgorithmSettings::Aimd(it) => it.min,
            _ => 0,
        };
        let floors = |dialect| {
            [AlgorithmName::Vegas, AlgorithmName::Gradient2, AlgorithmName::Aimd]
                .map(|name| of(dialect, name))
        };
        assert_eq!(floors(Dialect::opensearch()), [1, 20, 1]);
        assert_eq!(floors(Dialect::opensearch_documented()), [20, 20, 20]);
        assert_eq!(floors(Dialect::default()), [1, 1, 1]);
        let vegas = Dialect::opensearch().algorithm(&settings(AlgorithmName::Vegas));
        assert_eq!(vegas, AlgorithmSettings::OpenSearchVegas(OpenSearchVegasSettings::opensearch()));
        let vegas = Dialect::opensearch_documented().algorithm(&settings(AlgorithmName::Vegas));
        assert_eq!(vegas, AlgorithmSettings::OpenSearchVegas(OpenSearchVegasSettings::documented()));
    }

    #[test]
    fn each_setting_reaches_the_estimator_it_is_for() {
        let mut settings = ActionSettings { gradient2_rtt_tolerance: 1.75, ..ActionSettings::default() };
        (settings.limit.initial, settings.limit.max, settings.aimd_backoff_ratio) = (23, 321, 0.625);
        let vegas = &mut settings.vegas;
        (vegas.updrift_factor, vegas.increase_barrier, vegas.decrease_barrier) = (3, 4, 5);
        vegas.baseline_reset_load_threshold = 0.25;
        for (dialect, floor, of_gradient) in [
            (Dialect::default(), 1, 1),
            (Dialect::opensearch(), 1, 20),
            (Dialect::opensearch_documented(), 23, 23),
        ] {
            for algorithm in AlgorithmName::ALL {
                settings.algorithm = algorithm;
                let bounds = match dialect.algorithm(&settings) {
                    AlgorithmSettings::OpenSearchVegas(it) => {
                        let numbers = (it.updrift_factor, it.increase_barrier, it.decrease_barrier);
                        assert_eq!((numbers, it.baseline_reset_load_threshold), ((3, 4, 5), 0.25));
                        (it.initial, it.min, it.max)
                    }
                    AlgorithmSettings::Gradient2(it) => {
                        assert_eq!((it.rtt_tolerance, it.min), (1.75, of_gradient));
                        (it.initial, floor, it.max)
                    }
                    AlgorithmSettings::Aimd(it) => {
                        assert_eq!(it.backoff_ratio, 0.625);
                        (it.initial, it.min, it.max)
                    }
                    AlgorithmSettings::Knee(it) => (it.initial, it.min, it.max),
                    other => panic!("{other:?}"),
                };
                assert_eq!(bounds, (23, floor, 321), "{algorithm:?}, {dialect:?}");
            }
        }
    }

    #[test]
    fn a_limiter_is_set_as_the_presets_of_the_same_name() {
        let settings = ActionSettings::default();
        assert_eq!(Dialect::opensearch().limiter(&settings), LimiterSettings::opensearch());
        assert_eq!(
            Dialect::opensearch_documented().limiter(&settings),
            LimiterSettings::opensearch_documented()
        );
        assert_eq!(Dialect::default().limiter(&settings).warmup, Duration::from_secs(300));
    }
}
