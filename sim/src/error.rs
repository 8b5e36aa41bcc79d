//! What can be wrong with what a person gave: [`SimError`] says which setting, what was given and what is allowed.

use tollgate::ConfigError;

use crate::trace::TraceError;

/// Why a scenario cannot be simulated. Each of these is a mistake in the input; a run itself cannot fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The trace file cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A setting is out of its range.
    #[error("{name} is {given}, allowed is {allowed}")]
    Setting {
        /// The setting, as the command line calls it.
        name: &'static str,
        /// What was given.
        given: String,
        /// What would have been accepted.
        allowed: &'static str,
    },
    /// The core refused the configuration of a policy.
    #[error("policy {policy}: {source}")]
    Policy {
        /// The policy.
        policy: &'static str,
        /// Every rule of the core it breaks.
        source: Box<ConfigError>,
    },
}

impl SimError {
    /// A setting out of its range.
    pub(crate) fn setting(name: &'static str, given: impl ToString, allowed: &'static str) -> Self {
        Self::Setting { name, given: given.to_string(), allowed }
    }

    /// Refuses `given` unless `holds`.
    pub(crate) fn unless(
        holds: bool,
        name: &'static str,
        given: impl ToString,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::setting(name, given, allowed)) }
    }
}
