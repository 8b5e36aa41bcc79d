//! [`Line`]: who waits, in the order in which they came.

use core::mem;
use core::num::NonZeroU64;
use core::task::Waker;

use super::Turns;

/// No slot.
const NIL: usize = usize::MAX;

/// Where somebody stands in a [`Line`]. Only for that line.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) index: usize,
    pub(super) turn: NonZeroU64,
}

/// What a waiter finds when it looks.
#[derive(Debug)]
pub(crate) enum Look<O> {
    /// Granted before.
    Granted,
    /// Told this; its slot is free now.
    Told(O),
    /// In line, with a waker that wakes the same task.
    Parked,
    /// In line, with the waker of another task.
    Moved,
}

/// How a waiter stood when it left.
#[derive(Debug)]
pub(crate) enum Leave {
    /// Granted before: what it was granted is its own.
    Granted,
    /// Told something else before.
    Told,
    /// In line, perhaps in front.
    Waited { waker: Waker, was_front: bool },
}

#[derive(Debug)]
enum Stand<T, O> {
    /// `next` is the chain of free slots.
    Free,
    InLine(T, Waker),
    Told(O),
}

#[derive(Debug)]
struct Slot<T, O> {
    stand: Stand<T, O>,
    turn: NonZeroU64,
    previous: usize,
    next: usize,
}

/// First in, first out, with a way out from anywhere; see the [module](super).
///
/// `T` is what each waits for, `O` what it may be told instead of being granted.
#[derive(Debug)]
pub(crate) struct Line<T, O> {
    slots: Vec<Slot<T, O>>,
    front: usize,
    back: usize,
    free: usize,
    len: usize,
}

impl<T, O> Line<T, O> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), front: NIL, back: NIL, free: NIL, len: 0 }
    }

    /// How many are in line.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the first waits for.
    pub(crate) fn front(&self) -> Option<&T> {
        match &self.slots.get(self.front)?.stand {
            Stand::InLine(what, _) => Some(what),
            Stand::Free | Stand::Told(_) => None,
        }
    }

    /// Queues at the end.
    pub(crate) fn push_back(&mut self, turns: &Turns, what: T, waker: Waker) -> Place {
        let (stand, previous) = (Stand::InLine(what, waker), self.back);
        let (index, turn) = match self.slots.get_mut(self.free) {
            Some(slot) => {
                let index = mem::replace(&mut self.free, slot.next);
                *slot = Slot { stand, turn: slot.turn, previous, next: NIL };
                (index, slot.turn)
            }
            None => {
                let (index, turn) = (self.slots.len(), NonZeroU64::MIN);
                turns.reserve(index);
                turns.set(index, turn.get());
                self.slots.push(Slot { stand, turn, previous, next: NIL });
                (index, turn)
            }
        };
        match self.slots.get_mut(previous) {
            Some(last) => last.next = index,
            None => self.front = index,
        }
        self.back = index;
        self.len += 1;
        Place { index, turn }
    }

    /// Takes the first out of line as granted, and its slot is free.
    #[must_use = "it sleeps until it is woken"]
    pub(crate) fn grant_front(&mut self, turns: &Turns) -> Option<(T, Waker)> {
        let index = self.front;
        let Stand::InLine(what, waker) = self.unlink(index, Stand::Free)? else { return None };
        self.end_turn(turns, index);
        Some((what, waker))
    }

    /// Takes the first out of line and leaves word for it.
    #[must_use = "it sleeps until it is woken"]
    pub(crate) fn tell_front(&mut self, word: O) -> Option<(T, Waker)> {
        match self.unlink(self.front, Stand::Told(word))? {
            Stand::InLine(what, waker) => Some((what, waker)),
            Stand::Free | Stand::Told(_) => None,
        }
    }

    /// How somebody stands who was queued at `place`, and whether `waker` would wake it.
    pub(crate) fn look(&mut self, turns: &Turns, place: &Place, waker: &Waker) -> Look<O> {
        let Some(slot) = self.at(place) else { return Look::Granted };
        if let Stand::InLine(_, parked) = &slot.stand {
            return if parked.will_wake(waker) { Look::Parked } else { Look::Moved };
        }
        match self.vacate(turns, place.index) {
            Stand::Told(word) => Look::Told(word),
            Stand::Free | Stand::InLine(..) => Look::Granted,
        }
    }

    /// From now on `waker` is woken, and the former is handed out; or, for one that is no longer in line, `waker` itself.
    #[must_use = "wakers are dropped when the lock is not held"]
    pub(crate) fn park(&mut self, place: &Place, waker: Waker) -> Result<Waker, Waker> {
        match self.at(place) {
            Some(Slot { stand: Stand::InLine(_, parked), .. }) => Ok(mem::replace(parked, waker)),
            _ => Err(waker),
        }
    }

    /// Somebody goes away, wherever it stands.
    #[must_use = "wakers are dropped when the lock is not held, and grants given back"]
    pub(crate) fn leave(&mut self, turns: &Turns, place: &Place) -> Leave {
        let was_front = self.front == place.index;
        let Some(slot) = self.at(place) else { return Leave::Granted };
        if matches!(slot.stand, Stand::Told(_)) {
            self.vacate(turns, place.index);
            return Leave::Told;
        }
        let Some(Stand::InLine(_, waker)) = self.unlink(place.index, Stand::Free) else {
            return Leave::Granted;
        };
        self.end_turn(turns, place.index);
        Leave::Waited { waker, was_front }
    }

    fn at(&mut self, place: &Place) -> Option<&mut Slot<T, O>> {
        self.slots.get_mut(place.index).filter(|slot| slot.turn == place.turn)
    }

    /// Takes one who is in line out of it, and puts `stand` in its place.
    fn unlink(&mut self, index: usize, stand: Stand<T, O>) -> Option<Stand<T, O>> {
        let slot = self.slots.get_mut(index)?;
        let former = mem::replace(&mut slot.stand, stand);
        let (previous, next) = (slot.previous, slot.next);
        match self.slots.get_mut(previous) {
            Some(slot) => slot.next = next,
            None => self.front = next,
        }
        match self.slots.get_mut(next) {
            Some(slot) => slot.previous = previous,
            None => self.back = previous,
        }
        self.len -= 1;
        Some(former)
    }

    /// Frees a slot that is out of line.
    fn vacate(&mut self, turns: &Turns, index: usize) -> Stand<T, O> {
        let stand =
            self.slots.get_mut(index).map_or(Stand::Free, |slot| mem::replace(&mut slot.stand, Stand::Free));
        self.end_turn(turns, index);
        stand
    }

    /// Whoever stood here is gone; the next who does has a turn of its own (I3).
    fn end_turn(&mut self, turns: &Turns, index: usize) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.turn = slot.turn.saturating_add(1);
            slot.next = mem::replace(&mut self.free, index);
            turns.set(index, slot.turn.get());
        }
    }
}
