//! [`Slots`]: bounded storage with ids that can never be mistaken, in fixed arrays or in memory reserved once.
//!
//! Machines that hold many things (waiters, jobs, tenants) must not allocate while they run, must run without an
//! allocator on small chips, and must recognise an id that has outlived what it named. So storage is a parameter:
//! [`Inline<N>`](Inline) holds up to `N` entries in the machine itself; [`Heap`] (feature `alloc`) reserves the
//! capacity once, when the machine is built. A full table hands the value back.
//!
//! An id carries the number of the insertion that made it. That count is 64 bits wide and never reused: an id can
//! only become stale, never name someone else. That is so within one table; another one may know the same ids, unless
//! its owner had it count from another number.
//!
//! Invariants: **I1** an entry is occupied iff its generation is non-zero; **I2** every entry that was ever used is
//! either occupied or on the free list, exactly once; **I3** `len` counts the occupied ones.
//!
//! Work: every operation is O(1). Memory: `capacity` entries, reserved at construction.

mod chain;

pub(crate) use chain::{Arena, Chain, Links, NIL};

use crate::error::{ConfigError, Rules, Stale};
use crate::num;

/// Where a machine keeps its entries: [`Inline<N>`](Inline) or [`Heap`]. Sealed.
pub trait Storage: sealed::Sealed {
    /// The container for entries of type `T`.
    #[doc(hidden)]
    type Buffer<T>: Buffer<T>;

    /// The most entries it can hold.
    #[doc(hidden)]
    const MOST: u32;

    /// An empty container with room for `capacity` entries.
    #[doc(hidden)]
    fn buffer<T>(capacity: u32) -> Result<Self::Buffer<T>, ConfigError>;
}

/// A container that never grows past the capacity it was made with.
#[doc(hidden)]
pub trait Buffer<T>: AsRef<[T]> + AsMut<[T]> {
    /// Appends, or hands the value back when the container is full.
    fn push(&mut self, value: T) -> Result<(), T>;
    /// Removes the last one.
    fn pop(&mut self) -> Option<T>;
    /// Removes all. O(1) for values without a destructor.
    fn clear(&mut self);
}

/// Entries inside the machine: up to `N`, no allocator.
#[derive(Clone, Copy, Debug)]
pub struct Inline<const N: usize>;

impl<const N: usize> Storage for Inline<N> {
    type Buffer<T> = heapless::Vec<T, N>;
    const MOST: u32 = num::index_u32(N);

    fn buffer<T>(capacity: u32) -> Result<Self::Buffer<T>, ConfigError> {
        let mut rules = Rules::new();
        rules.require(
            num::index(capacity) <= N && capacity < NIL,
            "capacity",
            capacity,
            "at most the N of Inline<N>",
        );
        rules.verdict()?;
        Ok(heapless::Vec::new())
    }
}

impl<T, const N: usize> Buffer<T> for heapless::Vec<T, N> {
    #[inline]
    fn push(&mut self, value: T) -> Result<(), T> {
        Self::push(self, value)
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        Self::pop(self)
    }

    #[inline]
    fn clear(&mut self) {
        Self::clear(self);
    }
}

/// Entries on the heap, reserved once at construction.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct Heap;

#[cfg(feature = "alloc")]
impl Storage for Heap {
    type Buffer<T> = alloc::vec::Vec<T>;
    const MOST: u32 = NIL.saturating_sub(1);

    fn buffer<T>(capacity: u32) -> Result<Self::Buffer<T>, ConfigError> {
        let mut buffer = alloc::vec::Vec::new();
        let mut rules = Rules::new();
        rules.require(
            capacity < NIL && buffer.try_reserve_exact(num::index(capacity)).is_ok(),
            "capacity",
            capacity,
            "what the allocator can reserve, at most 4294967294",
        );
        rules.verdict()?;
        Ok(buffer)
    }
}

#[cfg(feature = "alloc")]
impl<T> Buffer<T> for alloc::vec::Vec<T> {
    #[inline]
    fn push(&mut self, value: T) -> Result<(), T> {
        if self.len() == self.capacity() {
            return Err(value);
        }
        Self::push(self, value);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        Self::pop(self)
    }

