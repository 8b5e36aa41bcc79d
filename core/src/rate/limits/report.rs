//! Where an account stands on every window: what headers and dashboards show.

use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use super::account::AccountId;
use super::{Denied, Limits};
use crate::error::Stale;
use crate::hasher::DefaultHasher;
use crate::observe::{KeyObserver, NoObserver};
use crate::rate::rules::{Dimension, GroupId, RuleId};
use crate::slots::NIL;
use crate::time::Timestamp;

/// One window as it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WindowState {
    /// Of what.
    pub dimension: Dimension,
    /// By which rule.
    pub rule: RuleId,
    /// Its limit.
    pub limit: u64,
    /// Its window.
    pub window: Duration,
    /// What counts as consumed, rounded up; beyond the limit in debt.
    pub used: u64,
    /// The most that passes this window now without overshooting; 0 for a dimension that has just refused.
    pub remaining: u64,
    /// After how long nothing counts as consumed if nothing more is; `None` if that never happens, or past
    /// [`Timestamp::MAX`].
    pub resets_in: Option<Duration>,
}

/// The [`WindowState`]s of an account in a group, by dimension and then by window, shortest first.
#[derive(Debug)]
pub struct Report<'a, K, S = DefaultHasher, O = NoObserver> {
    limits: &'a Limits<K, S, O>,
    now: Timestamp,
    refused: Option<Dimension>,
    place: u32,
    left: u32,
}

impl<K, S, O> Iterator for Report<'_, K, S, O> {
    type Item = WindowState;

    fn next(&mut self) -> Option<WindowState> {
        self.left = self.left.checked_sub(1)?;
        let meter = self.limits.meters.at(self.place)?;
        self.place = self.limits.meters.after(self.place);
        let rule = self.limits.rules.rule(meter.rule)?;
        let refuses = self.refused == Some(meter.dimension);
        Some(WindowState {
            dimension: meter.dimension,
            rule: rule.id,
            limit: rule.limit,
            window: rule.window,
            used: meter.machine.consumed(self.now),
            remaining: if refuses { 0 } else { meter.machine.remaining(self.now) },
            resets_in: meter.machine.recovers_at(self.now).map(|at| at.saturating_since(self.now)),
        })
    }
}

/// What [`Limits`] keep, and what became of those there was no room for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LimitsSnapshot {
    /// Accounts kept now, the shared one included.
    pub accounts: u32,
    /// Sheets kept now.
    pub sheets: u32,
    /// Meters kept now.
    pub meters: u32,
    /// Rule sets there were, from 1.
    pub rule_sets: u64,
    /// Accounts forgotten to make room.
    pub forgotten: u64,
    /// Requests refused because there was no room for their account, sheet or meters.
    pub full: u64,
    /// Requests begun on the shared account.
    pub shared: u64,
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// What it keeps, and what became of those there was no room for. O(1).
    #[must_use]
    pub const fn snapshot(&self) -> LimitsSnapshot {
        LimitsSnapshot {
            accounts: self.accounts.len(),
            sheets: self.sheets.len(),
            meters: self.meters.len(),
            rule_sets: self.version,
            ..self.counts
        }
    }

    /// All accounts kept now, in no order, with their owners; the shared one has none. With [`report`](Self::report), how
    /// everybody stands.
    pub fn owners(&self) -> impl Iterator<Item = (AccountId, Option<&K>)> {
        self.accounts.iter().map(|(id, account)| (AccountId(id), account.owner.as_ref()))
    }

    /// The state of every window of an account in a group. After a refusal, say which: its dimension has nothing
    /// remaining for this request, on no window, and the report says so. O(windows).
    ///
    /// # Errors
    /// [`Stale`] if the account was forgotten, or never used the group.
    pub fn report(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
        denied: Option<&Denied>,
    ) -> Result<Report<'_, K, S, O>, Stale> {
        let now = self.observe(now);
        let sheet = self.sheet_of(account, group).ok_or(Stale)?;
        self.follow(sheet, now, true);
        let (place, left) =
            self.sheets.at(sheet).map_or((NIL, 0), |sheet| (sheet.meters.head(), sheet.in_force));
        let refused = denied.filter(|denied| denied.rule.is_some()).map(|denied| denied.dimension);
        Ok(Report { limits: self, now, refused, place, left })
    }

    /// The window to show where only one can be shown: the shortest, and of these the one with the least remaining; of
    /// the refusing dimension, if there was a refusal. `None` where nothing is limited. O(windows).
    ///
    /// # Errors
    /// As [`report`](Self::report).
    pub fn primary(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
        denied: Option<&Denied>,
    ) -> Result<Option<WindowState>, Stale> {
        let report = self.report(now, account, group, denied)?;
        let refused = report.refused;
        let shown = report.filter(|state| refused.is_none_or(|refused| refused == state.dimension));
        Ok(shown.min_by_key(|state| (state.window, state.remaining)))
    }
}
