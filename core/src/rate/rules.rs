//! Who may use how much of what: rules, checked and indexed as one [`RuleSet`].
//!
//! **Problem.** One request may cost a hundred times another, so counting requests is not fair. Limits are wanted on
//! several *dimensions* at once (requests, seconds of video, output tokens), each over several windows; most owners
//! take theirs from a tier, some have their own, some only until next week; and whoever writes them down does so in a
//! database, while everything runs.
//!
//! **What holds for whom.** A [`Rule`] limits one [`Dimension`] over one window in one group (an endpoint, say) for a
//! [`Target`]: an owner, a tier, or everybody else. For each group and dimension, of the rules in force at an instant:
//! those of the owner, if there are any, and then only those; else those of its tier; else the defaults. All of them
//! have to pass. Where there are none, nothing is limited.
//!
//! **Grace.** For a while after a change of tier the larger limit holds: the windows are those of the new tier (or of
//! the defaults, where it has none), and where the former one allowed more over the same window, its rule stands for the
//! new one. A window that only the former tier had does not hold any more: an upgrade is never worse than the new tier,
//! and a dimension is never without a limit that both tiers limit. Rules of an owner know no grace.
//!
//! **Look-up.** Rules are sorted by target, group, dimension and window, and a hash of target and group finds the first:
//! O(1), whatever the number of rules and owners. What was found is good until the next of these rules starts or
//! expires.
//!
//! **Constants.** At most 16 dimensions, 8 windows for a dimension, 32 windows in a group, 15 slices to a sliding
//! window: each is storage inside a session or a meter.
//!
//! **Source.** The rule model of the multi-dimension limiter this product was asked to cover (target group, rule group,
//! dimension; owner over tier over default). Deviations: expiry and start are part of a rule, and validation names every
//! bad rule, where there it was done by hand.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
//!
//! let mut dimensions = Dimensions::new();
//! let requests = dimensions.add("request_count", "requests")?;
//! let minute = Duration::from_secs(60);
//! let rules = vec![
//!     Rule::new(RuleId(1), Target::Default, GroupId(0), requests, 60, minute),
//!     Rule::new(RuleId(2), Target::Owner("acme"), GroupId(0), requests, 0, minute),
//! ];
//! let errors = RuleSet::new(dimensions, rules).unwrap_err();
//! assert_eq!(errors.to_string(), "rule 2: limit is 0, allowed is 1 or more");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod dimension;
mod plan;
mod query;
mod rule;
mod set;

pub use check::{RuleError, RuleErrors};
pub use dimension::{Dimension, Dimensions, Refund};
pub(crate) use plan::{Plan, Standing};
pub(crate) use rule::Terms;
pub use rule::{GroupId, Rule, RuleId, RuleOvershoot, Strategy, Target, TierId};
pub use set::RuleSet;

/// The most dimensions there can be.
pub(crate) const MOST_DIMENSIONS: usize = 16;
/// The most windows of one target, group and dimension.
pub(crate) const MOST_WINDOWS: usize = 8;
/// The most windows that can be in force in one group.
pub(crate) const MOST_LINES: usize = 32;
/// The most slices of a sliding window.
pub(crate) const MOST_SLICES: usize = 15;

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
