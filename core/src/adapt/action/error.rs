//! What is wrong with settings: all of it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One setting that cannot be.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SettingViolation {
    /// Which: its whole name.
    pub setting: String,
    /// What was given.
    pub given: String,
    /// What would have been accepted.
    pub allowed: String,
}

impl fmt::Display for SettingViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, allowed is {}", self.setting, self.given, self.allowed)
    }
}

/// Settings that cannot be: *every* rule they break. Nothing was changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SettingsError {
    violations: Vec<SettingViolation>,
}

impl SettingsError {
    /// The broken rules, in the order in which the settings are listed; never empty.
    #[must_use]
    pub fn violations(&self) -> &[SettingViolation] {
        &self.violations
    }

    pub(super) const fn of(violations: Vec<SettingViolation>) -> Self {
        Self { violations }
    }

    /// An error, if there is anything wrong.
    pub(super) fn unless_none(violations: Vec<SettingViolation>) -> Result<(), Self> {
        if violations.is_empty() { Ok(()) } else { Err(Self { violations }) }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid settings: ")?;
        for (place, violation) in self.violations.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl core::error::Error for SettingsError {}
