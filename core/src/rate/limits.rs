//! [`Limits`]: rules in force, and what every owner has consumed of them.
//!
//! **Problem.** Many owners, several dimensions, several windows each; requests whose cost is known piece by piece; rules
//! and tiers that change while everything runs, and an operator who wants the change to hold at once without giving
//! anybody a fresh start or a debt that is not theirs.
//!
//! **What is kept.** Consumption only. An owner has an *account*; for each group it uses a *sheet*; on it a *meter* for each
//! window of each dimension: the [rate limit](crate::rate) that the rule's strategy names, which stores what is
//! consumed. Which rules the meters follow was looked up once ([`rules`](crate::rate::rules)) and is good until the next
//! of them starts or expires, the grace ends, or the set is replaced.
//!
//! | change | what happens to a meter |
//! | --- | --- |
//! | another limit, burst or overshoot | consumed stays consumed, as [`Inherit::AsIs`](crate::rate::Inherit) |
//! | another strategy, or other slices | a new one is charged with what the old one counts as consumed, in whole units |
//! | no rule for its window any more | it recovers at its last terms, and counts again if a rule comes back |
//! | a new window | it begins unused |
//!
//! A rule that starts or expires does so at its instant, however much later anybody looks. A replaced set is followed
//! from the instant of the latest replacement; what a meter that nobody looked at in between regained before, it regained
//! at its last terms. Answers never depend on how often anybody asked, save for that.
//!
//! **Room.** A full table forgets an account that nobody uses and whose forgetting forgives nothing: no open session, every
//! meter recovered, no grace running. A hand goes round and looks at eight accounts for each newcomer; if none of them can
//! go, the newcomer is refused or shares an account ([`WhenFull`]). Allowances do not recover, so whoever used one stays.
//!
//! **Requests** are [sessions](crate::rate::session).
//!
//! **Invariants.** **I1** every sheet is on the chain of its account, every meter on the chain of its sheet, exactly once;
//! **I2** meters in force come first, by dimension and window, one for each line of the plan if the sheet is complete;
//! **I3** an account with an owner is in the index; **I4** a refusal changes no meter.
//!
//! **Work** of an answer: O(windows of the sheet) and, for an owner named by key, one hash. After a change, once for each
//! sheet, O(rules of its targets). **Memory** 304 bytes for a meter, 72 for a sheet, 72, the key and
//! 5 in the index for an account.

mod account;
mod allowance;
mod denied;
mod follow;
mod machine;
mod places;
mod report;
mod settings;

use core::hash::{BuildHasher, Hash};

pub use account::AccountId;
use account::{Account, Meter, Sheet};
pub use denied::{Denied, Explanation};
pub use report::{LimitsSnapshot, Report, WindowState};
pub use settings::LimitsSettings;

use crate::error::{ConfigError, Stale};
use crate::hasher::DefaultHasher;
use crate::index::{Index, number_of};
use crate::observe::{KeyEvent, KeyObserver, NoObserver};
use crate::rate::keyed::WhenFull;
use crate::rate::rules::{Dimension, GroupId, RuleSet};
use crate::slots::{Chain, Heap, NIL, SlotId, Slots};
use crate::time::Timestamp;

/// Rules in force and consumption of all owners; see the [module](self). An example is at [`session`](crate::rate::session).
pub struct Limits<K, S = DefaultHasher, O = NoObserver> {
    rules: RuleSet<K, S>,
    /// Counts the rule sets, from 1, and since when the present one is in force.
    version: u64,
    since: Timestamp,
    /// The latest instant seen.
    latest: Timestamp,
    pub(super) settings: LimitsSettings,
    index: Index,
    hasher: S,
    pub(super) accounts: Slots<Account<K>, Heap>,
    pub(super) sheets: Slots<Sheet, Heap>,
    pub(super) meters: Slots<Meter, Heap>,
    /// The place of the account the hand looks at next.
    hand: u32,
    /// The account that is shared by those without one.
    shared: Option<SlotId>,
    counts: LimitsSnapshot,
    observer: O,
}

