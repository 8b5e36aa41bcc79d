//! Taking ahead of time, and giving back.
//!
//! A word only rises by what is taken, so it tells whether anything was taken after a reservation: nothing was while it is
//! what that left behind. Then taking the cost off again leaves the bucket as if the reservation had never been, whatever time
//! has passed, and the one before it is the latest again. Of one after which others took, what is left cannot be told from
//! theirs, and nothing is given back.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use super::{BEYOND_COUNT, DROPS, LOOKS, OVERFLOW, Table, WhenFull, above};
use crate::error::{Reason, Refused};
use crate::observe::{KeyEvent, KeyObserver};
use crate::time::Timestamp;

/// A cost that a key took ahead of its time. Act at [`ready_at`](Self::ready_at), or hand it to
/// [`Keyed::cancel`](super::super::Keyed::cancel) of the table and with the key it came from; dropping it keeps the cost
/// consumed.
#[derive(Debug, Eq, PartialEq)]
#[must_use = "act at `ready_at`, or cancel it"]
pub struct KeyedReservation {
    ready_at: Timestamp,
    cost: u64,
    /// The cost in units.
    taken: u64,
    /// The word it left behind.
    word: u64,
    /// How often the quota had changed.
    changes: u64,
    overflowed: bool,
}

impl KeyedReservation {
    /// When it may act: not before what accrued covers it.
    #[must_use]
    pub const fn ready_at(&self) -> Timestamp {
        self.ready_at
    }

    /// What it took, in tokens.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost
    }
}

impl<K: Hash + Eq, O: KeyObserver<K>> Table<K, O> {
    pub(in super::super) fn reserve<Q>(
        &mut self,
        (hasher, hash): (&impl BuildHasher, u64),
        now: Timestamp,
        key: &Q,
        cost: u64,
        max_wait: Duration,
    ) -> Result<KeyedReservation, Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let units = self.advance(now);
        let answer = if cost > self.units.capacity() {
            Err(Refused::because(Reason::ExceedsCapacity))
        } else {
            self.reserve_at((hasher, hash), units, key, cost, max_wait)
        };
        self.counts.refused = self.counts.refused.saturating_add(u64::from(answer.is_err()));
        self.tell_answer(hash, key, cost, answer.as_ref().err());
        answer
    }

    fn reserve_at<Q>(
        &mut self,
        (hasher, hash): (&impl BuildHasher, u64),
        units: u64,
        key: &Q,
        cost: u64,
        max_wait: Duration,
    ) -> Result<KeyedReservation, Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let held = self.place_of(hash, key);
        if held.is_none() {
            self.sweep(hasher, units, LOOKS, DROPS);
            if !self.has_room() && self.when_full == WhenFull::Refuse {
                return Err(self.no_room());
            }
        }
        let place = held.unwrap_or(OVERFLOW);
        let (word, taken) = (self.word(place), self.units.cost(cost));
        let (next, ready_at) = match self.step(place, units, cost) {
            Ok(next) => (next, self.latest),
            Err(Refused { retry_at: Some(at), .. }) if at.saturating_since(self.latest) <= max_wait => {
                (word.saturating_add(taken), at)
            }
            Err(Refused { reason, retry_at }) => {
                return Err(Refused::until(reason, retry_at.map(|at| at.saturating_sub(max_wait))));
            }
        };
        let overflowed = held.is_none() && !self.has_room();
        match held {
            Some(place) => self.write(place, units, next),
            None if cost == 0 => {}
            None if !overflowed => self.insert((hasher, hash), key.to_owned(), units, next),
            None => self.overflow_to(units, next)?,
        }
        Ok(KeyedReservation { ready_at, cost, taken, word: next, changes: self.changes, overflowed })
    }

    pub(in super::super) fn cancel<Q>(
        &mut self,
        hash: u64,
        now: Timestamp,
        key: &Q,
        reservation: &KeyedReservation,
    ) where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.advance(now);
        let held = self.place_of(hash, key);
        if reservation.changes != self.changes || held.is_none() && !reservation.overflowed {
            return;
        }
        let place = held.unwrap_or(OVERFLOW);
        let word = self.word(place);
        if word != reservation.word || word == BEYOND_COUNT {
            return;
        }
        let word = word.saturating_sub(reservation.taken);
        match self.entries.get_mut(place) {
            Some(entry) => entry.above = above(word),
            None => self.overflow = word,
        }
        if O::LISTENS {
            self.tell(hash, key, KeyEvent::Returned { dimension: 0, amount: reservation.cost });
        }
    }

    pub(in super::super) fn peek_behind<Q>(
        &self,
        hash: u64,
        now: Timestamp,
        key: &Q,
        ahead: u64,
        cost: u64,
    ) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if ahead == 0 || cost > self.units.capacity() {
            return self.peek(hash, now, key, cost);
        }
        let units = self.units.at(now.max(self.latest));
        let place = self.seen_at(hash, units, key).ok_or(Refused::because(Reason::KeyTableFull))?;
        let (word, cost) = (self.word(place), self.units.cost(cost));
        let (start, ceiling) = if word > units {
            (word, self.ceiling(place, units))
        } else {
            // The first of those ahead would begin a busy period here, and be noted.
            let rounding = self.units.rounding();
            (units.saturating_add(rounding), self.units.ceiling(units).saturating_add(rounding))
        };
        let then = start.saturating_add(self.units.charge(ahead));
        let answer = self.units.step(then, units, ceiling, cost).map(|_| ());
        answer.ok_or_else(|| self.units.no(then, ceiling, cost))
    }
}
