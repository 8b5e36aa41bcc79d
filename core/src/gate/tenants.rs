//! The tenants a gate knows: by key, and by a dense index that its scheduler uses too.
//!
//! A tenant is known while it has a job, is configured, or has left something behind with the scheduler (a debt, a
//! visit in the round in progress) that must not be forgotten yet. One that has no job and is not configured is *idle*:
//! it stays known until its place is needed, the one that was idle first going first.
//!
//! Keys are found through a table of chains, one chain a tenant on average.

use super::codel::Standing;
use super::job::TenantKey;
use crate::error::ConfigError;
use crate::heap::Keys;
use crate::num;
use crate::slots::{Arena, Buffer, Chain, Links, NIL, Storage};
use crate::time::Timestamp;

/// 2⁶⁴ ÷ the golden ratio: spreads keys that follow one another (Knuth, *The art of computer programming*, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What keeps a tenant known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Its jobs, and nothing else.
    Passing,
    /// Its weight was set.
    Configured,
    /// It was removed and has jobs left. Its key is free for another.
    Removed,
    /// Nothing: this place is free.
    Free,
}

/// One tenant.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) key: TenantKey,
    /// The next tenant on the same chain of the key table.
    next: u32,
    /// On the list of free, idle or removed tenants.
    links: Links,
    pub(super) kind: Kind,
    /// Its waiting jobs, oldest first; jobs that went back come first.
    pub(super) queue: Chain,
    /// Position on the heap of tenants whose next job is not ready; [`NIL`] if it is not there.
    ready_position: u32,
    /// On that heap: when its next job is ready.
    pub(super) ready_at: Timestamp,
    /// How far it has been served, cost by weight: where many become ready at one instant, the least goes first.
    pub(super) progress: u128,
    /// Places of the queue it takes up: waiting jobs and attempts.
    pub(super) places: u32,
    /// Bytes of these.
    pub(super) bytes: u64,
    /// What waits, as the [estimate](super::estimate) counts it.
    pub(super) work: u64,
    /// Jobs started and not ended.
    pub(super) active: u32,
    pub(super) standing: Standing,
    pub(super) idle_since: Timestamp,
    /// Jobs started so far, and what they were charged.
    pub(super) started: u64,
    pub(super) served: u128,
}

impl Tenant {
    fn new(key: TenantKey, next: u32) -> Self {
        Self {
            key,
            next,
            links: Links::NONE,
            kind: Kind::Passing,
            queue: Chain::EMPTY,
            ready_position: NIL,
            ready_at: Timestamp::ZERO,
            progress: 0,
            places: 0,
            bytes: 0,
            work: 0,
            active: 0,
            standing: Standing::default(),
            idle_since: Timestamp::ZERO,
            started: 0,
            served: 0,
        }
    }

    /// Whether it has no job, waiting or started.
    pub(super) const fn is_idle(&self) -> bool {
        self.places == 0 && self.active == 0
    }

    /// Whether it waits for its next job to become ready.
    pub(super) const fn is_unready(&self) -> bool {
        self.ready_position != NIL
    }
}

pub(super) struct Tenants<S: Storage> {
    table: Table<S>,
    /// Heads of the chains of the key table.
    chains: S::Buffer<u32>,
    capacity: u32,
    free: Chain,
    /// Tenants without jobs, the one that was idle first at the head.
    idle: Chain,
    /// Removed tenants that still have waiting jobs.
    removed: Chain,
    known: u32,
}

/// The tenants as an arena of links, and as keys of the heap of those that are not ready.
struct Table<S: Storage>(S::Buffer<Tenant>);

