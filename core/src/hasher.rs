//! [`DefaultHasher`]: what keyed tables hash with unless told otherwise.
//!
//! Keys come from outside, and whoever can choose them can choose them to collide, which makes a table as slow as a
//! list. So the default is keyed with a secret that is drawn when a table is made (`SipHash` in std's `RandomState`). A
//! chip without a source of randomness has none: without the feature `std` there is no default, and the caller names a
//! hasher.

/// The default hasher of keyed tables, resistant to chosen keys.
#[cfg(feature = "std")]
pub type DefaultHasher = std::collections::hash_map::RandomState;

/// Stands where a hasher has to be named: without the feature `std` there is no default.
#[cfg(not(feature = "std"))]
#[derive(Debug)]
pub enum DefaultHasher {}
