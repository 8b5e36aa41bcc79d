//! A doubly linked list threaded through entries that live elsewhere: O(1) at both ends and O(1) removal anywhere.

/// "No entry". A capacity is always smaller, so this is never a valid index.
pub(crate) const NIL: u32 = u32::MAX;

/// Neighbours of one entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Links {
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

impl Links {
    pub(crate) const NONE: Self = Self { previous: NIL, next: NIL };
}

/// Entries that carry [`Links`], addressed by index.
pub(crate) trait Arena {
    fn links_mut(&mut self, index: u32) -> Option<&mut Links>;
}

/// Head, tail and length of one list. An entry must be on at most one list of an arena at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
    len: u32,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };

    /// First entry, [`NIL`] if empty.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }

    /// Last entry, [`NIL`] if empty.
    #[inline]
    pub(crate) const fn tail(&self) -> u32 {
        self.tail
    }

    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    #[inline]
    pub(crate) fn push_back(&mut self, arena: &mut impl Arena, index: u32) {
        let Some(links) = arena.links_mut(index) else { return };
        *links = Links { previous: self.tail, next: NIL };
        match arena.links_mut(self.tail) {
            Some(tail) => tail.next = index,
            None => self.head = index,
        }
        self.tail = index;
        self.len = self.len.saturating_add(1);
    }

    #[inline]
    pub(crate) fn push_front(&mut self, arena: &mut impl Arena, index: u32) {
        let Some(links) = arena.links_mut(index) else { return };
        *links = Links { previous: NIL, next: self.head };
        match arena.links_mut(self.head) {
            Some(head) => head.previous = index,
            None => self.tail = index,
        }
        self.head = index;
        self.len = self.len.saturating_add(1);
    }

    /// Unlinks an entry that is on this list.
    #[inline]
    pub(crate) fn remove(&mut self, arena: &mut impl Arena, index: u32) {
        let Some(links) = arena.links_mut(index) else { return };
        let Links { previous, next } = core::mem::replace(links, Links::NONE);
        match arena.links_mut(previous) {
            Some(links) => links.next = next,
            None => self.head = next,
        }
        match arena.links_mut(next) {
            Some(links) => links.previous = previous,
            None => self.tail = previous,
        }
        self.len = self.len.saturating_sub(1);
    }

    /// The entry after `index` on its list.
    #[inline]
    pub(crate) fn next(arena: &mut impl Arena, index: u32) -> u32 {
        arena.links_mut(index).map_or(NIL, |links| links.next)
    }
}
