//! Slots with ids that cannot be mistaken, their values in the machine itself.

use tollgate::slots::{Inline, SlotId, Slots};

use crate::store;

type Sixteen = Slots<u64, Inline<16>>;

#[unsafe(no_mangle)]
extern "C" fn proof_slots_new(place: &mut Sixteen, capacity: u32) -> bool {
    store(place, Slots::new(capacity))
}

#[unsafe(no_mangle)]
extern "C" fn proof_slots_insert(slots: &mut Sixteen, value: u64, id: &mut SlotId) -> bool {
    store(id, slots.insert(value))
}

#[unsafe(no_mangle)]
extern "C" fn proof_slots_remove(slots: &mut Sixteen, id: SlotId) -> u64 {
    slots.remove(id).unwrap_or(u64::MAX)
}

#[unsafe(no_mangle)]
extern "C" fn proof_slots_change(slots: &mut Sixteen, id: SlotId, value: u64) -> bool {
    if let Some(place) = slots.get_mut(id) {
        *place = value;
    }
    slots.get(id) == Some(&value)
}

#[unsafe(no_mangle)]
extern "C" fn proof_slots_sum(slots: &Sixteen) -> u64 {
    let sum = slots.iter().map(|(_, value)| *value).fold(0, u64::wrapping_add);
    sum ^ u64::from(slots.len() ^ slots.capacity()) ^ u64::from(slots.is_empty())
}
