//! What a table tells its observer.

use core::borrow::Borrow;
use core::hash::Hash;

use super::Table;
use crate::error::{Reason, Refused};
use crate::observe::{KeyEvent, KeyObserver};

impl<K: Hash + Eq, O: KeyObserver<K>> Table<K, O> {
    pub(in super::super) const fn observer(&self) -> &O {
        &self.observer
    }

    pub(in super::super) const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells how a request was answered.
    #[inline]
    pub(super) fn tell_answer<Q>(&mut self, hash: u64, key: &Q, amount: u64, refused: Option<&Refused>)
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let event = match refused.map(|refused| refused.reason) {
            None => KeyEvent::Granted { dimension: 0, amount },
            // It was told.
            Some(Reason::KeyTableFull) => return,
            Some(reason) => KeyEvent::Refused { dimension: 0, amount, reason },
        };
        if O::LISTENS {
            self.tell(hash, key, event);
        }
    }

    /// Tells what happened to a key, by the name that is kept of it, if one is.
    pub(super) fn tell<Q>(&mut self, hash: u64, key: &Q, event: KeyEvent)
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let place = self.place_of(hash, key);
        let held = place.and_then(|place| self.entries.get(place)).map(|entry| &entry.key);
        self.observer.on_key_event(held, event);
    }

    /// Refuses a key for which there is no place.
    #[cold]
    pub(super) fn no_room(&mut self) -> Refused {
        self.counts.full = self.counts.full.saturating_add(1);
        self.observer.on_key_event(None, KeyEvent::NoRoom);
        Refused::because(Reason::KeyTableFull)
    }
}
