use std::vec;
use std::vec::Vec;

use super::*;
use crate::slots::Heap;

struct Table {
    keys: Vec<u64>,
    positions: Vec<u32>,
}

impl Keys for Table {
    type Key = u64;

    fn key(&self, member: u32) -> u64 {
        self.keys[num::index(member)]
    }

    fn set_position(&mut self, member: u32, position: u32) {
        self.positions[num::index(member)] = position;
    }

    fn position(&self, member: u32) -> u32 {
        self.positions[num::index(member)]
    }
}

#[test]
fn whoever_is_taken_out_of_the_middle_the_rest_come_out_in_order() {
    // Every permutation of seven keys, every one of them taken out first: the last may belong above its new parent.
    let mut keys: Vec<u64> = (0..7).collect();
    permutations(&mut keys, 0, &mut |keys| {
        for gone in 0..7 {
            let mut table = Table { keys: keys.to_vec(), positions: vec![NIL; 7] };
            let mut heap = IndexedHeap::<Heap>::new(Heap::buffer(7).unwrap());
            for member in 0..7 {
                heap.push(&mut table, member);
            }
            heap.remove(&mut table, gone);
            assert_eq!(table.position(gone), NIL);
            let mut expected: Vec<u64> = keys.to_vec();
            expected.remove(num::index(gone));
            expected.sort_unstable();
            let mut out = Vec::new();
            while let Some(top) = heap.top() {
                out.push(table.key(top));
                heap.remove(&mut table, top);
            }
            assert_eq!(out, expected);
        }
    });
}

fn permutations(keys: &mut Vec<u64>, from: usize, visit: &mut impl FnMut(&[u64])) {
    if from == keys.len() {
        return visit(keys);
    }
    for other in from..keys.len() {
        keys.swap(from, other);
        permutations(keys, from + 1, visit);
        keys.swap(from, other);
    }
}
