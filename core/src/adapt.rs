//! How many at once is right? Estimators that learn a concurrency limit from how requests fare.

mod aimd;
mod bounds;
mod dip;
mod epoch;
mod gradient2;
mod jitter;
mod round;
mod sample;
mod scale;
mod vegas;

pub use aimd::{Aimd, AimdSettings};
pub use gradient2::{Gradient2, Gradient2Reference, Gradient2Settings};
pub use jitter::{Jitter, Steps};
pub use round::{Learning, RoundSettings};
pub use sample::{Estimator, Outcome, Sample};
pub use scale::{Decrease, Scale};
pub use vegas::{Vegas, VegasReference, VegasSettings};
