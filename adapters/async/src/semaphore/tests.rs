use super::*;

#[test]
fn max_permits_is_the_largest_limit_of_the_permits() {
    assert_eq!(Semaphore::MAX_PERMITS, count(AtomicPermits::MAX_LIMIT));
}
