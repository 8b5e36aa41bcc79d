//! Beginning a session, and asking for it.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use super::{MOST_RECORDS, Record, Session};
use crate::error::{Reason, Refused};
use crate::observe::{KeyEvent, KeyObserver};
use crate::rate::limits::{AccountId, Denied, Limits};
use crate::rate::rules::{Dimension, GroupId, TierId};
use crate::slots::{NIL, SlotId};
use crate::time::Timestamp;

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// Begins a request of an owner, in the tier it has now: one that differs from its last begins the grace. O(1).
    ///
    /// # Errors
    /// [`KeyTableFull`](Reason::KeyTableFull) where there is no room for its account, sheet or meters.
    #[inline]
    pub fn begin<Q>(
        &mut self,
        now: Timestamp,
        owner: &Q,
        tier: Option<TierId>,
        group: GroupId,
    ) -> Result<Session, Refused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let now = self.observe(now);
        let account = self.admit(now, owner, tier)?;
        let sheet = self.open(now, account, group)?;
        Ok(Session { account, group, sheet, records: heapless::Vec::new() })
    }

    /// Begins a request of an account that was used before, in the tier it had, without hashing its owner. O(1).
    ///
    /// # Errors
    /// [`TenantRemoved`](Reason::TenantRemoved) if it was forgotten since: [`begin`](Self::begin) again with its owner.
    /// Else as there.
    #[inline]
    pub fn begin_known(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
    ) -> Result<Session, Refused> {
        let now = self.observe(now);
        let sheet = self.open(now, account, group)?;
        Ok(Session { account, group, sheet, records: heapless::Vec::new() })
    }

    #[inline]
    fn open(&mut self, now: Timestamp, account: AccountId, group: GroupId) -> Result<SlotId, Refused> {
        let Some(state) = self.accounts.get_mut(account.0) else {
            return Err(Refused::because(Reason::TenantRemoved));
        };
        state.open = state.open.saturating_add(1);
        let sheet = self.open_sheet(now, account, group);
        match sheet.map(|sheet| self.sheets.id_at(sheet)) {
            Ok(Some(sheet)) => Ok(sheet),
            Ok(None) => {
                self.close(account);
                Err(Refused::because(Reason::TenantRemoved))
            }
            Err(refused) => {
                self.close(account);
                Err(refused)
            }
        }
    }

    /// One session less.
    pub(super) fn close(&mut self, account: AccountId) {
        if let Some(state) = self.accounts.get_mut(account.0) {
            state.open = state.open.saturating_sub(1);
        }
    }

    /// Takes `amount` of a dimension, from all of its windows or none. Where no rule limits it, it passes. O(windows).
    ///
    /// # Errors
    /// The window that clears last of those that refuse; [`UnknownDimension`](Reason::UnknownDimension),
    /// [`SessionFull`](Reason::SessionFull), [`KeyTableFull`](Reason::KeyTableFull) if new rules need meters
    /// that there is no room for, [`TenantRemoved`](Reason::TenantRemoved) for a session of other limits.
    #[inline]
    pub fn evaluate(
        &mut self,
        now: Timestamp,
        session: &mut Session,
        dimension: Dimension,
        amount: u64,
    ) -> Result<(), Denied> {
        let now = self.observe(now);
        let room = MOST_RECORDS.saturating_sub(session.records.len());
        let windows = self.look_at(now, session, dimension, amount, room)?;
        self.grant(now, session, windows, dimension, amount);
        Ok(())
    }

    /// Takes amounts of several dimensions, from all of their windows or none. A dimension that is given twice counts once,
    /// for the sum, at its first place. O(windows), and the square of the number of costs.
    ///
    /// # Errors
    /// The first of them that is refused, as by [`evaluate`](Self::evaluate).
    pub fn evaluate_all(
        &mut self,
        now: Timestamp,
        session: &mut Session,
        costs: &[(Dimension, u64)],
    ) -> Result<(), Denied> {
        self.look_at_all(now, session, costs)?;
        self.take_all(now, session, costs);
        Ok(())
    }

    /// Whether all of them would pass together. What it finds holds until something else is called.
    pub(crate) fn look_at_all(
        &mut self,
        now: Timestamp,
        session: &Session,
        costs: &[(Dimension, u64)],
    ) -> Result<(), Denied> {
        let now = self.observe(now);
        let mut room = MOST_RECORDS.saturating_sub(session.records.len());
        for (dimension, amount) in summed(costs) {
            let windows = self.look_at(now, session, dimension, amount, room)?;
            room = room.saturating_sub(windows.count);
        }
        Ok(())
    }

    /// Takes what was found to pass.
    pub(crate) fn take_all(&mut self, now: Timestamp, session: &mut Session, costs: &[(Dimension, u64)]) {
        let now = self.observe(now);
        let Some(sheet) = self.sheets.get(session.sheet).map(|_| session.sheet.index()) else { return };
        for (dimension, amount) in summed(costs) {
            let (windows, _) = self.look(now, sheet, dimension, amount);
            self.grant(now, session, windows, dimension, amount);
        }
    }

    #[inline]
    fn grant(
        &mut self,
        now: Timestamp,
        session: &mut Session,
        windows: Windows,
        dimension: Dimension,
        amount: u64,
    ) {
        self.take(now, session, windows, dimension, amount);
        self.tell(session.account, KeyEvent::Granted { dimension: dimension.number(), amount });
    }

    /// The windows of a dimension, if all of them let an amount pass and a session has room to write them down.
    #[inline]
    fn look_at(
        &mut self,
        now: Timestamp,
        session: &Session,
        dimension: Dimension,
        amount: u64,
        room: usize,
    ) -> Result<Windows, Denied> {
        let looked = self.ready(now, session.sheet, dimension, amount).and_then(|sheet| {
            let (windows, passes) = self.look(now, sheet, dimension, amount);
            if !passes {
                Err(self.denied(sheet, now, dimension, amount))
            } else if windows.count > room {
                Err(Denied::because(Reason::SessionFull, dimension, amount))
            } else {
                Ok(windows)
            }
        });
        if let Err(denied) = &looked {
            let (dimension, reason) = (dimension.number(), denied.reason);
            self.tell(session.account, KeyEvent::Refused { dimension, amount, reason });
        }
        looked
    }

    /// Whether nothing is owed on any window of these dimensions: whether it is worth beginning what is expensive.
    /// Consumes nothing. O(windows).
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate) for an amount of 0: the window whose debt is repaid last, and when.
    pub fn precheck(
        &mut self,
        now: Timestamp,
        session: &Session,
        dimensions: &[Dimension],
    ) -> Result<(), Denied> {
        let now = self.observe(now);
        for &dimension in dimensions {
            let sheet = self.ready(now, session.sheet, dimension, 0)?;
            if self.in_force(sheet, Some(dimension)).any(|(_, meter)| !meter.machine.passes(now, 0)) {
                return Err(self.denied(sheet, now, dimension, 0));
            }
        }
        Ok(())
    }

    /// The place of a session's sheet, its meters following the rules of `now`.
    #[inline]
    fn ready(
        &mut self,
        now: Timestamp,
        sheet: SlotId,
        dimension: Dimension,
        amount: u64,
    ) -> Result<u32, Denied> {
        let denied = |reason| Err(Denied::because(reason, dimension, amount));
        if !self.rules().dimensions().knows(dimension) {
            return denied(Reason::UnknownDimension);
        }
        let Some(account) = self.sheets.get(sheet).map(|sheet| sheet.account) else {
            return denied(Reason::TenantRemoved);
        };
        let place = sheet.index();
        if self.follows(place, now) {
            return Ok(place);
        }
        let group = self.sheets.at(place).map(|sheet| sheet.group);
        let account = self.accounts.id_at(account).map(AccountId);
        match account.zip(group).map(|(account, group)| self.open_sheet(now, account, group)) {
            Some(Ok(place)) => Ok(place),
            _ => denied(Reason::KeyTableFull),
        }
    }

    /// Where the windows of a dimension are, and whether all of them would let an amount pass.
    #[inline]
    pub(super) fn look(
        &self,
        now: Timestamp,
        sheet: u32,
        dimension: Dimension,
        amount: u64,
    ) -> (Windows, bool) {
        let (mut windows, mut passes) = (Windows { first: NIL, count: 0 }, true);
        let Some(sheet) = self.sheets.at(sheet) else { return (windows, passes) };
        let mut place = sheet.meters.head();
        for _ in 0..sheet.in_force {
            let Some(meter) = self.meters.at(place) else { break };
            if meter.dimension > dimension {
                break;
            }
            if meter.dimension == dimension {
                if windows.count == 0 {
                    windows.first = place;
                }
                windows.count = windows.count.saturating_add(1);
                passes = passes && meter.machine.passes(now, amount);
            }
            place = self.meters.after(place);
        }
        (windows, passes)
    }

    /// Takes an amount from every window of a dimension, and writes it down if there is room.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Timestamp,
        session: &mut Session,
        windows: Windows,
        dimension: Dimension,
        amount: u64,
    ) {
        let mut place = windows.first;
        let room = windows.count <= MOST_RECORDS.saturating_sub(session.records.len());
        for number in 0..windows.count {
            let Some(id) = self.meters.id_at(place) else { return };
            let Some(meter) = self.meters.at_mut(place) else { return };
            let position = meter.machine.take(now, amount);
            let (meter_place, meter_generation) = id.parts();
            let first = number == 0;
            let record = Record {
                meter_place,
                dimension,
                first,
                meter_generation,
                cost: amount,
                granted_at: now,
                position,
            };
            // What a settlement took beyond the room for it does not come back, to any of its windows (I2).
            if room {
                drop(session.records.push(record));
            }
            place = self.meters.after(place);
        }
    }
}

/// Each dimension once, at its first place, with the sum of its amounts.
fn summed(costs: &[(Dimension, u64)]) -> impl Iterator<Item = (Dimension, u64)> {
    costs.iter().enumerate().filter_map(|(place, &(dimension, _))| {
        let same = || costs.iter().enumerate().filter(move |(_, (other, _))| *other == dimension);
        let first = same().next().is_some_and(|(first, _)| first == place);
        first.then(|| (dimension, same().fold(0_u64, |sum, (_, (_, amount))| sum.saturating_add(*amount))))
    })
}

/// The windows of one dimension: they follow one another on their sheet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    first: u32,
    count: usize,
}
