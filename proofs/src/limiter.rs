//! The adaptive limiter and the partitions in it: around an estimator that asks for ticks, and around one that does not.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Guarantee, Held, Knee, KneeSettings, Limiter, LimiterSettings,
    LimiterStats, Outcome, PartitionId, Partitions, Refusal, Share, Ticket,
};
use tollgate::slots::Inline;

use crate::store;

type Parts = Partitions<Inline<8>>;
type OnKnee = Limiter<Knee, Inline<8>>;
type OnAimd = Limiter<Aimd, Inline<8>>;

/// Partitions by their numbers, with one that stands for none.
fn partition(number: u32) -> Option<PartitionId> {
    (number != u32::MAX).then_some(PartitionId(number))
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_new(
    place: &mut Parts,
    limit: u32,
    guarantee: Guarantee,
    shares: &[Share],
    max_partitions: u32,
    max_pausing: u32,
) -> bool {
    store(place, Partitions::new(limit, guarantee, shares, max_partitions, max_pausing))
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_set_shares(parts: &mut Parts, guarantee: Guarantee, shares: &[Share]) -> bool {
    parts.set_shares(guarantee, shares).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_set_limit(parts: &mut Parts, limit: u32) -> u32 {
    parts.set_limit(limit);
    parts.limit()
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_try_acquire(
    parts: &mut Parts,
    number: u32,
    weight: u32,
    held: &mut Held,
) -> bool {
    store(held, parts.try_acquire(partition(number), weight))
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_release(parts: &mut Parts, held: &mut Option<Held>) -> bool {
    held.take().is_some_and(|held| parts.release(held).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_pause(
    parts: &mut Parts,
    now: Timestamp,
    number: u32,
    place: &mut Duration,
) -> bool {
    store(place, parts.pause(now, partition(number)).ok_or(()))
}

#[unsafe(no_mangle)]
extern "C" fn proof_partitions_look(parts: &Parts, number: u32) -> u64 {
    let shares = parts.shares().fold(0, |all, share| all ^ share.share_ppm);
    parts.in_flight()
        ^ parts.busy_of(partition(number))
        ^ u64::from(parts.quota_of(partition(number)))
        ^ u64::from(shares)
}

/// Every operation on a limiter around one kind of estimator.
macro_rules! entries {
    ($limiter:ty, $estimator:ty, $settings:ty, [
        $new:ident $try_admit:ident $complete:ident $tick:ident $reconfigure:ident $replace:ident $change:ident
        $stats:ident $look:ident
    ]) => {
        #[unsafe(no_mangle)]
        extern "C" fn $new(
            place: &mut $limiter,
            now: Timestamp,
            estimator: $settings,
            settings: LimiterSettings,
            shares: &[Share],
            max_partitions: u32,
        ) -> bool {
            let limiter = <$estimator>::new(estimator)
                .and_then(|estimator| Limiter::new(now, estimator, settings, shares, max_partitions));
            store(place, limiter)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $try_admit(
            limiter: &mut $limiter,
            now: Timestamp,
            number: u32,
            weight: u32,
            ticket: &mut Ticket,
            refusal: &mut Refusal,
        ) -> bool {
            match limiter.try_admit(now, partition(number), weight) {
                Ok(admitted) => {
                    *ticket = admitted;
                    ticket.is_tracked() | (ticket.weight() > 0)
                }
                Err(refused) => {
                    *refusal = refused;
                    false
                }
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $complete(
            limiter: &mut $limiter,
            now: Timestamp,
            ticket: Ticket,
            outcome: Outcome,
        ) -> bool {
            limiter.complete(now, ticket, outcome).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $tick(limiter: &mut $limiter, now: Timestamp) -> u64 {
            limiter.on_wait(now);
            limiter.tick(now);
            limiter.poll_timeout().map_or(u64::MAX, Timestamp::as_nanos)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $reconfigure(
            limiter: &mut $limiter,
            now: Timestamp,
            settings: LimiterSettings,
            shares: &[Share],
        ) -> bool {
            limiter.reconfigure(now, settings, shares).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $replace(limiter: &mut $limiter, estimator: $settings) -> bool {
            <$estimator>::new(estimator).map(|estimator| limiter.replace_estimator(estimator)).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $change(limiter: &mut $limiter, now: Timestamp) -> u32 {
            limiter.change_estimator(|estimator| estimator.on_reject(now))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $stats(limiter: &$limiter, now: Timestamp, place: &mut LimiterStats) {
            *place = limiter.stats(now);
        }

        #[unsafe(no_mangle)]
        extern "C" fn $look(limiter: &$limiter) -> u64 {
            let enforced = limiter.settings().mode == tollgate::adapt::Mode::Enforced;
            limiter.partitions().in_flight()
                ^ u64::from(limiter.limit() ^ limiter.estimator().limit())
                ^ u64::from(enforced)
        }
    };
}

entries!(OnKnee, Knee, KneeSettings, [
    proof_limiter_new proof_limiter_try_admit proof_limiter_complete proof_limiter_tick proof_limiter_reconfigure
    proof_limiter_replace_estimator proof_limiter_change_estimator proof_limiter_stats proof_limiter_look
]);

entries!(OnAimd, Aimd, AimdSettings, [
    proof_plain_limiter_new proof_plain_limiter_try_admit proof_plain_limiter_complete proof_plain_limiter_tick
    proof_plain_limiter_reconfigure proof_plain_limiter_replace_estimator proof_plain_limiter_change_estimator
    proof_plain_limiter_stats proof_plain_limiter_look
]);