    #[inline]
    fn clear(&mut self) {
        Self::clear(self);
    }
}

mod sealed {
    /// Cannot be named outside, so [`Storage`](super::Storage) cannot be implemented outside.
    #[allow(unnameable_types)]
    pub trait Sealed {}
    impl<const N: usize> Sealed for super::Inline<N> {}
    #[cfg(feature = "alloc")]
    impl Sealed for super::Heap {}
}

/// Names one insertion into one [`Slots`]; stale once that entry is gone.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct SlotId {
    index: u32,
    generation: u64,
}

impl SlotId {
    /// The position of its entry, for use as a chain index.
    pub(crate) const fn index(self) -> u32 {
        self.index
    }

    /// Position and number of the insertion, for those who keep them closer together.
    #[cfg(feature = "alloc")]
    pub(crate) const fn parts(self) -> (u32, u64) {
        (self.index, self.generation)
    }

    /// The id that had these [parts](Self::parts).
    #[cfg(feature = "alloc")]
    pub(crate) const fn of_parts((index, generation): (u32, u64)) -> Self {
        Self { index, generation }
    }
}

#[derive(Debug)]
struct Entry<T> {
    /// Number of the insertion that occupies this entry, 0 while it is free.
    generation: u64,
    /// Chain of the value while occupied; `next` is the free list while free.
    links: Links,
    value: Option<T>,
}

/// A bounded table of `T`; see the [module](self).
///
/// ```
/// use tollgate::slots::{Inline, Slots};
///
/// let mut slots: Slots<&str, Inline<2>> = Slots::new(2)?;
/// let a = slots.insert("a").unwrap();
/// slots.insert("b").unwrap();
/// assert_eq!(slots.insert("c"), Err("c"), "full: the value comes back");
///
/// assert_eq!(slots.remove(a), Ok("a"));
/// let c = slots.insert("c").unwrap();
/// assert!(slots.get(a).is_none(), "`a` is stale, although its place is taken again");
/// assert_eq!(slots.get(c), Some(&"c"));
/// # Ok::<(), tollgate::ConfigError>(())
/// ```
pub struct Slots<T, S: Storage> {
    entries: S::Buffer<Entry<T>>,
    capacity: u32,
    len: u32,
    free: u32,
    insertions: u64,
}

impl<T, S: Storage> Slots<T, S> {
    /// An empty table for at most `capacity` values.
    ///
    /// # Errors
    /// `capacity` above the `N` of [`Inline`], or more than the allocator can reserve.
    pub fn new(capacity: u32) -> Result<Self, ConfigError> {
        let entries = S::buffer(capacity)?;
        Ok(Self { entries, capacity, len: 0, free: NIL, insertions: 0 })
    }

    /// The same, counting insertions from half of `number`, so that it knows no id of a table that counts from elsewhere.
    #[cfg(feature = "alloc")]
    pub(crate) fn counting_from(self, number: u64) -> Self {
        Self { insertions: number >> 1, ..self }
    }

    /// Puts a value in, O(1).
    ///
    /// # Errors
    /// The value itself, when the table is full.
    pub fn insert(&mut self, value: T) -> Result<SlotId, T> {
        if self.len >= self.capacity {
            return Err(value);
        }
        let generation = self.insertions.saturating_add(1);
        let index = match self.entries.as_mut().get_mut(num::index(self.free)) {
            Some(entry) => {
                let index = self.free;
                self.free = entry.links.next;
                *entry = Entry { generation, links: Links::NONE, value: Some(value) };
                index
            }
            None => {
                let index = num::index_u32(self.entries.as_ref().len());
                let entry = Entry { generation, links: Links::NONE, value: Some(value) };
                if let Err(Entry { value: Some(value), .. }) = self.entries.push(entry) {
                    return Err(value);
                }
                index
            }
        };
        self.insertions = generation;
        self.len = self.len.saturating_add(1);
        Ok(SlotId { index, generation })
    }

