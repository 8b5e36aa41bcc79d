//! Who consumes most.

use tollgate::observe::{KeyEvent, KeyObserver};
use tollgate::sketch::{HeavyHitters, Watch};

use super::Hashes;

type Sketch = HeavyHitters<u64, Hashes>;

#[unsafe(no_mangle)]
extern "C" fn proof_sketch_add(sketch: &mut Sketch, key: u64, weight: u64) {
    sketch.add(&key, weight);
}

#[unsafe(no_mangle)]
extern "C" fn proof_sketch_get(sketch: &Sketch, key: u64) -> u64 {
    sketch.get(&key).map_or(0, |heavy| heavy.count ^ heavy.error)
}

#[unsafe(no_mangle)]
extern "C" fn proof_sketch_sum(sketch: &Sketch) -> u64 {
    let sum = sketch.iter().map(|heavy| heavy.count).fold(0, u64::wrapping_add);
    let size = sketch.len() ^ sketch.capacity() ^ u32::from(sketch.is_empty());
    sum ^ sketch.total() ^ sketch.error_bound() ^ u64::from(size)
}

#[unsafe(no_mangle)]
extern "C" fn proof_sketch_clear(sketch: &mut Sketch) {
    sketch.clear();
}

#[unsafe(no_mangle)]
extern "C" fn proof_watch_tell(watch: &mut Watch<u64, Hashes>, key: Option<&u64>, event: KeyEvent) -> u64 {
    watch.on_key_event(key, event);
    watch.unplaced() ^ watch.consumers().total() ^ watch.refused().total()
}

#[unsafe(no_mangle)]
extern "C" fn proof_watch_clear(watch: &mut Watch<u64, Hashes>) {
    watch.clear();
}
