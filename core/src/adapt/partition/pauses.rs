//! Refusals that are held back, so many at once at most.

use core::time::Duration;

use crate::error::ConfigError;
use crate::num;
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

pub(super) struct Pauses<S: Storage> {
    /// When those that were given out end.
    ends: S::Buffer<Timestamp>,
    most: u32,
    now: Timestamp,
}

impl<S: Storage> Pauses<S> {
    pub(super) fn new(most: u32) -> Result<Self, ConfigError> {
        Ok(Self { ends: S::buffer(most)?, most, now: Timestamp::ZERO })
    }

    /// One more from `now` on; whether there is room for it. O(`most`).
    pub(super) fn begin(&mut self, now: Timestamp, pause: Duration) -> bool {
        self.now = self.now.max(now);
        self.forget_ended();
        num::index_u32(self.ends.as_ref().len()) < self.most
            && self.ends.push(self.now.saturating_add(pause)).is_ok()
    }

    fn forget_ended(&mut self) {
        let mut place = 0;
        while let Some(&ends) = self.ends.as_ref().get(place) {
            if ends > self.now {
                place = place.saturating_add(1);
                continue;
            }
            let last = self.ends.pop().unwrap_or(ends);
            if let Some(over) = self.ends.as_mut().get_mut(place) {
                *over = last;
            }
        }
    }
}
