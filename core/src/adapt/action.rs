//! [`ActionLimits`]: named limiters that are set by text, while they work, as OpenSearch sets them.
//!
//! **Problem.** Whoever operates a server knows names and numbers, not types: "limit searches, keep seven tenths for
//! premium customers, watch first". These settings come from a file or from an API, some at a time, some of them wrong; and
//! they change under load.
//!
//! **Design.** Settings are named `concurrency_limit.action.<limiter>.<setting>`. A set of [changes](Value) is taken over
//! [whole or not at all](ActionLimits::update): what cannot be is named, all of it, and nothing has changed. Each limiter
//! with an `action_name` is a [`Limiter`](super::Limiter) around an [`Algorithm`](super::Algorithm); its tickets stay valid
//! through every change. A request finds its partition by a [resolver](ResolverName). What the settings mean is a
//! [`Dialect`]: ours, or that of OpenSearch's code or of its document.
//!
//! **Source.** The settings of OpenSearch 3.9's concurrency limits: same names, defaults and ranges. Deviations: times are whole
//! numbers; shares are compared in millionths, so that 0.33 + 0.56 + 0.11 is one; one action has at most one limiter, where
//! the source lets one of several win; the algorithm may be `knee`; refusals carry a hint; and those of the dialect.
//!
//! **Invariants.** **I1** each limiter with an action is live, and no other; **I2** an action has at most one limiter;
//! **I3** a live limiter works by the settings it is listed with.
//!
//! **Work** O(log limiters + partitions) a request, O(all settings) an update. **Memory** that of its limiters. Refusing
//! and admitting allocate nothing.
//!
//! ```
//! use tollgate::Timestamp;
//! use tollgate::adapt::Outcome;
//! use tollgate::adapt::action::{ActionLimits, Dialect, Request, Value};
//!
//! let mut limits = ActionLimits::new(Dialect::default(), 10, 10)?;
//! let now = Timestamp::ZERO; // your clock
//! let set = |setting: &str, value| (format!("concurrency_limit.action.search.{setting}"), value);
//! limits.update(now, &[
//!     set("action_name", Value::from("indices:data/read/search")),
//!     set("mode", Value::from("enforced")),
//!     set("warmup_duration", Value::from("0s")),
//!     set("limit.initial", Value::from(10)),
//!     set("partitions", Value::from("premium,standard")),
//!     set("partition.resolver", Value::from("byHeader")),
//!     set("partition.premium.percent", Value::from(0.7)),
//!     set("partition.standard.percent", Value::from(0.3)),
//! ])?;
//!
//! let standard = Request { tier: Some("standard"), ..Request::default() };
//! let tickets: Vec<_> = (0..3)
//!     .map(|_| limits.try_admit(now, "indices:data/read/search", &standard, 1))
//!     .collect::<Result<_, _>>()?;
//! let refused = limits.try_admit(now, "indices:data/read/search", &standard, 1).unwrap_err();
//! assert_eq!(
//!     refused.to_string(),
//!     "request rejected: concurrency limit reached for action [indices:data/read/search]"
//! );
//! for ticket in tickets {
//!     limits.complete(now, ticket, Outcome::Success)?;
//! }
//!
//! let error = limits.update(now, &[set("limit.max", Value::from(5)), set("mode", Value::from("on"))]).unwrap_err();
//! assert_eq!(error.violations().len(), 2, "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "serde")]
mod changes;
mod dialect;
mod error;
mod fields;
mod limits;
mod named;
mod resolver;
mod settings;
mod stats;
mod value;

#[cfg(feature = "serde")]
pub use self::changes::Changes;
pub use self::dialect::{Dialect, Floor, OnChange};
pub use self::error::{SettingViolation, SettingsError};
pub use self::limits::{ActionId, ActionLimits, ActionTicket, Rejected};
pub use self::named::ActionLimiter;
pub use self::resolver::{Request, Search, TIER_HEADER};
pub use self::settings::{
    ActionSettings, AlgorithmName, LimitSettings, PartitionSettings, ResolverName, ResolverSettings,
    VegasOptions,
};
pub use self::stats::ActionStats;
pub use self::value::Value;
