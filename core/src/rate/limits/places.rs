//! Accounts by owner: found, made, forgotten.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use super::Limits;
use super::account::{Account, AccountId, Sheet};
use crate::error::{Reason, Refused};
use crate::index::hash_of;
use crate::observe::{KeyEvent, KeyObserver};
use crate::rate::rules::{GroupId, TierId};
use crate::slots::{Chain, NIL, SlotId};
use crate::time::Timestamp;

/// Accounts the hand looks at for one newcomer.
const LOOKS: u32 = 8;

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// The account of an owner, if there is one. O(1).
    #[must_use]
    pub fn account<Q>(&self, owner: &Q) -> Option<AccountId>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.place_of(owner).and_then(|place| self.accounts.id_at(place)).map(AccountId)
    }

    #[inline]
    pub(super) fn place_of<Q>(&self, owner: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.index.find(hash_of(&self.hasher, owner), |place| self.is_of(place, owner))
    }

    #[inline]
    fn is_of<Q>(&self, place: u32, owner: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let found = self.accounts.at(place).and_then(|account| account.owner.as_ref());
        found.is_some_and(|found| found.borrow() == owner)
    }

    /// The account of an owner in a tier, made if there is none and there is room.
    #[inline]
    pub(in crate::rate) fn admit<Q>(
        &mut self,
        now: Timestamp,
        owner: &Q,
        tier: Option<TierId>,
    ) -> Result<AccountId, Refused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let Some(account) = self.account(owner) else { return self.newcomer(now, owner, tier) };
        if self.accounts.get(account.0).is_some_and(|state| state.tier != tier) {
            self.change_tier(now, account, tier);
        }
        Ok(account)
    }

    #[cold]
    fn newcomer<Q>(&mut self, now: Timestamp, owner: &Q, tier: Option<TierId>) -> Result<AccountId, Refused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let full = self.accounts.len() >= self.accounts.capacity();
        if full && !self.make_room(now) {
            let Some(shared) = self.shared else { return Err(self.no_room()) };
            self.counts.shared = self.counts.shared.saturating_add(1);
            return Ok(AccountId(shared));
        }
        let account =
            Account { owner: Some(owner.to_owned()), tier, former: None, open: 0, sheets: Chain::EMPTY };
        let Ok(id) = self.accounts.insert(account) else { return Err(self.no_room()) };
        let (accounts, hasher) = (&self.accounts, &self.hasher);
        self.index.insert(hash_of(hasher, owner), id.index(), |place| {
            let owner = accounts.at(place).and_then(|account| account.owner.as_ref());
            owner.map_or(0, |owner| hash_of(hasher, owner))
        });
        Ok(AccountId(id))
    }

    /// The sheet of an account for a group, with a meter for each window. Whoever calls holds the account open.
    #[inline]
    pub(in crate::rate) fn open_sheet(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
    ) -> Result<u32, Refused> {
        let found = self.sheet_of(account, group);
        if let Some(sheet) = found
            && self.follows(sheet, now)
        {
            return Ok(sheet);
        }
        self.new_sheet(now, account, group, found)
    }

    #[cold]
    fn new_sheet(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
        found: Option<u32>,
    ) -> Result<u32, Refused> {
        let sheet = match found {
            Some(sheet) => sheet,
            None => {
                let full = self.sheets.len() >= self.sheets.capacity();
                let sheet = Sheet::new(account.0.index(), group);
                let inserted =
                    if full && !self.make_room(now) { None } else { self.sheets.insert(sheet).ok() };
                let Some(sheet) = inserted.map(SlotId::index) else { return Err(self.no_room()) };
                if let Some(account) = self.accounts.get_mut(account.0) {
                    account.sheets.push_back(&mut self.sheets, sheet);
                }
                sheet
            }
        };
        let complete =
            self.follow(sheet, now, true) || (self.make_room(now) && self.follow(sheet, now, true));
        if complete { Ok(sheet) } else { Err(self.no_room()) }
    }

    /// Refuses somebody for whom there is no place.
    fn no_room(&mut self) -> Refused {
        self.counts.full = self.counts.full.saturating_add(1);
        self.observer.on_key_event(None, KeyEvent::NoRoom);
        Refused::because(Reason::KeyTableFull)
    }

    /// Forgets an account, if one of the next that the hand points at can be forgotten. O(8 accounts).
    fn make_room(&mut self, now: Timestamp) -> bool {
        for _ in 0..LOOKS.min(self.accounts.capacity()) {
            let place = self.hand;
            let next = place.saturating_add(1);
            self.hand = if next < self.accounts.capacity() { next } else { 0 };
            if let Some(account) = self.accounts.id_at(place).map(AccountId)
                && self.is_forgettable(now, account)
            {
                self.forget(account);
                return true;
            }
        }
        false
    }

    fn forget(&mut self, account: AccountId) {
        let Some(state) = self.accounts.get(account.0) else { return };
        let mut sheets = state.sheets;
        let (accounts, hasher) = (&self.accounts, &self.hasher);
        let hash_at = |place| {
            let owner = accounts.at(place).and_then(|account| account.owner.as_ref());
            owner.map_or(0, |owner| hash_of(hasher, owner))
        };
        self.index.remove(hash_at(account.0.index()), account.0.index(), hash_at);
        while sheets.head() != NIL {
            let place = sheets.head();
            sheets.remove(&mut self.sheets, place);
            let Some(sheet) = self.sheets.id_at(place).and_then(|id| self.sheets.remove(id).ok()) else {
                continue;
            };
            let mut meters = sheet.meters;
            while meters.head() != NIL {
                let place = meters.head();
                meters.remove(&mut self.meters, place);
                if let Some(id) = self.meters.id_at(place) {
                    let _forgotten = self.meters.remove(id);
                }
            }
        }
        let Ok(account) = self.accounts.remove(account.0) else { return };
        self.counts.forgotten = self.counts.forgotten.saturating_add(1);
        self.observer.on_key_event(account.owner.as_ref(), KeyEvent::Forgotten);
    }
}
