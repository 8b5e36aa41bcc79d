//! The invariants of a [`Drr`], asserted.

use super::Drr;
use super::tenants::{Place, Tenant};
use crate::num;
use crate::slots::{NIL, Storage};

impl<S: Storage> Drr<S> {
    pub(super) fn debug_check(&self, index: u32) {
        if cfg!(debug_assertions)
            && let Some(state) = self.tenants.get(index)
        {
            self.check_tenant(index, state);
        }
    }

    fn check_tenant(&self, index: u32, state: &Tenant) {
        let head = i128::from(state.head);
        match state.place {
            Place::Idle => assert!(state.credit <= 0, "tenant {index}: idle with credit {}", state.credit),
            Place::Paused => {}
            Place::Turn => {
                assert_eq!(self.turn, index, "I1: two turns");
                assert!(state.credit >= head, "I2: tenant {index}: {} < {head}", state.credit);
            }
            Place::Listed | Place::Later => {
                assert!(state.credit >= head, "I2: tenant {index} is not served at its visit");
                assert!(state.round >= self.round, "I4: tenant {index} was missed");
                assert!(state.round > self.visited(state), "I4: tenant {index} was visited already");
            }
        }
    }

    /// Asserts I1 to I4. O(tenants); for tests and debugging.
    pub fn check_invariants(&self) {
        let states = self.tenants.all();
        for (index, state) in states.iter().enumerate() {
            self.check_tenant(num::index_u32(index), state);
        }
        let count = |place| states.iter().filter(|state| state.place == place).count();
        assert_eq!(self.later.len(), count(Place::Later), "I1: the heap");
        assert_eq!(num::index(self.paused), count(Place::Paused), "I1: paused tenants");
        assert_eq!(usize::from(self.turn != NIL), count(Place::Turn), "I1: the turn");
        let mut listed = 0_usize;
        let [even, odd] = &self.lanes;
        let (current, next) = if self.odd { (odd, even) } else { (even, odd) };
        for (lane, round) in [(current, self.round), (next, self.round.saturating_add(1))] {
            assert_eq!(num::index(lane.len()), lane.iter().count(), "I1: holes of the lane of round {round}");
            let mut last = 0;
            for (position, index) in lane.iter() {
                let Some(state) = self.tenants.get(index) else { continue };
                assert!(state.order > last, "I3: tenant {index} is out of order");
                assert_eq!((state.place, state.round), (Place::Listed, round), "I1: tenant {index}");
                assert_eq!(state.position, position, "I1: tenant {index}");
                last = state.order;
                listed = listed.saturating_add(1);
            }
        }
        assert_eq!(listed, count(Place::Listed), "I1: the lanes");
    }
}
