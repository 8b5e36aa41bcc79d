//! How many jobs will start before one, and how long that takes.
//!
//! **Ahead.** Let a tenant have work b waiting (in cost units; in jobs where turns are counted), with a share Q of each
//! round. A new job of cost c at the end of its queue is served in round r = ⌈(b + c)/Q⌉ from now; until then another
//! tenant j is served min(bⱼ, r·Qⱼ). Summing that over all tenants would be a scan. So tenants are kept in 16
//! levels by the number of rounds they need, a power of two each, with sums of jobs, work and shares; a level is
//! reckoned as one tenant, min(Σbⱼ, r·ΣQⱼ). Exact where all tenants of a level need more rounds than r, or all fewer,
//! or all the same; else too many, by less than the level's own work. Within its last round a tenant's place is not
//! known: all others are reckoned before it.
//!
//! **Wait.** With s slots and a service time S, the job with p before it starts at the (p + 1)-th end from now: the
//! ends of what runs, each S after its start, then the ends of what starts in these places, S later, and so on. So
//! with k = p − free slots, it starts ⌊k/s⌋·S + S after the start of the (k mod s)-th oldest of what runs. S is a
//! moving mean of measured times; starts are kept in the order in which jobs of equal length end. Exact while service
//! times are constant, and never less for a greater p.
//!
//! **Constants.** The weight of the newest time is 1/8 as in the estimator of round-trip times of TCP
//! (Jacobson 1988). Work is counted so that a quantum has at most 20 bits, rounded up for each job: with a
//! million units in a quantum, that is what a position can be off by where jobs cost less than a unit.
//!
//! **Work** O(levels in use) for an estimate, O(1) to keep. **Memory** 8 bytes for each job that may run.

use core::num::{NonZeroU32, NonZeroU64};
use core::time::Duration;

use super::capacity::Room;
use crate::error::ConfigError;
use crate::num;
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

/// Levels of tenants, by powers of two of the rounds they need; the last takes all that need more.
const LEVELS: usize = 16;
/// A quantum is kept with so many bits, so that sums of any number of jobs and weights fit in 64.
const QUANTUM_BITS: u32 = 20;
/// Work of one job is at most this: a job of more than 2¹¹ full quanta is reckoned as one of so many.
const MOST_WORK: u64 = 1 << 31;
/// 2³ = 8: the newest service time has a weight of 1/8.
const NEWEST: u32 = 3;

/// What one tenant, or a level of them, has waiting.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Load {
    pub(super) jobs: u64,
    pub(super) work: u64,
    pub(super) weight: u64,
}

impl Load {
    pub(super) const fn plus(self, other: &Self) -> Self {
        Self {
            jobs: self.jobs.saturating_add(other.jobs),
            work: self.work.saturating_add(other.work),
            weight: self.weight.saturating_add(other.weight),
        }
    }

    pub(super) const fn minus(self, other: &Self) -> Self {
        Self {
            jobs: self.jobs.saturating_sub(other.jobs),
            work: self.work.saturating_sub(other.work),
            weight: self.weight.saturating_sub(other.weight),
        }
    }

    /// How many of its jobs are served while `reach` of work is.
    #[inline]
    fn served_in(&self, reach: u64) -> u64 {
        match NonZeroU64::new(self.work) {
            // reach < work here, so the result is at most `jobs`.
            Some(work) if self.work > reach => {
                num::narrow(num::div_ceil(num::product(self.jobs, reach), work))
            }
            _ => self.jobs,
        }
    }
}

/// What waits, by level.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    levels: [Load; LEVELS],
    /// One bit for each level that is not empty.
    used: u32,
    jobs: u64,
    /// Work that a weight of 1 is granted a round.
    quantum: u64,
    /// Cost is counted in units of two to this.
    shift: u32,
}

impl Backlog {
    /// Nothing waits. `quantum` is what a weight of 1 is granted a round, in the unit of the turns.
    pub(super) const fn new(quantum: u64) -> Self {
        let bits = u64::BITS.saturating_sub(quantum.leading_zeros());
        let shift = bits.saturating_sub(QUANTUM_BITS);
        let quantum = quantum.wrapping_shr(shift);
        Self { levels: [Load { jobs: 0, work: 0, weight: 0 }; LEVELS], used: 0, jobs: 0, quantum, shift }
    }

    /// What one job adds to the load of its tenant, from its cost in the unit of the turns.
    #[inline]
    pub(super) fn load(&self, units: u64) -> Load {
        let shifted = units.wrapping_shr(self.shift);
        let rest = u64::from(shifted.wrapping_shl(self.shift) != units);
        Load { jobs: 1, work: shifted.saturating_add(rest).min(MOST_WORK), weight: 0 }
    }

    /// The level of a tenant: the rounds it needs, as a power of two.
    #[inline]
    fn level(&self, load: &Load) -> usize {
        let share = self.quantum.saturating_mul(load.weight);
        let level = share.leading_zeros().saturating_sub(load.work.leading_zeros());
        num::index(level).min(LEVELS.saturating_sub(1))
    }

    /// A tenant's load has changed.
    #[inline]
    pub(super) fn change(&mut self, before: &Load, after: &Load) {
        let (from, to) = (self.level(before), self.level(after));
        self.jobs = self.jobs.saturating_sub(before.jobs).saturating_add(after.jobs);
        if from == to
            && before.jobs > 0
            && after.jobs > 0
            && let Some(level) = self.levels.get_mut(to)
        {
            *level = level.minus(before).plus(after);
            return;
        }
        if before.jobs > 0
            && let Some(level) = self.levels.get_mut(from)
        {
            *level = level.minus(before);
            if level.jobs == 0 {
                self.used &= !1_u32.wrapping_shl(num::index_u32(from));
            }
        }
        if after.jobs > 0
            && let Some(level) = self.levels.get_mut(to)
        {
            *level = level.plus(after);
            self.used |= 1_u32.wrapping_shl(num::index_u32(to));
        }
    }

