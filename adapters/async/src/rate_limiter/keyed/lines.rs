//! [`Lines`]: a line for each key that somebody waits for.

use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use std::collections::HashMap;

use tollgate::rate::{Inherit, KeyedReservation, Quota, ShardedKeyed};
use tollgate::{ConfigError, Reason, Refused, Timestamp};

use super::super::line::{Bucket, Line};
use crate::turns::Turn;
use crate::wakes::Wakes;

/// The lines, and how many wait in all of them. Keys of which nobody waits have none.
pub(super) struct Lines<K> {
    lines: HashMap<K, Line<KeyedReservation>>,
    waiting: usize,
    most: usize,
}

impl<K: Hash + Eq + Clone> Lines<K> {
    pub(super) fn new(most: usize) -> Self {
        Self { lines: HashMap::new(), waiting: 0, most }
    }

    /// Asks for `cost` by `deadline`: granted (`None`), or a place in line.
    pub(super) fn join<S: BuildHasher>(
        &mut self,
        table: &ShardedKeyed<K, S>,
        now: Timestamp,
        key: &K,
        (cost, deadline): (u64, Timestamp),
        wakes: &mut Wakes,
    ) -> Result<Option<Turn>, Refused> {
        let full = self.waiting >= self.most;
        if !self.lines.contains_key(key) {
            self.lines.insert(key.clone(), Line::new(usize::MAX));
        }
        let asked = self.on(table, now, key, wakes, |line, mut bucket, _| {
            if full && let Err(refused) = line.peek(&bucket, now, cost) {
                let in_time = refused.retry_at.is_some_and(|due| due <= deadline);
                return Err(if in_time { Refused::because(Reason::QueueFull) } else { refused });
            }
            line.join(&mut bucket, now, cost, deadline)
        });
        // There is one, and so there is an answer.
        asked.unwrap_or(Ok(None))
    }

    /// Acts on the line of `key`, if there is one, after it was settled. A line that is of no use any more goes.
    pub(super) fn on<S: BuildHasher, T>(
        &mut self,
        table: &ShardedKeyed<K, S>,
        now: Timestamp,
        key: &K,
        wakes: &mut Wakes,
        act: impl FnOnce(&mut Line<KeyedReservation>, Of<'_, K, S>, &mut Wakes) -> T,
    ) -> Option<T> {
        let line = self.lines.get_mut(key)?;
        let before = line.len();
        line.settle(&mut Of { table, key }, now, wakes);
        let done = act(line, Of { table, key }, wakes);
        self.waiting = self.waiting - before + line.len();
        if line.is_unused() {
            self.lines.remove(key);
        }
        Some(done)
    }

    /// Changes the quota under all lines.
    pub(super) fn set_quota<S: BuildHasher>(
        &mut self,
        table: &ShardedKeyed<K, S>,
        now: Timestamp,
        (quota, inherit): (Quota, Inherit),
        wakes: &mut Wakes,
    ) -> Result<(), ConfigError> {
        for (key, line) in &mut self.lines {
            line.settle(&mut Of { table, key }, now, wakes);
            line.unreserve(&mut Of { table, key }, now);
        }
        let changed = table.set_quota(now, quota, inherit);
        for (key, line) in &mut self.lines {
            let told: Result<(), ConfigError> = line.retell(&mut Of { table, key }, now, wakes, |_| Ok(()));
            debug_assert!(told.is_ok(), "nothing is changed here");
        }
        self.waiting = self.lines.values().map(Line::len).sum();
        changed
    }

    /// How many wait as far as is known; whose time has come meanwhile is counted until somebody notices.
    pub(super) const fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// The bucket of one key.
pub(super) struct Of<'a, K, S> {
    table: &'a ShardedKeyed<K, S>,
    key: &'a K,
}

impl<K: Hash + Eq + Clone, S: BuildHasher> Bucket for Of<'_, K, S> {
    type Taken = KeyedReservation;

    fn reserve(&mut self, now: Timestamp, cost: u64) -> Result<(Timestamp, KeyedReservation), Refused> {
        let taken = self.table.reserve(now, self.key, cost, Duration::MAX)?;
        Ok((taken.ready_at(), taken))
    }

    fn give_back(&mut self, now: Timestamp, taken: KeyedReservation) {
        self.table.cancel(now, self.key, taken);
    }

    fn peek_behind(&self, now: Timestamp, ahead: u64, cost: u64) -> Result<(), Refused> {
        self.table.peek_behind(now, self.key, ahead, cost)
    }
}

#[cfg(test)]
mod tests {
    use tollgate::rate::WhenFull;

    use super::*;

    #[test]
    fn a_line_that_nobody_is_in_any_more_is_gone() {
        let now = Timestamp::from_nanos(1);
        let table = ShardedKeyed::<u64>::new(Quota::per_second(1), 99, WhenFull::Refuse).unwrap();
        let mut lines = Lines::new(99);
        let mut wakes = Wakes::default();
        for key in 0..9 {
            let mut ask = || lines.join(&table, now, &key, (1, Timestamp::MAX), &mut wakes).unwrap();
            assert_eq!(ask(), None);
            let turn = ask().unwrap();
            assert!(!lines.is_empty());
            let _waker = lines.on(&table, now, &key, &mut wakes, |line, mut bucket, wakes| {
                line.leave(&mut bucket, now, turn, wakes)
            });
            assert!(lines.is_empty());
            assert_eq!(lines.waiting, 0);
        }
    }
}
