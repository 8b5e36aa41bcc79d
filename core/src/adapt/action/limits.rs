//! All the named limiters of a server.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::dialect::Dialect;
use super::error::{SettingViolation, SettingsError};
use super::named::ActionLimiter;
use super::resolver::Request;
use super::settings::ActionSettings;
use super::stats::ActionStats;
use super::value::Value;
use crate::adapt::limiter::{Refusal, Ticket};
use crate::adapt::sample::Outcome;
use crate::error::{ConfigError, Stale};
use crate::slots::{Heap, SlotId, Slots};
use crate::time::Timestamp;

/// What all settings begin with.
const PREFIX: &str = "concurrency_limit.action.";

/// Names one live limiter; stale once its action is no longer limited.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ActionId(SlotId);

/// A request that was let in. Give it to [`ActionLimits::complete`] when it has ended.
#[derive(Debug)]
#[must_use = "a ticket that is not completed counts as in flight for good"]
pub struct ActionTicket(Option<(ActionId, Ticket)>);

impl ActionTicket {
    /// Whether a limiter let it in; otherwise its action is not limited.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.0.is_some()
    }
}

/// A request that was refused. It is displayed as OpenSearch words it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rejected<'a> {
    /// What was asked for.
    pub action: &'a str,
    /// Why, and what to do.
    pub refusal: Refusal,
}

impl fmt::Display for Rejected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request rejected: concurrency limit reached for action [{}]", self.action)
    }
}

impl core::error::Error for Rejected<'_> {}

#[derive(Debug)]
struct Named {
    settings: ActionSettings,
    /// Where it works, if it has an action.
    live: Option<ActionId>,
}

/// All the named limiters of a server; see the [module](super).
#[derive(Debug)]
pub struct ActionLimits {
    dialect: Dialect,
    max_partitions: u32,
    named: BTreeMap<String, Named>,
    by_action: BTreeMap<String, ActionId>,
    live: Slots<ActionLimiter, Heap>,
}

impl ActionLimits {
    /// No limiters yet, and room for so many with an action, and so many partitions each.
    ///
    /// # Errors
    /// More than the allocator can reserve.
    pub fn new(dialect: Dialect, max_limiters: u32, max_partitions: u32) -> Result<Self, ConfigError> {
        let live = Slots::new(max_limiters)?;
        Ok(Self { dialect, max_partitions, named: BTreeMap::new(), by_action: BTreeMap::new(), live })
    }

    /// Changes settings by their whole names, in order, all of them or none. A limiter without an `action_name` is not
    /// live; what it is set to is remembered. O(settings).
    ///
    /// # Errors
    /// Everything that cannot be; nothing is changed.
    pub fn update(&mut self, now: Timestamp, changes: &[(String, Value)]) -> Result<(), SettingsError> {
        let mut changed: BTreeMap<String, ActionSettings> = BTreeMap::new();
        let mut violations = Vec::new();
        for (path, value) in changes {
            let Some((name, setting)) = path.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'))
            else {
                violations.push(SettingViolation {
                    setting: path.clone(),
                    given: value.to_string(),
                    allowed: "nothing: there is no such setting".into(),
                });
                continue;
            };
            let settings = changed
                .entry(name.into())
                .or_insert_with(|| self.settings(name).cloned().unwrap_or_default());
            if let Err(violation) = settings.set(setting, value) {
                violations.push(SettingViolation { setting: path.clone(), ..violation });
            }
        }
        self.replace(now, changed, violations)
    }

    /// Sets a limiter anew, whatever it was. O(all settings).
    ///
    /// # Errors
    /// Everything that cannot be; nothing is changed.
    pub fn set(&mut self, now: Timestamp, name: &str, settings: ActionSettings) -> Result<(), SettingsError> {
        self.replace(now, BTreeMap::from([(name.into(), settings)]), Vec::new())
    }

    /// Removes a limiter with all its settings. Requests it let in end as those of an action that is not limited.
    /// O(log limiters).
    pub fn remove(&mut self, name: &str) {
        if let Some(Named { live: Some(live), .. }) = self.named.remove(name) {
            self.forget(live);
        }
    }

