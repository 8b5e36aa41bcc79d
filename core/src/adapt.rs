//! How many at once is right? Estimators that learn a concurrency limit from how requests fare.

mod sample;

pub use sample::{Estimator, Outcome, Sample};
