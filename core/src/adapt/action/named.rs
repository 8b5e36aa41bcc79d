//! [`ActionLimiter`]: one named limiter at work.

use alloc::string::String;
use alloc::vec::Vec;

use super::dialect::{Dialect, OnChange};
use super::resolver::{Directory, Request};
use super::settings::ActionSettings;
use super::stats::ActionStats;
use crate::adapt::algorithm::Algorithm;
use crate::adapt::limiter::{Limiter, Refusal, Ticket};
use crate::adapt::partition::PartitionId;
use crate::adapt::sample::Outcome;
use crate::error::{ConfigError, Stale};
use crate::slots::Heap;
use crate::time::Timestamp;

/// One named limiter at work: a [`Limiter`], and the names of its partitions.
#[derive(Debug)]
pub struct ActionLimiter {
    name: String,
    settings: ActionSettings,
    directory: Directory,
    limiter: Limiter<Algorithm, Heap>,
}

impl ActionLimiter {
    pub(super) fn new(
        now: Timestamp,
        name: &str,
        settings: ActionSettings,
        dialect: &Dialect,
        max_partitions: u32,
    ) -> Result<Self, ConfigError> {
        let mut directory = Directory::default();
        let shares = directory.take_over(&settings);
        let algorithm = Algorithm::new(dialect.algorithm(&settings))?;
        let limiter = Limiter::new(now, algorithm, dialect.limiter(&settings), &shares, max_partitions)?;
        Ok(Self { name: name.into(), settings, directory, limiter })
    }

    /// Puts other settings in force. What was valid stays valid.
    pub(super) fn reconfigure(
        &mut self,
        now: Timestamp,
        settings: ActionSettings,
        dialect: &Dialect,
    ) -> Result<(), ConfigError> {
        let algorithm = dialect.algorithm(&settings);
        let mut directory = self.directory.clone();
        let shares: Vec<_> = directory.take_over(&settings);
        let fresh = Algorithm::new(algorithm)?;
        self.limiter.reconfigure(now, dialect.limiter(&settings), &shares)?;
        if dialect.on_change == OnChange::Keep {
            self.limiter.change_estimator(|estimator| estimator.reconfigure(now, algorithm))?;
        } else {
            self.limiter.replace_estimator(fresh);
        }
        if dialect.on_change == OnChange::Restart {
            self.limiter.restart_warmup(now);
        }
        (self.settings, self.directory) = (settings, directory);
        Ok(())
    }

    /// As [`Limiter::try_admit`], for the partition to which the request belongs. O(partitions).
    ///
    /// # Errors
    /// [`Refusal`], only while the limit is enforced and warm. Nothing is held.
    pub fn try_admit(
        &mut self,
        now: Timestamp,
        request: &Request<'_>,
        weight: u32,
    ) -> Result<Ticket, Refusal> {
        let partition = self.directory.resolve(request);
        self.limiter.try_admit(now, partition, weight)
    }

    /// As [`Limiter::complete`]. O(partitions).
    ///
    /// # Errors
    /// [`Stale`] if it is of another limiter; nothing is changed.
    pub fn complete(&mut self, now: Timestamp, ticket: Ticket, outcome: Outcome) -> Result<(), Stale> {
        self.limiter.complete(now, ticket, outcome)
    }

    /// As [`Limiter::tick`].
    pub fn tick(&mut self, now: Timestamp) {
        self.limiter.tick(now);
    }

    /// Its name, which is but a name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &ActionSettings {
        &self.settings
    }

    /// The limiter itself.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter<Algorithm, Heap> {
        &self.limiter
    }

    /// Its partitions, by name and by the number that the limiter knows them by.
    pub fn partitions(&self) -> impl Iterator<Item = (&str, PartitionId)> {
        self.directory.iter()
    }

    /// What it has seen and thinks. O(1).
    #[must_use]
    pub fn stats(&self, now: Timestamp) -> ActionStats<'_> {
        ActionStats {
            name: &self.name,
            action_name: &self.settings.action_name,
            algorithm: self.settings.algorithm,
            limiter: self.limiter.stats(now),
        }
    }
}
