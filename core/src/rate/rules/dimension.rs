//! What can be limited: a table of names.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::MOST_DIMENSIONS;
use crate::error::{ConfigError, Rules};
use crate::num;

/// A kind of cost, by its place in a table of [`Dimensions`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Dimension(u8);

impl Dimension {
    /// Its place in the table, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The same, as [observers](crate::observe::KeyEvent) hear it.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What of a request comes back when it failed.
///
/// The default: a client that sends what cannot be served must not do so for free; what the server broke is not charged.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Refund {
    /// Whether it comes back when the client was at fault, leaving midway included.
    pub after_client_error: bool,
    /// Whether it comes back when the server was.
    pub after_server_error: bool,
}

impl Default for Refund {
    fn default() -> Self {
        Self { after_client_error: false, after_server_error: true }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Named {
    name: Box<str>,
    unit: Box<str>,
    refund: Refund,
}

/// The dimensions that rules can limit.
///
/// ```
/// use tollgate::rate::rules::{Dimensions, Refund};
///
/// let mut dimensions = Dimensions::new();
/// let tokens = dimensions.add("output_token_count", "output tokens")?;
/// assert_eq!(dimensions.find("output_token_count"), Some(tokens));
/// assert_eq!((dimensions.name(tokens), dimensions.refund(tokens)), ("output_token_count", Refund::default()));
/// # Ok::<(), tollgate::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Dimensions {
    all: Vec<Named>,
}

impl Dimensions {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self { all: Vec::new() }
    }

    /// Adds a dimension: its name, as headers and metrics say it, and the noun people count it in ("requests").
    ///
    /// # Errors
    /// A 17th dimension; a name that another has.
    pub fn add(&mut self, name: &str, unit: &str) -> Result<Dimension, ConfigError> {
        self.add_with(name, unit, Refund::default())
    }

    /// The same with its own way of refunding.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_with(&mut self, name: &str, unit: &str, refund: Refund) -> Result<Dimension, ConfigError> {
        let place = num::index_u32(self.all.len());
        let mut rules = Rules::new();
        rules.require(self.all.len() < MOST_DIMENSIONS, "dimensions", place, "at most 16");
        let other = self.find(name).map_or(place, |other| u32::from(other.0));
        rules.require(
            other == place,
            "name",
            other,
            "one that no other dimension has; given is that one's number",
        );
        let dimension = rules.accept(u8::try_from(place).ok().map(Dimension))?;
        self.all.push(Named { name: name.into(), unit: unit.into(), refund });
        Ok(dimension)
    }

    /// The dimension of that name. O(dimensions).
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Dimension> {
        self.iter().find(|&dimension| self.name(dimension) == name)
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Dimension> + use<> {
        (0_u8..).take(self.all.len()).map(Dimension)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Its name; empty for a dimension of another table.
    #[must_use]
    pub fn name(&self, dimension: Dimension) -> &str {
        self.get(dimension).map_or("", |named| &named.name)
    }

    /// The noun people count it in.
    #[must_use]
    pub fn unit(&self, dimension: Dimension) -> &str {
        self.get(dimension).map_or("", |named| &named.unit)
    }

    /// What of it comes back.
    #[must_use]
    pub fn refund(&self, dimension: Dimension) -> Refund {
        self.get(dimension).map_or_else(Refund::default, |named| named.refund)
    }

    pub(crate) fn knows(&self, dimension: Dimension) -> bool {
        self.get(dimension).is_some()
    }

    fn get(&self, dimension: Dimension) -> Option<&Named> {
        self.all.get(dimension.index())
    }
}
