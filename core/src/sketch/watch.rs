//! [`Watch`]: who consumes most, and who is refused most, before somebody complains.

use core::hash::{BuildHasher, Hash};

use super::HeavyHitters;
use crate::DefaultHasher;
use crate::error::ConfigError;
use crate::observe::{KeyEvent, KeyObserver};

/// An observer that keeps the heaviest consumers of one dimension, and the keys refused most, in bounded memory.
///
/// Consumption is what was granted and charged; what comes back does not lessen it. Counts are since the last
/// [`clear`](Self::clear): clear it every hour, and it tells of the last hour. Give a tuple of several to watch several
/// dimensions. In a table that is shared by threads each shard has one: read them in turn. O(log counters) for an event.
///
/// ```
/// use core::time::Duration;
/// use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
/// use tollgate::rate::{Limits, LimitsSettings};
/// use tollgate::sketch::Watch;
/// use tollgate::{DefaultHasher, Timestamp};
///
/// let mut dimensions = Dimensions::new();
/// let tokens = dimensions.add("output_token_count", "tokens")?;
/// let (group, minute) = (GroupId(0), Duration::from_secs(60));
/// let rules = RuleSet::new(dimensions, vec![Rule::new(RuleId(1), Target::Default, group, tokens, 100, minute)])?;
/// let settings = LimitsSettings::for_rules(1_000, &rules);
/// let watch = Watch::new(tokens.number(), 100)?;
/// let mut limits = Limits::with_observer(settings, rules, DefaultHasher::new(), watch)?;
///
/// for (owner, tokens_out) in [("ann", 70), ("bob", 90), ("bob", 90)] {
///     let mut session = limits.begin(Timestamp::ZERO, owner, None, group)?;
///     let _verdict = limits.evaluate(Timestamp::ZERO, &mut session, tokens, tokens_out);
///     limits.commit(Timestamp::ZERO, session);
/// }
/// let (most, refused) = (limits.observer().consumers().top(1), limits.observer().refused().top(1));
/// assert_eq!((most[0].key.as_str(), most[0].count), ("bob", 90));
/// assert_eq!((refused[0].key.as_str(), refused[0].count), ("bob", 1));
/// # let _: &Limits<String, _, _> = &limits;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watch<K, S = DefaultHasher> {
    dimension: u8,
    consumers: HeavyHitters<K, S>,
    refused: HeavyHitters<K, S>,
    unplaced: u64,
}

#[cfg(feature = "std")]
impl<K: Hash + Eq> Watch<K> {
    /// So many counters for consumers of a dimension, and as many for keys refused by any.
    ///
    /// # Errors
    /// As [`HeavyHitters::with_hasher`].
    pub fn new(dimension: u8, capacity: u32) -> Result<Self, ConfigError> {
        Self::with_hasher(dimension, capacity, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher + Clone> Watch<K, S> {
    /// The same with a hasher of your own.
    ///
    /// # Errors
    /// As [`HeavyHitters::with_hasher`].
    pub fn with_hasher(dimension: u8, capacity: u32, hasher: S) -> Result<Self, ConfigError> {
        let consumers = HeavyHitters::with_hasher(capacity, hasher.clone())?;
        Ok(Self { dimension, consumers, refused: HeavyHitters::with_hasher(capacity, hasher)?, unplaced: 0 })
    }
}

impl<K: Hash + Eq, S: BuildHasher> Watch<K, S> {
    /// Forgets all. O(counters).
    pub fn clear(&mut self) {
        self.consumers.clear();
        self.refused.clear();
        self.unplaced = 0;
    }
}

impl<K, S> Watch<K, S> {
    /// Who was granted and charged most of the dimension.
    #[must_use]
    pub const fn consumers(&self) -> &HeavyHitters<K, S> {
        &self.consumers
    }

    /// Who was refused most often, by any dimension.
    #[must_use]
    pub const fn refused(&self) -> &HeavyHitters<K, S> {
        &self.refused
    }

    /// Refusals of those whom the limiter has no place for, and so no name.
    #[must_use]
    pub const fn unplaced(&self) -> u64 {
        self.unplaced
    }
}

impl<K: Hash + Eq + Clone, S: BuildHasher> KeyObserver<K> for Watch<K, S> {
    fn on_key_event(&mut self, key: Option<&K>, event: KeyEvent) {
        match (event, key) {
            (
                KeyEvent::Granted { dimension, amount } | KeyEvent::Charged { dimension, amount },
                Some(key),
            ) if dimension == self.dimension => {
                self.consumers.add(key, amount);
            }
            (KeyEvent::Refused { .. }, Some(key)) => self.refused.add(key, 1),
            (KeyEvent::Refused { .. } | KeyEvent::NoRoom, None) => {
                self.unplaced = self.unplaced.saturating_add(1);
            }
            _ => {}
        }
    }
}
