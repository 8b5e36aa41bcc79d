//! [`Turns`]: a line of those who wait, and room for those who have left it and do not know yet.
//!
//! A future that waits has a place here from the moment it asks until it has been told or is dropped. In between it is in
//! line, first in first out, or out of line with its answer beside it. Each place is used by one owner, who gives it
//! back once, so a number is enough to name it.
//!
//! **Invariants.** **I1** the line goes forward and backward through the same places; **I2** a place is either used or
//! free, and only used ones are in line.
//!
//! **Work** O(1) for each call. **Memory** a place for as many as ever waited at once; nothing is allocated while there is
//! a free one.

/// A place.
pub(crate) type Turn = usize;

const NOWHERE: Turn = usize::MAX;

struct Place<T> {
    before: Turn,
    after: Turn,
    queued: bool,
    value: Option<T>,
}

pub(crate) struct Turns<T> {
    places: Vec<Place<T>>,
    free: Vec<Turn>,
    first: Turn,
    last: Turn,
    queued: usize,
}

impl<T> Turns<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), first: NOWHERE, last: NOWHERE, queued: 0 }
    }

    /// Takes a place at the end of the line.
    pub(crate) fn join(&mut self, value: T) -> Turn {
        let turn = self.free.pop().unwrap_or(self.places.len());
        let place = Place { before: self.last, after: NOWHERE, queued: true, value: Some(value) };
        match self.places.get_mut(turn) {
            Some(free) => *free = place,
            None => self.places.push(place),
        }
        match self.places.get_mut(self.last) {
            Some(last) => last.after = turn,
            None => self.first = turn,
        }
        self.last = turn;
        self.queued += 1;
        turn
    }

    /// Leaves the line but keeps the place. Does nothing for who is not in line.
    pub(crate) fn leave_line(&mut self, turn: Turn) {
        let Some(place) = self.places.get_mut(turn).filter(|place| place.queued) else { return };
        place.queued = false;
        let (before, after) = (place.before, place.after);
        match self.places.get_mut(before) {
            Some(before) => before.after = after,
            None => self.first = after,
        }
        match self.places.get_mut(after) {
            Some(after) => after.before = before,
            None => self.last = before,
        }
        self.queued -= 1;
    }

    /// Gives the place back, and what was in it.
    pub(crate) fn remove(&mut self, turn: Turn) -> Option<T> {
        self.leave_line(turn);
        let value = self.places.get_mut(turn)?.value.take();
        if value.is_some() {
            self.free.push(turn);
        }
        value
    }

    /// Who is next.
    pub(crate) const fn first(&self) -> Option<Turn> {
        if self.queued == 0 { None } else { Some(self.first) }
    }

    /// Who comes after this one in line.
    pub(crate) fn after(&self, turn: Turn) -> Option<Turn> {
        self.places.get(turn).filter(|place| place.queued && place.after != NOWHERE).map(|place| place.after)
    }

    pub(crate) fn get(&self, turn: Turn) -> Option<&T> {
        self.places.get(turn)?.value.as_ref()
    }

    pub(crate) fn get_mut(&mut self, turn: Turn) -> Option<&mut T> {
        self.places.get_mut(turn)?.value.as_mut()
    }

    /// How many are in line.
    pub(crate) const fn len(&self) -> usize {
        self.queued
    }

    /// Whether nobody has a place.
    pub(crate) const fn is_unused(&self) -> bool {
        self.free.len() == self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(turns: &Turns<u32>) -> Vec<u32> {
        let mut at = turns.first();
        let mut line = vec![];
        while let Some(turn) = at {
            line.push(*turns.get(turn).unwrap());
            at = turns.after(turn);
        }
        assert_eq!(line.len(), turns.len());
        line
    }

    #[test]
    fn who_leaves_from_anywhere_leaves_the_others_in_order() {
        for leaves in 0..4 {
            let mut turns = Turns::new();
            let all: Vec<_> = (0..4).map(|number| turns.join(number)).collect();
            turns.leave_line(all[leaves]);
            turns.leave_line(all[leaves]);
            let rest: Vec<_> = (0..4).filter(|&number| number as usize != leaves).collect();
            assert_eq!(line(&turns), rest);
            assert_eq!(turns.get(all[leaves]), Some(&(leaves as u32)), "the place is kept");
            assert_eq!(turns.remove(all[leaves]), Some(leaves as u32));
            let again = turns.join(9);
            assert_eq!(again, all[leaves], "and used again");
            assert_eq!(line(&turns), [rest, vec![9]].concat());
        }
    }

    #[test]
    fn an_empty_line_begins_anew() {
        let mut turns = Turns::new();
        let only = turns.join(1);
        assert_eq!(turns.remove(only), Some(1));
        assert_eq!(turns.remove(only), None);
        assert!(turns.first().is_none() && turns.is_unused());
        turns.join(2);
        turns.join(3);
        assert_eq!(line(&turns), [2, 3]);
    }
}
