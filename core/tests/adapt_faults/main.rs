//! Each known fault of the references, shown with the preset that equals them, and its absence in ours.
//!
//! The numbers are those of runs of the reference itself where one is stated in the test.

mod aimd;
mod gradient;
mod knee;
mod limiter;
mod opensearch;
mod partition;
mod vegas;

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Estimator, Gradient2, Gradient2Settings, Jitter, Outcome, Sample, Vegas, VegasSettings,
};

const MS: Duration = Duration::from_millis(1);

/// Three quarters, always.
struct Even;

impl Jitter for Even {
    fn next(&mut self) -> f64 {
        0.75
    }
}

/// A client that always has more to send.
#[derive(Default)]
struct Client {
    now: Timestamp,
}

impl Client {
    fn send(
        &mut self,
        estimator: &mut dyn Estimator,
        rtt: Duration,
        in_flight: u32,
        outcome: Outcome,
    ) -> u32 {
        let sample = Sample { started: self.now, rtt, in_flight, outcome };
        self.now = self.now.saturating_add(rtt / estimator.limit().max(1) + Duration::from_nanos(1));
        estimator.on_sample(&sample)
    }

    /// `count` successes with the whole limit in flight.
    fn busy(&mut self, estimator: &mut dyn Estimator, rtt: Duration, count: usize) -> u32 {
        for _ in 0..count {
            let in_flight = estimator.limit();
            self.send(estimator, rtt, in_flight, Outcome::Success);
        }
        estimator.limit()
    }

    /// The same against a server of `slots(i)` slots at request `i`, where time beyond them is spent in a queue.
    fn queued(&mut self, estimator: &mut dyn Estimator, count: usize, slots: impl Fn(usize) -> f64) -> u32 {
        for i in 0..count {
            let in_flight = estimator.limit();
            let slower = (f64::from(in_flight) / slots(i)).max(1.0);
            self.send(estimator, (10 * MS).mul_f64(slower), in_flight, Outcome::Success);
        }
        estimator.limit()
    }
}

#[test]
fn limits_may_start_outside_their_bounds() {
    assert!(Vegas::new(VegasSettings { initial: 50, max: 30, ..VegasSettings::netflix() }).is_ok());
    assert!(Vegas::new(VegasSettings { initial: 50, max: 30, ..VegasSettings::default() }).is_err());
    let crossed = |settings| Gradient2::new(Gradient2Settings { initial: 5, min: 20, max: 10, ..settings });
    assert!(crossed(Gradient2Settings::netflix()).is_ok());
    assert!(crossed(Gradient2Settings::default()).is_err());
}