    /// Takes a value out, O(1); its id is stale from now on.
    ///
    /// # Errors
    /// [`Stale`] if the id no longer names anything.
    pub fn remove(&mut self, id: SlotId) -> Result<T, Stale> {
        let free = self.free;
        let entry = self.occupied_mut(id).ok_or(Stale)?;
        let value = entry.value.take().ok_or(Stale)?;
        entry.generation = 0;
        entry.links = Links { previous: NIL, next: free };
        self.free = id.index;
        self.len = self.len.saturating_sub(1);
        Ok(value)
    }

    /// The value an id names, `None` if the id is stale. O(1).
    #[must_use]
    pub fn get(&self, id: SlotId) -> Option<&T> {
        let entry = self.entries.as_ref().get(num::index(id.index))?;
        if entry.generation == id.generation { entry.value.as_ref() } else { None }
    }

    /// The value an id names, to change it; `None` if the id is stale. O(1).
    #[must_use]
    pub fn get_mut(&mut self, id: SlotId) -> Option<&mut T> {
        self.occupied_mut(id)?.value.as_mut()
    }

    /// All values with their ids, in no order. O(entries ever used at once).
    pub fn iter(&self) -> impl Iterator<Item = (SlotId, &T)> {
        let numbered = self.entries.as_ref().iter().enumerate();
        numbered.filter_map(|(index, entry)| {
            let id = SlotId { index: num::index_u32(index), generation: entry.generation };
            entry.value.as_ref().map(|value| (id, value))
        })
    }

    /// Values held now.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most values it can hold.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The id of the value at `index`, if that entry is occupied.
    pub(crate) fn id_at(&self, index: u32) -> Option<SlotId> {
        let entry = self.entries.as_ref().get(num::index(index))?;
        entry.value.as_ref().map(|_| SlotId { index, generation: entry.generation })
    }

    /// The value at `index`, if that entry is occupied.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        self.entries.as_ref().get(num::index(index))?.value.as_ref()
    }

    /// The value at `index`, to change it, if that entry is occupied.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.as_mut().get_mut(num::index(index))?.value.as_mut()
    }

    /// The entry after the one at `index` on the chain that is on.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn after(&self, index: u32) -> u32 {
        self.entries.as_ref().get(num::index(index)).map_or(NIL, |entry| entry.links.next)
    }

    fn occupied_mut(&mut self, id: SlotId) -> Option<&mut Entry<T>> {
        let entry = self.entries.as_mut().get_mut(num::index(id.index))?;
        (entry.generation == id.generation && entry.value.is_some()).then_some(entry)
    }

    /// Asserts I1 to I3. O(capacity); for tests and debugging.
    pub fn check_invariants(&self) {
        let entries = self.entries.as_ref();
        let mut occupied = 0_u32;
        for entry in entries {
            assert_eq!(entry.generation != 0, entry.value.is_some(), "I1: a generation iff a value");
            occupied = occupied.saturating_add(u32::from(entry.value.is_some()));
        }
        let mut free = 0_u32;
        let mut next = self.free;
        while let Some(entry) = entries.get(num::index(next)) {
            assert!(entry.value.is_none(), "I2: entry {next} is both free and occupied");
            free = free.saturating_add(1);
            assert!(num::index(free) <= entries.len(), "I2: the free list has a cycle");
            next = entry.links.next;
        }
        assert_eq!(num::index(occupied.saturating_add(free)), entries.len(), "I2: an entry is lost");
        assert_eq!(occupied, self.len, "I3: len");
    }
}

impl<T, S: Storage> Arena for Slots<T, S> {
    #[inline]
    fn links_mut(&mut self, index: u32) -> Option<&mut Links> {
        Some(&mut self.entries.as_mut().get_mut(num::index(index))?.links)
    }
}

impl<T: core::fmt::Debug, S: Storage> core::fmt::Debug for Slots<T, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let occupied = self.entries.as_ref().iter().filter_map(|entry| entry.value.as_ref());
        f.debug_list().entries(occupied).finish()
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
