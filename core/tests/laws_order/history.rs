//! A checker of recorded histories: is there an order of the operations, each somewhere between its call and its return, in
//! which a model that does one thing at a time gives the same answers?
//!
//! Wing and Gong's search: the next operation may be any that was called before every other one that is left returned.

use core::hash::Hash;
use std::collections::HashSet;

/// One operation as a thread saw it. Calls and returns are numbered by one counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded<O, A> {
    pub(crate) called: u64,
    pub(crate) returned: u64,
    pub(crate) operation: O,
    pub(crate) answer: A,
}

/// What does one thing at a time.
pub(crate) trait Model: Clone + Eq + Hash {
    type Operation: Copy;
    type Answer: Copy + Eq;

    fn apply(&mut self, operation: Self::Operation) -> Self::Answer;
}

pub(crate) fn is_linearizable<M: Model>(model: &M, history: &[Recorded<M::Operation, M::Answer>]) -> bool {
    assert!(history.len() <= 64, "one bit for each");
    let all = if history.len() == 64 { u64::MAX } else { (1 << history.len()) - 1 };
    search(model, history, all, &mut HashSet::new())
}

fn search<M: Model>(
    model: &M,
    history: &[Recorded<M::Operation, M::Answer>],
    left: u64,
    seen: &mut HashSet<(u64, M)>,
) -> bool {
    if left == 0 {
        return true;
    }
    if !seen.insert((left, model.clone())) {
        return false;
    }
    let pending = || history.iter().enumerate().filter(|(number, _)| left & (1 << number) != 0);
    let first_return = pending().map(|(_, one)| one.returned).min().unwrap();
    pending().any(|(number, one)| {
        let mut next = model.clone();
        one.called < first_return
            && next.apply(one.operation) == one.answer
            && search(&next, history, left & !(1 << number), seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers what was before.
    #[derive(Clone, Eq, Hash, PartialEq)]
    struct Swap(u8);

    impl Model for Swap {
        type Operation = u8;
        type Answer = u8;

        fn apply(&mut self, operation: u8) -> u8 {
            core::mem::replace(&mut self.0, operation)
        }
    }

    const fn swapped(called: u64, returned: u64, operation: u8, answer: u8) -> Recorded<u8, u8> {
        Recorded { called, returned, operation, answer }
    }

    #[test]
    fn an_order_is_found_where_there_is_one_and_only_there() {
        // The second overlaps the first and came before it.
        assert!(is_linearizable(&Swap(0), &[swapped(0, 3, 1, 2), swapped(1, 2, 2, 0)]));
        // The same answers, one after the other: nobody could have seen 2.
        assert!(!is_linearizable(&Swap(0), &[swapped(0, 1, 1, 2), swapped(2, 3, 2, 0)]));
        // Two that both saw the beginning.
        assert!(!is_linearizable(&Swap(0), &[swapped(0, 3, 1, 0), swapped(1, 2, 2, 0)]));
    }
}
