//! [`Roster`]: a line of those who wait, and room for those who have left it and do not know yet.
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
pub(crate) type Seat = usize;

const NOWHERE: Seat = usize::MAX;

struct Place<T> {
    before: Seat,
    after: Seat,
    queued: bool,
    value: Option<T>,
}

pub(crate) struct Roster<T> {
    places: Vec<Place<T>>,
    free: Vec<Seat>,
    first: Seat,
    last: Seat,
    queued: usize,
}

impl<T> Roster<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), first: NOWHERE, last: NOWHERE, queued: 0 }
    }

    /// Takes a place at the end of the line.
    pub(crate) fn join(&mut self, value: T) -> Seat {
        let seat = self.free.pop().unwrap_or(self.places.len());
        let place = Place { before: self.last, after: NOWHERE, queued: true, value: Some(value) };
        match self.places.get_mut(seat) {
            Some(free) => *free = place,
            None => self.places.push(place),
        }
        match self.places.get_mut(self.last) {
            Some(last) => last.after = seat,
            None => self.first = seat,
        }
        self.last = seat;
        self.queued += 1;
        seat
    }

    /// Leaves the line but keeps the place. Does nothing for who is not in line.
    pub(crate) fn leave_line(&mut self, seat: Seat) {
        let Some(place) = self.places.get_mut(seat).filter(|place| place.queued) else { return };
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
    pub(crate) fn remove(&mut self, seat: Seat) -> Option<T> {
        self.leave_line(seat);
        let value = self.places.get_mut(seat)?.value.take();
        if value.is_some() {
            self.free.push(seat);
        }
        value
    }

    /// Who is next.
    pub(crate) const fn first(&self) -> Option<Seat> {
        if self.queued == 0 { None } else { Some(self.first) }
    }

    /// Who comes after this one in line.
    pub(crate) fn after(&self, seat: Seat) -> Option<Seat> {
        self.places.get(seat).filter(|place| place.queued && place.after != NOWHERE).map(|place| place.after)
    }

    pub(crate) fn get(&self, seat: Seat) -> Option<&T> {
        self.places.get(seat)?.value.as_ref()
    }

    pub(crate) fn get_mut(&mut self, seat: Seat) -> Option<&mut T> {
        self.places.get_mut(seat)?.value.as_mut()
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

    fn line(roster: &Roster<u32>) -> Vec<u32> {
        let mut at = roster.first();
        let mut line = vec![];
        while let Some(seat) = at {
            line.push(*roster.get(seat).unwrap());
            at = roster.after(seat);
        }
        assert_eq!(line.len(), roster.len());
        line
    }

    #[test]
    fn who_leaves_from_anywhere_leaves_the_others_in_order() {
        for leaves in 0..4 {
            let mut roster = Roster::new();
            let all: Vec<_> = (0..4).map(|number| roster.join(number)).collect();
            roster.leave_line(all[leaves]);
            roster.leave_line(all[leaves]);
            let rest: Vec<_> = (0..4).filter(|&number| number as usize != leaves).collect();
            assert_eq!(line(&roster), rest);
            assert_eq!(roster.get(all[leaves]), Some(&(leaves as u32)), "the place is kept");
            assert_eq!(roster.remove(all[leaves]), Some(leaves as u32));
            let again = roster.join(9);
            assert_eq!(again, all[leaves], "and used again");
            assert_eq!(line(&roster), [rest, vec![9]].concat());
        }
    }

    #[test]
    fn an_empty_line_begins_anew() {
        let mut roster = Roster::new();
        let only = roster.join(1);
        assert_eq!(roster.remove(only), Some(1));
        assert_eq!(roster.remove(only), None);
        assert!(roster.first().is_none() && roster.is_unused());
        roster.join(2);
        roster.join(3);
        assert_eq!(line(&roster), [2, 3]);
    }
}