    /// How many jobs start before a new one of so many `units`, of a tenant whose load is `own`.
    #[inline]
    pub(super) fn ahead(&self, own: &Load, units: u64) -> u64 {
        if self.jobs == own.jobs {
            return own.jobs;
        }
        let share = NonZeroU64::new(self.quantum.saturating_mul(own.weight)).unwrap_or(NonZeroU64::MIN);
        let work = own.work.saturating_add(self.load(units).work);
        // A job without cost is served in the first round too.
        let rounds = num::narrow(num::div_ceil(num::widen(work), share)).max(1);
        let granted = self.quantum.saturating_mul(rounds);
        let own_level = if own.jobs > 0 { self.level(own) } else { LEVELS };
        let mut ahead = own.jobs;
        let mut used = self.used;
        while used != 0 {
            let index = num::index(used.trailing_zeros());
            used &= used.wrapping_sub(1);
            let Some(mut level) = self.levels.get(index).copied() else { continue };
            if index == own_level {
                level = level.minus(own);
            }
            ahead = ahead.saturating_add(level.served_in(granted.saturating_mul(level.weight)));
        }
        ahead
    }

    /// Asserts that the levels hold exactly these loads.
    pub(super) fn check(&self, loads: impl Iterator<Item = Load>) {
        let mut fresh = Self { levels: [Load::default(); LEVELS], used: 0, jobs: 0, ..*self };
        for load in loads {
            fresh.change(&Load::default(), &load);
        }
        assert_eq!((fresh.levels, fresh.used, fresh.jobs), (self.levels, self.used, self.jobs), "I7: levels");
    }
}

/// How long jobs run, and when those that run have started.
pub(super) struct Service<S: Storage> {
    mean_ns: Option<u64>,
    /// A ring of starts: what runs, oldest first.
    starts: S::Buffer<Timestamp>,
    first: u32,
    len: u32,
}

impl<S: Storage> Service<S> {
    pub(super) fn new(max_active: u32, expected: Option<Duration>) -> Result<Self, ConfigError> {
        let mut starts = S::buffer(max_active)?;
        for _ in 0..max_active {
            // The buffer was made for as many.
            let _full = starts.push(Timestamp::ZERO);
        }
        Ok(Self { mean_ns: expected.map(num::nanos), starts, first: 0, len: 0 })
    }

    /// A job starts.
    #[inline]
    pub(super) fn started(&mut self, now: Timestamp) {
        let place = self.place(self.len);
        if let Some(start) = self.starts.as_mut().get_mut(place) {
            *start = now;
            self.len = self.len.saturating_add(1);
        }
    }

    /// A job has ended after it ran so long.
    #[inline]
    pub(super) fn ended(&mut self, ran: Duration) {
        let ran_ns = num::nanos(ran);
        let mean_ns = self.mean_ns.unwrap_or(ran_ns);
        self.mean_ns = Some(if ran_ns >= mean_ns {
            mean_ns.saturating_add(ran_ns.saturating_sub(mean_ns) >> NEWEST)
        } else {
            mean_ns.saturating_sub(mean_ns.saturating_sub(ran_ns) >> NEWEST)
        });
        self.first = num::index_u32(self.place(1));
        self.len = self.len.saturating_sub(1);
    }

    /// A job that had just started does not run after all.
    #[inline]
    pub(super) const fn withdrawn(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// The mean service time.
    pub(super) fn mean(&self) -> Option<Duration> {
        self.mean_ns.map(Duration::from_nanos)
    }

    /// How long a job with so many ahead will wait, nanoseconds; `None` while nothing is known, or if nothing can start.
    #[inline]
    pub(super) fn wait_ns(&self, now: Timestamp, room: Room, ahead: u64) -> Option<u64> {
        let Some(ends) = ahead.checked_sub(room.free) else { return Some(0) };
        let mean_ns = self.mean_ns?;
        let busy = num::from_u32(self.len).saturating_add(room.free);
        // Where the limit was lowered, the first ends make no room.
        let surplus = busy.saturating_sub(room.total);
        // Both are numbers of jobs, for which 32 bits are enough.
        let slots = NonZeroU32::new(num::clamp_u32(busy.min(room.total)))?;
        let ends = num::clamp_u32(ends);
        let (waves, place) = (ends / slots, num::from_u32(ends % slots).saturating_add(surplus));
        let start = if place < num::from_u32(self.len) { self.start(num::low_u32(place)) } else { now };
        let rest = start.as_nanos().saturating_add(mean_ns).saturating_sub(now.as_nanos());
        Some(rest.saturating_add(num::from_u32(waves).saturating_mul(mean_ns)))
    }

    fn start(&self, number: u32) -> Timestamp {
        self.starts.as_ref().get(self.place(number)).copied().unwrap_or_default()
    }

    /// Where in the ring the start with this number is.
    #[inline]
    fn place(&self, number: u32) -> usize {
        let length = self.starts.as_ref().len();
        let place = num::index(self.first).saturating_add(num::index(number));
        if place >= length { place.saturating_sub(length) } else { place }
    }

    /// How many run.
    pub(super) const fn running(&self) -> u32 {
        self.len
    }
}
