//! What a request is counted by, how much it may have, and what it is exempt from.

/// What a request is counted by: the first to the eighth of the kinds of key a server has.
///
/// ```
/// use tollgate::permit::Dimension;
///
/// const USER: Dimension = Dimension::new(0).unwrap();
/// const TEAM: Dimension = Dimension::new(1).unwrap();
/// assert!(USER < TEAM && Dimension::new(8).is_none());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Dimension(pub(super) u8);

impl Dimension {
    /// How many there are, and how many pairs a request may have.
    pub const COUNT: usize = 8;

    /// The dimension of an index below 8.
    #[must_use]
    pub const fn new(index: u8) -> Option<Self> {
        if index < 8 { Some(Self(index)) } else { None }
    }

    /// Its index.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }
}

/// How much may be in flight at once.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Cap {
    /// Any number; it is counted all the same.
    #[default]
    Unlimited,
    /// So many; nobody at 0.
    At(u32),
}

/// What a request is exempt from.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Bypass {
    /// Nothing.
    #[default]
    None,
    /// Caps on what is in flight.
    InFlight,
    /// Every limit.
    Whole,
}

impl Bypass {
    /// Whether caps on what is in flight do not apply.
    #[must_use]
    pub const fn skips_in_flight(self) -> bool {
        matches!(self, Self::InFlight | Self::Whole)
    }

    /// Whether rates and budgets do not apply.
    #[must_use]
    pub const fn skips_rates(self) -> bool {
        matches!(self, Self::Whole)
    }
}
