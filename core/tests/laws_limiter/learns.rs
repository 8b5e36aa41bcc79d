//! What learns the limit, for the machine and for the oracle alike.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Knee, KneeSettings, OpenSearchVegas, OpenSearchVegasSettings, Outcome,
    Sample, Vegas, VegasSettings,
};
use tollgate_model::limiter::{self as model, Base};

use super::common::at;
use super::translate::outcome;

/// One that a run can replace and change.
pub(crate) trait Subject: Estimator + Base {
    fn new(seed: u32) -> Self;
    fn set(&mut self, limit: u32);
    /// All that it was told and became, to compare.
    fn told(&self) -> &[Call];
}

/// Something that it was told, and the limit after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    Sample(Sample, u32),
    Rejected(Timestamp, u32),
    Ticked(Timestamp, u32),
}

/// Moves its limit around `centre` with everything that it is told.
#[derive(Debug)]
pub(crate) struct Script {
    centre: u32,
    told: Vec<Call>,
}

impl Estimator for Script {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        self.told.push(Call::Sample(*sample, self.limit()));
        self.limit()
    }

    fn limit(&self) -> u32 {
        // Stays for some calls, goes up, comes down.
        let by = [0, 0, 1, 3, 3, 2, 0, 0][self.told.len() % 8];
        self.centre.saturating_add(by)
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        self.told.len().checked_sub(2).map(|more| Duration::from_nanos(more as u64))
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.told.push(Call::Rejected(now, self.limit()));
        self.limit()
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        self.told.push(Call::Ticked(now, self.limit()));
        self.limit()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.told.len().checked_sub(3).map(|more| at(more as u64))
    }
}

impl Subject for Script {
    fn new(seed: u32) -> Self {
        Self { centre: seed, told: vec![] }
    }

    fn set(&mut self, limit: u32) {
        self.centre = limit;
    }

    fn told(&self) -> &[Call] {
        &self.told
    }
}

/// One of the estimators, by the seed.
pub(crate) struct Real {
    estimator: Box<dyn Estimator>,
    told: Vec<Call>,
}

impl Subject for Real {
    fn new(seed: u32) -> Self {
        let (initial, max) = (1 + seed % 9, 12);
        let opensearch = OpenSearchVegasSettings { initial, max, ..OpenSearchVegasSettings::opensearch() };
        let estimator: Box<dyn Estimator> = match seed % 4 {
            0 => {
                Box::new(Aimd::new(AimdSettings { initial, max, min: 1, ..AimdSettings::netflix() }).unwrap())
            }
            1 => Box::new(Vegas::new(VegasSettings { initial, max, ..VegasSettings::default() }).unwrap()),
            2 => Box::new(OpenSearchVegas::new(opensearch).unwrap()),
            _ => Box::new(Knee::new(KneeSettings { initial, max, ..KneeSettings::default() }).unwrap()),
        };
        Self { estimator, told: vec![] }
    }

    fn set(&mut self, _limit: u32) {}

    fn told(&self) -> &[Call] {
        &self.told
    }
}

impl Estimator for Real {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        let limit = self.estimator.on_sample(sample);
        self.told.push(Call::Sample(*sample, limit));
        limit
    }

    fn limit(&self) -> u32 {
        self.estimator.limit()
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        self.estimator.no_load_rtt()
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        let limit = self.estimator.on_reject(now);
        self.told.push(Call::Rejected(now, limit));
        limit
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        let limit = self.estimator.on_tick(now);
        self.told.push(Call::Ticked(now, limit));
        limit
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.estimator.poll_timeout()
    }
}

/// For the oracle: an estimator told directly.
macro_rules! base {
    ($($subject:ident),*) => {$(
        impl Base for $subject {
            fn sample(&mut self, started: u64, rtt: u64, in_flight: u32, ended: model::Outcome) {
                let outcome: Outcome = outcome(ended);
                self.on_sample(&Sample { started: at(started), rtt: Duration::from_nanos(rtt), in_flight, outcome });
            }

            fn rejected(&mut self, now: u64) {
                self.on_reject(at(now));
            }

            fn ticked(&mut self, now: u64) {
                self.on_tick(at(now));
            }

            fn learnt(&self) -> u32 {
                self.limit()
            }
        }
    )*};
}
base!(Script, Real);
