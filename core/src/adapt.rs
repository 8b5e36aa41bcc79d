//! How many at once is right? Estimators that learn a concurrency limit from how requests fare.
//!
//! A server with too little in flight idles, one with too much queues or falls over, and the right number changes
//! with the hour. An [`Estimator`] is told of each attempt as it ends and answers with the limit to enforce from then
//! on; what enforces it is not its business. It reads no clock and draws no random number: time is in the
//! [`Sample`], [`Jitter`] is a parameter.
//!
//! | estimator | watches | choose it when |
//! | --- | --- | --- |
//! | [`Vegas`] | the queue, from the delay; drops | the default: latency tells of overload |
//! | [`Gradient2`] | the delay, relative to none; drops | a tolerated slow-down is easier to name than a queue |
//! | [`Gradient`] | the same, more tolerant | as above, with more room |
//! | [`Aimd`] | drops and timeouts only | the server refuses when it is full, and latency says little |
//! | [`OpenSearchVegas`] | the queue, from the delay; drops | an OpenSearch must be matched |
//! | [`Algorithm`] | whichever of these it is set to | it is to be changed while it works |
//! | [`Burst`] | what is in flight | there is to be room for bursts on top of whatever is behind it |
//! | [`Knee`] | rounds, dips and experiments | nothing is known of the server: its own rules, the best in our simulator |
//! | [`AtomicWindow`] | – | many threads end requests faster than one lock allows |
//! | [`Window`] | whatever is behind it | an estimator that learns from each sample is to see means or percentiles |
//!
//! Each has two presets. `Default` is ours: [rounds](RoundSettings) of requests, a baseline measured in dips, one cut
//! per congestion epoch; none of the known faults of the references can happen. `netflix()` is the reference, bit for
//! bit, for those who must match it; each of its faults is an option of its own.
//!
//! What is common to our presets: **1** `min ≤ limit ≤ max`, always; **2** nothing is ever `NaN` or infinite; **3** a
//! drop never raises, never touches a baseline and is never swallowed, and drops admitted before the last cut do not
//! cut again; **4** with less than half of the limit in use nothing raises the estimate; **5** no limit is absorbing:
//! a run of good, busy requests raises it from every state, whatever was learnt before; **6** [`Outcome::Ignored`]
//! changes nothing. `core/tests/adapt_laws.rs` states these as properties, `core/tests/adapt_faults` shows each
//! fault of the references and its absence here, `core/tests/golden.rs` replays recorded runs of the references.
//!
//! [`Knee`] has only our preset, and decides on drops by experiment: of law 3 it keeps that a drop never raises.
//!
//! A dip publishes less than the estimate for a short while. So the *limit* may rise at the end of a dip by a sample
//! that raises no *estimate*.

#[cfg(feature = "alloc")]
pub mod action;
pub mod aimd;
pub mod algorithm;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub mod atomic_window;
mod bounds;
pub mod burst;
mod dip;
mod epoch;
pub mod gradient;
pub mod gradient2;
mod jitter;
pub mod knee;
pub mod limiter;
mod mode;
pub mod opensearch;
pub mod partition;
mod round;
mod sample;
mod scale;
#[cfg(test)]
mod testing;
pub mod vegas;
pub mod window;

pub use aimd::{Aimd, AimdSettings};
pub use algorithm::{Algorithm, AlgorithmSettings};
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use atomic_window::{AtomicWindow, Collected};
pub use burst::{Burst, BurstSettings};
pub use gradient::{Gradient, GradientReference, GradientSettings};
pub use gradient2::{Gradient2, Gradient2Reference, Gradient2Settings};
pub use jitter::{Jitter, Steps};
pub use knee::{Knee, KneeSettings};
pub use limiter::{Counting, Limiter, LimiterSettings, LimiterStats, Mode, Refusal, Ticket};
pub use opensearch::{Logarithm, OpenSearchVegas, OpenSearchVegasSettings};
pub use partition::{Guarantee, Held, PartitionId, Partitions, Share};
pub use round::{Learning, RoundSettings};
pub use sample::{Estimator, Outcome, Sample};
pub use scale::{Decrease, Scale};
pub use vegas::{Vegas, VegasReference, VegasSettings};
pub use window::{Tracked, Window, WindowSettings};
