//! Pairs of a dimension and a key, what each holds, and what each may: behind both forms.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::time::Duration;

use super::{Cap, Dimension, Gauge, InFlightRefused, InFlightSnapshot};
use crate::error::{ConfigError, Reason, Refused, Rules, Stale};
use crate::index::Index;
use crate::num;
use crate::observe::{KeyEvent, KeyObserver};
use crate::slots::{Buffer, Heap, SlotId, Slots};

const HINT: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Pair<K> {
    key: K,
    dimension: Dimension,
    held: u32,
    /// Kept, so that nothing is hashed on the way out.
    hash: u64,
}

#[derive(Debug)]
struct Override<K> {
    key: K,
    dimension: Dimension,
    cap: Cap,
    hash: u64,
}

/// The state of one table. Hashes are handed in.
pub(super) struct Pairs<K, O> {
    held: Slots<Pair<K>, Heap>,
    index: Index,
    caps: [Cap; Dimension::COUNT],
    overrides: Vec<Override<K>>,
    override_index: Index,
    most_overrides: u32,
    hint: Option<Duration>,
    refused: u64,
    observer: O,
}

impl<K: Eq, O: KeyObserver<K>> Pairs<K, O> {
    /// Takes one of a pair.
    pub(super) fn take<Q>(
        &mut self,
        hash: u64,
        dimension: Dimension,
        key: &Q,
    ) -> Result<SlotId, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Eq + ToOwned<Owned = K> + ?Sized,
    {
        let cap = self.cap(hash, dimension, key);
        let most = match cap {
            Cap::Unlimited => u32::MAX,
            Cap::At(most) => most,
        };
        let place = self.place_of(hash, dimension, key);
        if let Some(place) = place
            && let Some(pair) = self.held.at_mut(place)
            && pair.held < most
        {
            pair.held = pair.held.saturating_add(1);
            let id = self.held.id_at(place);
            return id.ok_or_else(|| refusal(dimension, Reason::NoPermits, cap, 0, None));
        }
        if place.is_some() || most == 0 {
            return Err(self.refuse(hash, dimension, key, cap));
        }
        let pair = Pair { key: key.to_owned(), dimension, held: 1, hash };
        let Ok(id) = self.held.insert(pair) else { return Err(self.no_room(dimension, cap)) };
        let held = &self.held;
        self.index.insert(hash, id.index(), |place| held.at(place).map_or(0, |pair| pair.hash));
        Ok(id)
    }

    /// Refuses one of a pair that has no room.
    #[cold]
    fn refuse<Q>(&mut self, hash: u64, dimension: Dimension, key: &Q, cap: Cap) -> InFlightRefused
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let pair = self.place_of(hash, dimension, key).and_then(|place| self.held.at(place));
        let held = pair.map_or(0, |pair| pair.held);
        let reason = if cap == Cap::At(0) { Reason::ExceedsLimit } else { Reason::NoPermits };
        if O::LISTENS {
            let own = self.override_of(hash, dimension, key);
            let own = own.and_then(|place| self.overrides.get(num::index(place))).map(|own| &own.key);
            let event = KeyEvent::Refused { dimension: dimension.0, amount: 1, reason };
            self.observer.on_key_event(pair.map(|pair| &pair.key).or(own), event);
        }
        self.refused = self.refused.saturating_add(1);
        refusal(dimension, reason, cap, held, self.hint)
    }

    #[cold]
    fn no_room(&mut self, dimension: Dimension, cap: Cap) -> InFlightRefused {
        self.refused = self.refused.saturating_add(1);
        self.observer.on_key_event(None, KeyEvent::NoRoom);
        refusal(dimension, Reason::KeyTableFull, cap, 0, self.hint)
    }

    pub(super) fn cap<Q>(&self, hash: u64, dimension: Dimension, key: &Q) -> Cap
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let own = if self.overrides.is_empty() { None } else { self.override_of(hash, dimension, key) };
        let own = own.and_then(|place| self.overrides.get(num::index(place)));
        let common = || self.caps.get(usize::from(dimension.0)).copied().unwrap_or_default();
        own.map_or_else(common, |own| own.cap)
    }

    pub(super) fn held<Q>(&self, hash: u64, dimension: Dimension, key: &Q) -> u32
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let place = self.place_of(hash, dimension, key);
        place.and_then(|place| self.held.at(place)).map_or(0, |pair| pair.held)
    }

    /// Whether an id is that of a pair.
    pub(super) fn is<Q>(&self, id: SlotId, dimension: Dimension, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.held.get(id).is_some_and(|pair| pair.dimension == dimension && pair.key.borrow() == key)
    }

    pub(super) fn set_override<Q>(
        &mut self,
        hash: u64,
        dimension: Dimension,
        key: &Q,
        cap: Option<Cap>,
    ) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Eq + ToOwned<Owned = K> + ?Sized,
    {
        let place = self.override_of(hash, dimension, key);
        match (place.and_then(|place| self.overrides.get_mut(num::index(place))), cap) {
            (Some(own), Some(cap)) => own.cap = cap,
            (Some(_), None) => self.drop_override(hash, place.unwrap_or_default()),
            (None, None) => {}
            (None, Some(cap)) => {
                let place = num::index_u32(self.overrides.len());
                if place >= self.most_overrides {
                    return Err(Refused::because(Reason::KeyTableFull));
                }
                let own = Override { key: key.to_owned(), dimension, cap, hash };
                if Buffer::push(&mut self.overrides, own).is_ok() {
                    let overrides = &self.overrides;
                    let rehash = |place| overrides.get(num::index(place)).map_or(0, |own| own.hash);
                    self.override_index.insert(hash, place, rehash);
                }
            }
        }
        Ok(())
    }

    fn place_of<Q>(&self, hash: u64, dimension: Dimension, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.index.find(hash, |place| {
            self.held.at(place).is_some_and(|pair| pair.dimension == dimension && pair.key.borrow() == key)
        })
    }

    fn override_of<Q>(&self, hash: u64, dimension: Dimension, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.override_index.find(hash, |place| {
            let own = self.overrides.get(num::index(place));
            own.is_some_and(|own| own.dimension == dimension && own.key.borrow() == key)
        })
    }
}