#[cfg(feature = "std")]
impl<K: Eq + Hash + Clone> Limits<K> {
    /// No account yet.
    ///
    /// # Errors
    /// A size of 0, above 16 777 216 accounts, or beyond what the allocator can reserve.
    pub fn new(settings: LimitsSettings, rules: RuleSet<K>) -> Result<Self, ConfigError> {
        Self::with_hasher(settings, rules, DefaultHasher::new())
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher> Limits<K, S> {
    /// The same with a hasher of your own; where owners choose their keys, one that resists chosen keys. Unless it is keyed
    /// anew for each table, as the default is, sessions of other limits may be taken for sessions of these.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_hasher(
        settings: LimitsSettings,
        rules: RuleSet<K, S>,
        hasher: S,
    ) -> Result<Self, ConfigError> {
        Self::with_observer(settings, rules, hasher, NoObserver)
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// The same, telling an observer what is taken and refused, with the [dimension](Dimension::index) and the owner.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_observer(
        settings: LimitsSettings,
        rules: RuleSet<K, S>,
        hasher: S,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let shares = settings.when_full == WhenFull::Overflow;
        let accounts = settings.accounts.saturating_add(u32::from(shares));
        let number = number_of(&hasher);
        let mut limits = Self {
            rules,
            version: 1,
            since: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            settings,
            index: Index::new(settings.accounts)?,
            hasher,
            accounts: Slots::new(accounts)?.counting_from(number),
            sheets: Slots::new(settings.sheets)?.counting_from(number),
            meters: Slots::new(settings.meters)?.counting_from(number),
            hand: 0,
            shared: None,
            counts: LimitsSnapshot::default(),
            observer,
        };
        if shares {
            // It is never unused, so it is never forgotten.
            let account = Account { owner: None, tier: None, former: None, open: 1, sheets: Chain::EMPTY };
            limits.shared = limits.accounts.insert(account).ok();
        }
        Ok(limits)
    }

    /// Puts another set of rules in place of the present one, all at once, and returns that. What is consumed stays
    /// consumed. O(1); each sheet follows when it is next used.
    ///
    /// Dimensions are known by their place in the table: those that both tables have must be at the same place.
    pub fn replace_rules(&mut self, now: Timestamp, rules: RuleSet<K, S>) -> RuleSet<K, S> {
        self.since = self.observe(now);
        self.version = self.version.saturating_add(1);
        core::mem::replace(&mut self.rules, rules)
    }

    /// Forgets what an account consumed on a dimension in a group, on every window: what an operator does about an
    /// allowance. What open sessions took of it before does not come back once more. O(windows).
    ///
    /// # Errors
    /// [`Stale`] if the account was forgotten, or never used the group.
    pub fn reset(
        &mut self,
        now: Timestamp,
        account: AccountId,
        group: GroupId,
        dimension: Dimension,
    ) -> Result<(), Stale> {
        let now = self.observe(now);
        let sheet = self.sheet_of(account, group).ok_or(Stale)?;
        self.follow(sheet, now, true);
        self.restart(sheet, now, dimension);
        Ok(())
    }

    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> &RuleSet<K, S> {
        &self.rules
    }

    /// Accounts kept now, the shared one included.
    #[must_use]
    pub const fn accounts(&self) -> u32 {
        self.accounts.len()
    }

    /// What it tells.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// What it tells, to read it out and begin anew.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells what happened to an account.
    #[inline]
    pub(super) fn tell(&mut self, account: AccountId, event: KeyEvent) {
        if O::LISTENS {
            let owner = self.accounts.get(account.0).and_then(|account| account.owner.as_ref());
            self.observer.on_key_event(owner, event);
        }
    }

    /// The latest instant seen, or `now` if it is later.
    #[inline]
    pub(super) fn observe(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The sheet of an account for a group, if it has one. O(sheets of the account).
    pub(super) fn sheet_of(&self, account: AccountId, group: GroupId) -> Option<u32> {
        let mut place = self.accounts.get(account.0)?.sheets.head();
        while let Some(sheet) = self.sheets.at(place) {
            if sheet.group == group {
                return Some(place);
            }
            place = self.sheets.after(place);
        }
        None
    }

    /// The meters in force of a sheet on a dimension, with their places, by window.
    #[inline]
    pub(super) fn in_force(
        &self,
        sheet: u32,
        dimension: Option<Dimension>,
    ) -> impl Iterator<Item = (u32, &Meter)> {
        let (mut place, mut left) =
            self.sheets.at(sheet).map_or((NIL, 0), |sheet| (sheet.meters.head(), sheet.in_force));
        core::iter::from_fn(move || {
            while left > 0 {
                left = left.saturating_sub(1);
                let here = place;
                let meter = self.meters.at(here)?;
                place = self.meters.after(here);
                if dimension.is_none_or(|dimension| dimension == meter.dimension) {
                    return Some((here, meter));
                }
            }
            None
        })
    }

    /// Asserts I1 to I3. O(everything); for tests and debugging.
    pub fn check_invariants(&self) {
        let (mut sheets, mut meters) = (0_u32, 0_u32);
        for account in (0..self.settings.accounts.saturating_add(1)).filter_map(|at| self.accounts.id_at(at))
        {
            let owner = self.accounts.get(account).and_then(|account| account.owner.as_ref());
            assert!(
                owner.is_none_or(|owner| self.place_of(owner) == Some(account.index())),
                "I3: not indexed"
            );
            let mut place = self.accounts.get(account).map_or(NIL, |account| account.sheets.head());
            while let Some(sheet) = self.sheets.at(place) {
                assert_eq!(sheet.account, account.index(), "I1: a sheet on another's chain");
                sheets = sheets.saturating_add(1);
                meters = meters.saturating_add(self.check_sheet(sheet));
                place = self.sheets.after(place);
            }
        }
        assert_eq!((sheets, meters), (self.sheets.len(), self.meters.len()), "I1: one is lost");
        self.accounts.check_invariants();
        self.sheets.check_invariants();
        self.meters.check_invariants();
    }

    fn check_sheet(&self, sheet: &Sheet) -> u32 {
        let (mut meters, mut before, mut place) = (0_u32, None, sheet.meters.head());
        while let Some(meter) = self.meters.at(place) {
            let counts = meters < sheet.in_force;
            assert_eq!(counts, meter.rule != NIL, "I2: in force iff among the first");
            let key = (meter.dimension, meter.window);
            assert!(!counts || before < Some(key), "I2: order");
            before = Some(key);
            meters = meters.saturating_add(1);
            place = self.meters.after(place);
        }
        assert_eq!(meters, sheet.meters.len(), "I1: the length of a chain");
        meters
    }
}

impl<K: core::fmt::Debug, S, O> core::fmt::Debug for Limits<K, S, O> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Limits")
            .field("accounts", &self.accounts)
            .field("sheets", &self.sheets)
            .field("meters", &self.meters)
            .finish_non_exhaustive()
    }
}
