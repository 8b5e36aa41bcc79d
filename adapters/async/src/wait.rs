//! What every machine that is waited for needs: a line of waiters, a note that each can read without a lock, and wakers
//! that are called when no lock is held.
//!
//! **Problem.** Wakers are foreign code: cloning, waking and dropping one may run anything, take any lock and panic. Under
//! a lock of ours each of these is a deadlock or a waiter forgotten. And a lock that is taken once more for each waiter
//! that is served is taken by all of them.
//!
//! **Design.** A machine keeps a [`Line`] under its own mutex and [`Turns`] beside it:
//!
//! 1. to wait: clone the waker, lock, [`push_back`](Line::push_back);
//! 2. to serve: lock, [`grant_front`](Line::grant_front) into [`Wakes`] until nobody fits or these are full, unlock,
//!    [`wake`](Wakes::wake), and go on if there may be more;
//! 3. a waiter that is polled asks [`Turns::passed`] first, without the lock. A grant frees the waiter's slot at once, and
//!    ends the turn of whoever stood in it: so a turn that has passed *is* the grant, and nothing is left to collect.
//!    What is not a grant (closed, refused) stays in the slot until its waiter [looks](Line::look).
//!
//! Machines that have to change the order of their line, or to answer each waiter something of its own, keep a [`Roster`] in
//! place of a line, and collect any number of wakers in a [`WakeList`].
//!
//! **Invariants.** **I1** a slot is free, in line, or told, and those in line are linked in the order in which they came;
//! **I2** who is in line has a waker there, and who left it was handed out its waker exactly once; **I3** the turn of a
//! slot grows by one whenever its occupant is granted or leaves, so a [`Place`] is never mistaken for a later one.
//!
//! **Work** O(1) for each call. **Memory** a slot and a word for each of the most that ever waited at once, 56 bytes where
//! the payload has 4; nothing is allocated below that mark, and nothing given back.

mod line;
mod roster;
mod turns;
mod wakes;

pub(crate) use line::{Leave, Line, Look, Place};
pub(crate) use roster::{Roster, Seat};
pub(crate) use turns::Turns;
pub(crate) use wakes::{WakeList, Wakes, wake};