impl<K, O: KeyObserver<K>> Pairs<K, O> {
    /// Tells of a pair that a whole request was granted.
    #[inline]
    pub(super) fn granted(&mut self, id: SlotId) {
        self.tell(id, |dimension| KeyEvent::Granted { dimension, amount: 1 });
    }

    /// Gives back what a request held. The key of a pair that holds nothing any more is handed out, for the caller to drop
    /// it where it pleases.
    #[inline]
    pub(super) fn release(&mut self, id: SlotId) -> Result<Option<K>, Stale> {
        self.tell(id, |dimension| KeyEvent::Returned { dimension, amount: 1 });
        self.undo(id)
    }

    #[inline]
    fn tell(&mut self, id: SlotId, event: impl FnOnce(u8) -> KeyEvent) {
        if O::LISTENS
            && let Some(pair) = self.held.get(id)
        {
            self.observer.on_key_event(Some(&pair.key), event(pair.dimension.0));
        }
    }
}

impl<K, O> Pairs<K, O> {
    /// Its ids are counted from `number`.
    pub(super) fn new(
        capacity: u32,
        most_overrides: u32,
        number: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let mut overrides = Vec::new();
        let mut rules = Rules::new();
        let reserved = overrides.try_reserve_exact(num::index(most_overrides)).is_ok();
        rules.require(reserved, "overrides", most_overrides, "what the allocator can reserve");
        rules.verdict()?;
        Ok(Self {
            index: Index::new(capacity)?,
            held: Slots::new(capacity)?.counting_from(number),
            caps: [Cap::Unlimited; Dimension::COUNT],
            overrides,
            override_index: Index::new(most_overrides.max(1))?,
            most_overrides,
            hint: Some(HINT),
            refused: 0,
            observer,
        })
    }

    /// Gives one of a pair back.
    pub(super) fn undo(&mut self, id: SlotId) -> Result<Option<K>, Stale> {
        let pair = self.held.get_mut(id).ok_or(Stale)?;
        pair.held = pair.held.saturating_sub(1);
        if pair.held > 0 {
            return Ok(None);
        }
        let hash = pair.hash;
        let held = &self.held;
        self.index.remove(hash, id.index(), |place| held.at(place).map_or(0, |pair| pair.hash));
        self.held.remove(id).map(|pair| Some(pair.key))
    }

    pub(super) const fn observer(&self) -> &O {
        &self.observer
    }

    pub(super) const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    pub(super) fn snapshot(&self) -> InFlightSnapshot {
        InFlightSnapshot {
            pairs: self.held.len().into(),
            capacity: self.held.capacity().into(),
            overrides: num::index_u32(self.overrides.len()).into(),
            refused: self.refused,
        }
    }

    pub(super) const fn set_cap(&mut self, dimension: Dimension, cap: Cap) {
        let [c0, c1, c2, c3, c4, c5, c6, c7] = &mut self.caps;
        let slot = match dimension.0 {
            0 => c0,
            1 => c1,
            2 => c2,
            3 => c3,
            4 => c4,
            5 => c5,
            6 => c6,
            _ => c7,
        };
        *slot = cap;
    }

    pub(super) const fn set_hint(&mut self, hint: Option<Duration>) {
        self.hint = hint;
    }

    pub(super) fn gauges(&self) -> impl Iterator<Item = Gauge<'_, K>> {
        self.held.iter().map(|(_, pair)| Gauge { dimension: pair.dimension, key: &pair.key, held: pair.held })
    }

    pub(super) const fn len(&self) -> u32 {
        self.held.len()
    }

    fn drop_override(&mut self, hash: u64, place: u32) {
        let overrides = &self.overrides;
        let hash_at = |place| overrides.get(num::index(place)).map_or(0, |own: &Override<K>| own.hash);
        let last = num::index_u32(overrides.len()).wrapping_sub(1);
        self.override_index.remove(hash, place, hash_at);
        if place != last {
            self.override_index.replace(hash_at(last), last, place);
        }
        let _dropped = self.overrides.swap_remove(num::index(place));
    }
}

/// The numbers of a refusal. The hint is for those whom waiting helps.
pub(super) const fn refusal(
    dimension: Dimension,
    reason: Reason,
    cap: Cap,
    held: u32,
    hint: Option<Duration>,
) -> InFlightRefused {
    let retry_after = if reason.waiting_helps() { hint } else { None };
    InFlightRefused { dimension, reason, cap, held, retry_after }
}