    /// A request asks to be let in. O(log limiters + partitions).
    ///
    /// # Errors
    /// [`Rejected`], only by a limit that is enforced and warm. Nothing is held.
    pub fn try_admit<'a>(
        &mut self,
        now: Timestamp,
        action: &'a str,
        request: &Request<'_>,
        weight: u32,
    ) -> Result<ActionTicket, Rejected<'a>> {
        let Some((id, limiter)) = self.id_of(action).and_then(|id| Some((id, self.get_mut(id)?))) else {
            return Ok(ActionTicket(None));
        };
        match limiter.try_admit(now, request, weight) {
            Ok(ticket) => Ok(ActionTicket(Some((id, ticket)))),
            Err(refusal) => Err(Rejected { action, refusal }),
        }
    }

    /// A request has ended. One whose limiter is gone has nothing to give back. O(partitions).
    ///
    /// # Errors
    /// [`Stale`] if it is of another set of limits; nothing is changed.
    pub fn complete(&mut self, now: Timestamp, ticket: ActionTicket, outcome: Outcome) -> Result<(), Stale> {
        match ticket.0 {
            Some((id, ticket)) => {
                self.get_mut(id).map_or(Ok(()), |limiter| limiter.complete(now, ticket, outcome))
            }
            None => Ok(()),
        }
    }

    /// Time has passed: see [`Limiter::tick`](crate::adapt::Limiter::tick). O(limiters).
    pub fn tick(&mut self, now: Timestamp) {
        for named in self.named.values() {
            if let Some(limiter) = named.live.and_then(|id| self.live.get_mut(id.0)) {
                limiter.tick(now);
            }
        }
    }

    /// When [`tick`](Self::tick) will have something to do; `None`: never. O(limiters).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.limiters().filter_map(|limiter| limiter.limiter().poll_timeout()).min()
    }

    /// The limiter of an action: to look it up once, where that is worth it. O(log limiters).
    #[must_use]
    pub fn id_of(&self, action: &str) -> Option<ActionId> {
        self.by_action.get(action).copied()
    }

    /// A live limiter; `None` once its action is no longer limited. O(1).
    #[must_use]
    pub fn get(&self, id: ActionId) -> Option<&ActionLimiter> {
        self.live.get(id.0)
    }

    /// The same, to work with it.
    #[must_use]
    pub fn get_mut(&mut self, id: ActionId) -> Option<&mut ActionLimiter> {
        self.live.get_mut(id.0)
    }

    /// How a limiter is set, live or not.
    #[must_use]
    pub fn settings(&self, name: &str) -> Option<&ActionSettings> {
        self.named.get(name).map(|named| &named.settings)
    }

    /// All settings that are not at their default, by their whole names: what [`update`](Self::update) would need.
    #[must_use]
    pub fn flat(&self) -> Vec<(String, Value)> {
        let of = |(name, named): (&String, &Named)| {
            let full = |(setting, value)| (alloc::format!("{PREFIX}{name}.{setting}"), value);
            named.settings.flat().into_iter().map(full).collect::<Vec<_>>()
        };
        self.named.iter().flat_map(of).collect()
    }

    /// The limiters that are live, by name.
    pub fn limiters(&self) -> impl Iterator<Item = &ActionLimiter> {
        self.named.values().filter_map(|named| self.live.get(named.live?.0))
    }

    /// What each live limiter has seen and thinks, by name.
    pub fn stats(&self, now: Timestamp) -> impl Iterator<Item = ActionStats<'_>> {
        self.limiters().map(move |limiter| limiter.stats(now))
    }

    /// Puts these in the place of what these limiters were set to, unless something is wrong with them or was before.
    fn replace(
        &mut self,
        now: Timestamp,
        mut changed: BTreeMap<String, ActionSettings>,
        mut violations: Vec<SettingViolation>,
    ) -> Result<(), SettingsError> {
        for (name, settings) in &changed {
            violations.extend(settings.violations(&alloc::format!("{PREFIX}{name}.")));
            self.check_name(name, settings, &mut violations);
        }
        self.check_room(&changed, &mut violations);
        SettingsError::unless_none(violations)?;
        changed.retain(|name, settings| self.settings(name) != Some(settings));

        // Whatever may yet fail, such as for want of memory, does so before anything is changed.
        let mut made = BTreeMap::new();
        for (name, settings) in &changed {
            if settings.action_name.is_empty() {
                continue;
            }
            let new = ActionLimiter::new(now, name, settings.clone(), &self.dialect, self.max_partitions);
            let new = new.map_err(|error| unexpected(name, &error))?;
            if self.named.get(name).is_none_or(|named| named.live.is_none()) {
                made.insert(name.clone(), new);
            }
        }
        // Actions that are given up make room for those that are taken up.
        for (name, settings) in &changed {
            let gone = settings.action_name.is_empty();
            if gone && let Some(live) = self.named.get_mut(name).and_then(|named| named.live.take()) {
                self.forget(live);
            }
        }
        for (name, settings) in changed {
            let made = made.remove(&name);
            self.put(now, name, settings, made)?;
        }
        self.by_action = self
            .named
            .values()
            .filter_map(|named| Some((named.settings.action_name.clone(), named.live?)))
            .collect();
        #[cfg(debug_assertions)]
        self.check_invariants();
        Ok(())
    }

    fn put(
        &mut self,
        now: Timestamp,
        name: String,
        settings: ActionSettings,
        made: Option<ActionLimiter>,
    ) -> Result<(), SettingsError> {
        let mut live = self.named.get(&name).and_then(|named| named.live);
        if let Some(made) = made {
            // There is room: it was counted.
            live = self.live.insert(made).ok().map(ActionId);
        } else if let Some(limiter) = live.and_then(|id| self.live.get_mut(id.0)) {
            let reconfigured = limiter.reconfigure(now, settings.clone(), &self.dialect);
            reconfigured.map_err(|error| unexpected(&name, &error))?;
        }
        if settings == ActionSettings::default() {
            self.named.remove(&name);
        } else {
            self.named.insert(name, Named { settings, live });
        }
        Ok(())
    }

    fn forget(&mut self, live: ActionId) {
        if let Ok(limiter) = self.live.remove(live.0) {
            self.by_action.remove(&limiter.settings().action_name);
        }
    }

    fn check_name(&self, name: &str, settings: &ActionSettings, violations: &mut Vec<SettingViolation>) {
        if name.is_empty() || name.contains('.') {
            violations.push(SettingViolation {
                setting: alloc::format!("{PREFIX}{name}"),
                given: alloc::format!("{name:?}"),
                allowed: "a name without dots".into(),
            });
        }
        let count = settings.partitions.len();
        if u32::try_from(count).is_ok_and(|count| count <= self.max_partitions) {
            return;
        }
        violations.push(SettingViolation {
            setting: alloc::format!("{PREFIX}{name}.partitions"),
            given: alloc::format!("{count} names"),
            allowed: alloc::format!("at most {} names", self.max_partitions),
        });
    }

    /// No action twice, and not too many.
    fn check_room(&self, changed: &BTreeMap<String, ActionSettings>, violations: &mut Vec<SettingViolation>) {
        let unchanged = self.named.iter().filter(|(name, _)| !changed.contains_key(*name));
        let all = unchanged.map(|(name, named)| (name, &named.settings)).chain(changed);
        let mut actions = BTreeSet::new();
        for (name, ActionSettings { action_name, .. }) in all {
            if action_name.is_empty() {
                continue;
            }
            let setting = || alloc::format!("{PREFIX}{name}.action_name");
            if !actions.insert(action_name) {
                violations.push(SettingViolation {
                    setting: setting(),
                    given: alloc::format!("{action_name:?}"),
                    allowed: "an action that no other limiter has".into(),
                });
            } else if actions.len() > crate::num::index(self.live.capacity()) {
                violations.push(SettingViolation {
                    setting: setting(),
                    given: alloc::format!("{action_name:?}"),
                    allowed: alloc::format!("{} limiters with an action", self.live.capacity()),
                });
            }
        }
    }

    /// Asserts I1 to I3, and the invariants of each limiter. O(everything); for tests and debugging.
    pub fn check_invariants(&self) {
        let mut live = 0_u32;
        for (name, named) in &self.named {
            assert_eq!(named.live.is_some(), !named.settings.action_name.is_empty(), "I1: {name}");
            let Some(id) = named.live else { continue };
            live = live.saturating_add(1);
            let limiter = self.live.get(id.0);
            assert_eq!(limiter.map(ActionLimiter::settings), Some(&named.settings), "I3: {name}");
            assert_eq!(self.id_of(&named.settings.action_name), Some(id), "I2: {name}");
            if let Some(limiter) = limiter {
                limiter.limiter().check_invariants();
            }
        }
        assert_eq!((self.live.len(), crate::num::index_u32(self.by_action.len())), (live, live), "I1, I2");
    }
}

/// What no rule foresaw, such as want of memory.
fn unexpected(name: &str, error: &ConfigError) -> SettingsError {
    let of = |violation: &crate::error::Violation| SettingViolation {
        setting: alloc::format!("{PREFIX}{name}: {}", violation.field),
        given: violation.given.to_string(),
        allowed: violation.allowed.into(),
    };
    SettingsError::of(error.violations().iter().map(of).collect())
}

#[cfg(test)]
mod tests;
