//! What jobs of a class cost: a mean that follows what was measured.
//!
//! Callers know little about the cost of a job before it ran, and less that can be trusted. So a job may name a class,
//! and the gate charges it what jobs of that class have cost lately: after each measured job the mean moves towards its
//! cost by a fixed part, mean ← mean + α·(cost − mean). With α = 0.25, 4 and then 8 gives 5. What is charged stays
//! between a floor and a ceiling; the mean itself does not, so that it can be looked at.
//!
//! An estimate is no bound. The difference to the real cost is settled at completion (see the [gate](super)), and what
//! a job took up beyond its estimate in memory is not made safe by that: capacity needs limits of its own.
//!
//! The mean is kept in 2⁻¹⁶ units of cost and rounded to the nearest unit when it is charged.

use super::job::ClassId;
use crate::error::{ConfigError, Rules};
use crate::num;
use crate::slots::{Buffer, Storage};

/// Bits after the point of a mean.
const FRACTION: u32 = 16;
/// One, in millionths.
const ONE_PPM: u128 = 1_000_000;

/// What is known about a class beforehand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CostClass {
    /// Charged until the first job was measured. Default 1.
    pub initial: u64,
    /// The least that is charged. Default 1.
    pub floor: u64,
    /// The most that is charged; at least the floor. Default `u64::MAX`.
    pub ceiling: u64,
}

impl Default for CostClass {
    fn default() -> Self {
        Self { initial: 1, floor: 1, ceiling: u64::MAX }
    }
}

#[derive(Clone, Copy, Debug)]
struct Learnt {
    class: CostClass,
    /// In 2⁻¹⁶ units.
    mean: i128,
}

impl Learnt {
    fn new(class: CostClass) -> Self {
        Self { class, mean: i128::from(class.initial) << FRACTION }
    }

    fn estimate(&self) -> u64 {
        let half = 1_i128 << FRACTION.saturating_sub(1);
        let rounded = self.mean.saturating_add(half) >> FRACTION;
        // Not `clamp`, which panics for a floor above the ceiling.
        num::narrow(rounded.unsigned_abs()).max(self.class.floor).min(self.class.ceiling)
    }
}

/// The classes of a gate.
pub(super) struct Classes<S: Storage> {
    classes: S::Buffer<Learnt>,
    smoothing_ppm: u32,
}

impl<S: Storage> Classes<S> {
    pub(super) fn new(classes: u32, smoothing_ppm: u32) -> Result<Self, ConfigError> {
        let mut buffer = S::buffer(classes)?;
        for _ in 0..classes {
            // The buffer was made for as many.
            let _full = buffer.push(Learnt::new(CostClass::default()));
        }
        Ok(Self { classes: buffer, smoothing_ppm })
    }

    /// Starts a class anew.
    pub(super) fn configure(&mut self, id: ClassId, class: CostClass) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        let known = self.classes.as_mut().get_mut(num::index(id.0));
        rules.require(known.is_some(), "class", id.0, "below the `classes` of the settings");
        rules.require(class.floor <= class.ceiling, "floor", class.floor, "at most the ceiling");
        rules.verdict()?;
        if let Some(learnt) = known {
            *learnt = Learnt::new(class);
        }
        Ok(())
    }

    /// What the next job of a class is charged; `None` if there is no such class.
    pub(super) fn estimate(&self, id: ClassId) -> Option<u64> {
        Some(self.classes.as_ref().get(num::index(id.0))?.estimate())
    }

    /// A job of this class, if there is such a class, has cost this much.
    pub(super) fn learn(&mut self, class: u32, cost: u64) {
        let Some(learnt) = self.classes.as_mut().get_mut(num::index(class)) else { return };
        let difference = (i128::from(cost) << FRACTION).saturating_sub(learnt.mean);
        // Divided without a sign: signed division of 128 bits is a library routine that may unwind.
        let step = difference.unsigned_abs().saturating_mul(u128::from(self.smoothing_ppm)) / ONE_PPM;
        learnt.mean = if difference < 0 {
            learnt.mean.saturating_sub_unsigned(step)
        } else {
            learnt.mean.saturating_add_unsigned(step)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Inline;

    fn one(class: CostClass, smoothing_ppm: u32) -> Classes<Inline<1>> {
        let mut classes = Classes::new(1, smoothing_ppm).unwrap();
        classes.configure(ClassId(0), class).unwrap();
        classes
    }

    #[test]
    fn four_and_then_eight_gives_five() {
        let mut classes = one(CostClass { initial: 4, ..CostClass::default() }, 250_000);
        assert_eq!(classes.estimate(ClassId(0)), Some(4));
        classes.learn(0, 8);
        assert_eq!(classes.estimate(ClassId(0)), Some(5));
    }

    #[test]
    fn what_is_charged_stays_between_floor_and_ceiling_and_comes_back_from_the_ends() {
        let mut classes = one(CostClass { initial: 10, floor: 2, ceiling: 50 }, 500_000);
        for (cost, charged) in [(u64::MAX, 50), (u64::MAX, 50)] {
            classes.learn(0, cost);
            assert_eq!(classes.estimate(ClassId(0)), Some(charged));
        }
        for _ in 0..200 {
            classes.learn(0, 0);
        }
        assert_eq!(classes.estimate(ClassId(0)), Some(2));
    }

    #[test]
    fn a_constant_cost_is_learnt_to_the_unit() {
        for cost in [1, 7, 1_000_003, u64::MAX] {
            let mut classes = one(CostClass::default(), 100_000);
            for _ in 0..1_000 {
                classes.learn(0, cost);
            }
            assert_eq!(classes.estimate(ClassId(0)), Some(cost));
        }
    }

    #[test]
    fn a_class_that_is_not_there_is_named() {
        let mut classes = one(CostClass::default(), 1);
        assert_eq!(classes.estimate(ClassId(1)), None);
        classes.learn(1, 5);
        let error =
            classes.configure(ClassId(1), CostClass { floor: 9, ceiling: 8, initial: 1 }).unwrap_err();
        let fields: std::vec::Vec<_> = error.violations().iter().map(|violation| violation.field).collect();
        assert_eq!(fields, ["class", "floor"]);
    }
}
