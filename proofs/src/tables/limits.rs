//! Sessions over the windows of an owner, and requests that are also capped in flight.

use tollgate::Timestamp;
use tollgate::order::{Admission, Admitted, Rejection, Request};
use tollgate::rate::rules::{Dimension, GroupId, RuleSet, Target, TierId};
use tollgate::rate::{AccountId, Blame, Denied, Limits, Session};

use super::Hashes;
use crate::store;

type Owners = Limits<u64, Hashes>;

#[unsafe(no_mangle)]
extern "C" fn proof_limits_begin(
    limits: &mut Owners,
    now: Timestamp,
    owner: u64,
    tier: Option<TierId>,
    group: GroupId,
    session: &mut Session,
) -> bool {
    store(session, limits.begin(now, &owner, tier, group))
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_begin_known(
    limits: &mut Owners,
    now: Timestamp,
    owner: u64,
    group: GroupId,
    session: &mut Session,
) -> bool {
    limits.account(&owner).is_some_and(|account| store(session, limits.begin_known(now, account, group)))
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_evaluate(
    limits: &mut Owners,
    now: Timestamp,
    session: &mut Session,
    dimension: Dimension,
    amount: u64,
    denied: &mut Denied,
) -> bool {
    told(denied, limits.evaluate(now, session, dimension, amount))
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_evaluate_all(
    limits: &mut Owners,
    now: Timestamp,
    session: &mut Session,
    costs: &[(Dimension, u64)],
    denied: &mut Denied,
) -> bool {
    told(denied, limits.evaluate_all(now, session, costs))
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_precheck(
    limits: &mut Owners,
    now: Timestamp,
    session: &Session,
    dimensions: &[Dimension],
    denied: &mut Denied,
) -> bool {
    told(denied, limits.precheck(now, session, dimensions)) | denied.waiting_helps()
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_settle(
    limits: &mut Owners,
    now: Timestamp,
    session: &mut Session,
    dimension: Dimension,
    actual: u64,
) -> u64 {
    limits.settle(now, session, dimension, actual);
    session.taken(dimension)
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_commit(limits: &mut Owners, now: Timestamp, session: Session) {
    limits.commit(now, session);
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_roll_back(limits: &mut Owners, now: Timestamp, session: Session, blame: Blame) {
    limits.roll_back(now, session, blame);
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_replace_rules(
    limits: &mut Owners,
    now: Timestamp,
    rules: RuleSet<u64, Hashes>,
    old: &mut core::mem::MaybeUninit<RuleSet<u64, Hashes>>,
) {
    old.write(limits.replace_rules(now, rules));
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_reset(
    limits: &mut Owners,
    now: Timestamp,
    account: AccountId,
    group: GroupId,
    dimension: Dimension,
) -> bool {
    limits.reset(now, account, group, dimension).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_report(
    limits: &mut Owners,
    now: Timestamp,
    account: AccountId,
    group: GroupId,
    denied: &Denied,
) -> u64 {
    let report = limits.report(now, account, group, Some(denied));
    let left = report.map_or(0, |report| report.map(|window| window.remaining).fold(0, u64::wrapping_add));
    let primary = limits.primary(now, account, group, None).ok().flatten();
    left ^ primary.map_or(0, |window| window.remaining)
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_snapshot(limits: &Owners) -> u64 {
    let owners = limits.owners().filter_map(|(_, owner)| owner).fold(0, |sum: u64, owner| sum ^ owner);
    let snapshot = limits.snapshot();
    owners ^ u64::from(limits.accounts() ^ snapshot.sheets ^ snapshot.meters)
}

#[unsafe(no_mangle)]
extern "C" fn proof_limits_rules(rules: &RuleSet<u64, Hashes>, at: Timestamp, owner: &u64) -> usize {
    rules.in_force(at, Target::Owner(owner)).count() ^ rules.expired(at).count()
}

#[unsafe(no_mangle)]
extern "C" fn proof_admission_try_admit(
    admission: &mut Admission<u64, Hashes>,
    now: Timestamp,
    request: &Request<'_, u64>,
    admitted: &mut Admitted,
    rejection: &mut Rejection,
) -> bool {
    match admission.try_admit(now, request) {
        Ok(granted) => *admitted = granted,
        Err(refused) => *rejection = refused,
    }
    rejection.waiting_helps() | rejection.retry_after().is_some()
}

#[unsafe(no_mangle)]
extern "C" fn proof_admission_evaluate(
    admission: &mut Admission<u64, Hashes>,
    now: Timestamp,
    admitted: &mut Admitted,
    dimension: Dimension,
    amount: u64,
) -> bool {
    let granted = admission.evaluate(now, admitted, dimension, amount).is_ok();
    admission.settle(now, admitted, dimension, amount);
    granted
}

#[unsafe(no_mangle)]
extern "C" fn proof_admission_complete(
    admission: &mut Admission<u64, Hashes>,
    now: Timestamp,
    admitted: Admitted,
) -> bool {
    admission.complete(now, admitted).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_admission_roll_back(
    admission: &mut Admission<u64, Hashes>,
    now: Timestamp,
    admitted: Admitted,
    blame: Blame,
) -> bool {
    admission.roll_back(now, admitted, blame).is_ok()
}

/// Puts a refusal in place, and tells whether there was none.
fn told(place: &mut Denied, granted: Result<(), Denied>) -> bool {
    granted.map_err(|denied| *place = denied).is_ok()
}
