//! [`Bell`]: rung when something was released, for all who wait for that.
//!
//! Whoever waits takes note of how often it has rung, asks, and listens only if it has not rung since: no release goes
//! unheard. A ring calls those who listened when it began, in batches, without the lock; who is called has to listen anew.

use core::task::Waker;
use std::collections::VecDeque;

use crate::sync::Mutex;
use crate::wait::Wakes;

#[derive(Debug)]
pub(super) struct Bell(Mutex<Listeners>);

#[derive(Debug, Default)]
struct Listeners {
    rings: u64,
    made: u64,
    listening: VecDeque<(u64, Waker)>,
}

impl Bell {
    pub(super) fn ring(&self) {
        let mut wakes = Wakes::new();
        let mut listeners = self.0.lock();
        listeners.rings = listeners.rings.wrapping_add(1);
        let mut left = listeners.listening.len();
        while left > 0 {
            while let Some((_, waker)) =
                if left > 0 && !wakes.is_full() { listeners.listening.pop_front() } else { None }
            {
                left -= 1;
                let pushed = wakes.push(waker);
                debug_assert!(pushed.is_ok(), "it was not full");
            }
            left = left.min(listeners.listening.len());
            drop(listeners);
            wakes.wake();
            listeners = self.0.lock();
        }
    }
}

impl Default for Bell {
    fn default() -> Self {
        Self(Mutex::new(Listeners::default()))
    }
}

/// One who may listen; stops when it is dropped.
#[derive(Debug)]
pub(super) struct Listening<'a> {
    bell: &'a Bell,
    /// `None` until it has listened once.
    number: Option<u64>,
}

impl<'a> Listening<'a> {
    pub(super) const fn new(bell: &'a Bell) -> Self {
        Self { bell, number: None }
    }

    /// How often it has rung.
    pub(super) fn heard(&self) -> u64 {
        self.bell.0.lock().rings
    }

    /// Listens, if it has not rung since.
    pub(super) fn listen(&mut self, heard: u64, waker: &Waker) -> bool {
        let waker = waker.clone();
        let mut listeners = self.bell.0.lock();
        if listeners.rings != heard {
            return false;
        }
        let number = self.number.unwrap_or_else(|| {
            listeners.made += 1;
            listeners.made
        });
        self.number = Some(number);
        let own = listeners.listening.iter_mut().find(|(listener, _)| *listener == number);
        let before = match own {
            Some((_, own)) => Some(core::mem::replace(own, waker)),
            None => {
                listeners.listening.push_back((number, waker));
                None
            }
        };
        drop(listeners);
        drop(before);
        true
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut listeners = self.bell.0.lock();
        let own = listeners.listening.iter().position(|(listener, _)| *listener == number);
        let waker = own.and_then(|place| listeners.listening.remove(place));
        drop(listeners);
        drop(waker);
    }
}