impl<S: Storage> Tenants<S> {
    pub(super) fn new(capacity: u32) -> Result<Self, ConfigError> {
        let mut chains = S::buffer(capacity)?;
        for _ in 0..capacity {
            // The buffer was made for as many.
            let _full = chains.push(NIL);
        }
        let (free, idle, removed) = (Chain::EMPTY, Chain::EMPTY, Chain::EMPTY);
        Ok(Self { table: Table(S::buffer(capacity)?), chains, capacity, free, idle, removed, known: 0 })
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Tenant> {
        self.table.0.as_ref().get(num::index(index))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Tenant> {
        self.table.0.as_mut().get_mut(num::index(index))
    }

    /// The index of the tenant with this key. O(1) on average.
    #[inline]
    pub(super) fn find(&self, key: TenantKey) -> Option<u32> {
        let mut index = *self.chains.as_ref().get(self.chain_of(key))?;
        while let Some(tenant) = self.get(index) {
            if tenant.key == key {
                return Some(index);
            }
            index = tenant.next;
        }
        None
    }

    /// Makes a tenant known if there is a free place: its index. The key must be unknown.
    pub(super) fn insert(&mut self, key: TenantKey) -> Option<u32> {
        let chain = self.chain_of(key);
        let fresh = Tenant::new(key, *self.chains.as_ref().get(chain)?);
        let free = self.free.head();
        let index = if free == NIL {
            let index = num::index_u32(self.table.0.as_ref().len());
            if index >= self.capacity {
                return None;
            }
            self.table.0.push(fresh).ok()?;
            index
        } else {
            self.free.remove(&mut self.table, free);
            *self.get_mut(free)? = fresh;
            free
        };
        *self.chains.as_mut().get_mut(chain)? = index;
        self.known = self.known.saturating_add(1);
        Some(index)
    }

    /// A tenant has no job any more: it is idle, unless it is configured or removed. Answers whether its place is free.
    pub(super) fn settle(&mut self, index: u32, now: Timestamp) -> bool {
        let Some(tenant) = self.get_mut(index) else { return false };
        match tenant.kind {
            Kind::Passing => {
                tenant.idle_since = now;
                self.idle.push_back(&mut self.table, index);
                false
            }
            Kind::Configured | Kind::Free => false,
            Kind::Removed => {
                self.release(index);
                true
            }
        }
    }

    /// An idle tenant gets a job: it is as far as those who are served now, if it is not further.
    pub(super) fn wake(&mut self, index: u32, progress: u128) {
        let Some(tenant) = self.get_mut(index).filter(|tenant| tenant.is_idle()) else { return };
        tenant.progress = tenant.progress.max(progress);
        self.take_off(index);
    }

    /// Takes an idle tenant off the list of these.
    fn take_off(&mut self, index: u32) {
        if self.get(index).is_some_and(|tenant| tenant.kind == Kind::Passing && tenant.is_idle()) {
            self.idle.remove(&mut self.table, index);
        }
    }

    /// A tenant's weight was set: it stays known.
    pub(super) fn configure(&mut self, index: u32) {
        self.take_off(index);
        if let Some(tenant) = self.get_mut(index) {
            tenant.kind = Kind::Configured;
        }
    }

    /// Forgets an idle tenant.
    pub(super) fn forget(&mut self, index: u32) {
        self.idle.remove(&mut self.table, index);
        self.unmap(index);
        self.release(index);
    }

    /// Removes a tenant: its key is free at once, its place when its last job is gone. Answers whether it is free now.
    pub(super) fn remove(&mut self, index: u32) -> bool {
        self.take_off(index);
        self.unmap(index);
        let Some(tenant) = self.get_mut(index) else { return false };
        tenant.kind = Kind::Removed;
        let (idle, waits) = (tenant.is_idle(), !tenant.queue.is_empty());
        if waits {
            self.removed.push_back(&mut self.table, index);
        } else if idle {
            self.release(index);
        }
        idle
    }

    /// A removed tenant that has waiting jobs.
    pub(super) const fn first_removed(&self) -> u32 {
        self.removed.head()
    }

    /// A removed tenant has no waiting job any more.
    pub(super) fn emptied(&mut self, index: u32) {
        self.removed.remove(&mut self.table, index);
    }

    /// The idle tenants, the one that was idle first first.
    pub(super) fn idle(&self) -> impl Iterator<Item = (u32, &Tenant)> {
        let first = self.idle.head();
        core::iter::successors(self.get(first).map(|tenant| (first, tenant)), |(_, tenant)| {
            Some((tenant.links.next, self.get(tenant.links.next)?))
        })
    }

    /// Tenants known and not idle, and all that are known.
    pub(super) const fn counts(&self) -> (u32, u32) {
        (self.known.saturating_sub(self.idle.len()), self.known)
    }

    /// Every place, free ones too.
    pub(super) fn all(&self) -> &[Tenant] {
        self.table.0.as_ref()
    }

    /// The tenants as keys of the heap of those that are not ready.
    pub(super) const fn readiness(&mut self) -> &mut impl Keys<Key = (Timestamp, u128, u32)> {
        &mut self.table
    }

    fn release(&mut self, index: u32) {
        if let Some(tenant) = self.get_mut(index) {
            tenant.kind = Kind::Free;
            self.free.push_back(&mut self.table, index);
            self.known = self.known.saturating_sub(1);
        }
    }

    /// Takes a tenant off its chain of the key table. O(1) on average.
    fn unmap(&mut self, index: u32) {
        let Some(tenant) = self.get(index) else { return };
        let (chain, next) = (self.chain_of(tenant.key), tenant.next);
        let Some(&head) = self.chains.as_ref().get(chain) else { return };
        if head == index {
            if let Some(head) = self.chains.as_mut().get_mut(chain) {
                *head = next;
            }
            return;
        }
        let mut before = head;
        while let Some(tenant) = self.get_mut(before) {
            if tenant.next == index {
                tenant.next = next;
                return;
            }
            before = tenant.next;
        }
    }

    /// Which chain a key is on: the high bits of its product, scaled to the number of chains.
    #[inline]
    fn chain_of(&self, key: TenantKey) -> usize {
        let spread = (key.0 ^ (key.0 >> 32)).wrapping_mul(SPREAD);
        num::index(num::low_u32(num::product_high(spread, num::from_u32(self.capacity))))
    }

    /// Asserts that every key that is mapped is found, and that lists and kinds agree. O(tenants).
    pub(super) fn check(&self) {
        let (mut idle, mut free, mut removed) = (0_u32, 0_u32, 0_u32);
        for (index, tenant) in self.all().iter().enumerate() {
            let index = num::index_u32(index);
            match tenant.kind {
                Kind::Passing => {
                    assert_eq!(self.find(tenant.key), Some(index), "I6: {} is not found", tenant.key);
                    idle = idle.saturating_add(u32::from(tenant.is_idle()));
                }
                Kind::Configured => assert_eq!(self.find(tenant.key), Some(index), "I6: {}", tenant.key),
                Kind::Removed => {
                    assert_ne!(self.find(tenant.key), Some(index), "I6: removed {} is found", tenant.key);
                    assert!(!tenant.is_idle(), "I6: removed {} is kept for nothing", tenant.key);
                    removed = removed.saturating_add(u32::from(!tenant.queue.is_empty()));
                }
                Kind::Free => free = free.saturating_add(1),
            }
        }
        assert_eq!((idle, free), (self.idle.len(), self.free.len()), "I6: idle and free tenants");
        assert_eq!(removed, self.removed.len(), "I6: removed tenants");
        assert_eq!(num::index(self.known.saturating_add(free)), self.all().len(), "I6: known tenants");
        assert_eq!(self.idle().count(), num::index(idle), "I6: the idle list");
    }
}

impl<S: Storage> Arena for Table<S> {
    #[inline]
    fn links_mut(&mut self, index: u32) -> Option<&mut Links> {
        Some(&mut self.0.as_mut().get_mut(num::index(index))?.links)
    }
}

impl<S: Storage> Keys for Table<S> {
    type Key = (Timestamp, u128, u32);

    fn key(&self, member: u32) -> Self::Key {
        let tenant = self.0.as_ref().get(num::index(member));
        let (ready_at, progress) =
            tenant.map_or((Timestamp::MAX, u128::MAX), |tenant| (tenant.ready_at, tenant.progress));
        (ready_at, progress, member)
    }

    fn set_position(&mut self, member: u32, position: u32) {
        if let Some(tenant) = self.0.as_mut().get_mut(num::index(member)) {
            tenant.ready_position = position;
        }
    }

    fn position(&self, member: u32) -> u32 {
        self.0.as_ref().get(num::index(member)).map_or(NIL, |tenant| tenant.ready_position)
    }
}
