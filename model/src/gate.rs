//! A gate as a list of jobs and a list of tenants: every number is counted anew, every question is a scan.
//!
//! The one place where it follows instead of leading is what callers are not promised: which of the jobs that expire at
//! the same instant is refused first, which removed or closed queue is emptied first, and which of the jobs that may
//! pass a blocked one does. There it is told what the machine said and judges whether that is right. Everything else,
//! the tenant whose turn it is included, it works out for itself; the turns are those of [`turns`].
//!
//! Under newest-first the order between tenants is not predicted: any tenant's next job may start, if it fits.
//!
//! Instants are nanoseconds; a deadline at the last instant of all is none.

mod end;
mod enter;
mod estimate;
mod leave;
pub mod turns;

use turns::Turns;

/// In what order tenants are served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// By cost, with this quantum.
    Deficit(u64),
    /// By turns.
    Smooth,
}

/// What a gate was told when it was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as in the settings of the machine, which say what they mean")]
pub struct Rules {
    pub max_queued: u32,
    pub max_queued_bytes: u64,
    pub max_queued_per_tenant: u32,
    pub max_bytes_per_tenant: u64,
    pub max_tenants: u32,
    pub max_active: u32,
    pub max_attempts: u32,
    pub max_wait: Option<u64>,
    pub order: Order,
    pub default_weight: u32,
    /// `None`: strict.
    pub max_passes: Option<u32>,
    pub reserve_after: Option<u64>,
    pub run_alone: bool,
    pub refuse_early: bool,
    pub expected_service: Option<u64>,
    pub newest_first_after: Option<u64>,
    /// Target and interval.
    pub codel: Option<(u64, u64)>,
    pub forgive_after: u64,
    pub classes: u32,
    pub cost_smoothing_ppm: u32,
}

/// What a job costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cost {
    /// The caller says.
    Units(u64),
    /// What jobs of this class cost lately.
    Class(u32),
}

/// A job as it comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as in the jobs of the machine, which say what they mean")]
pub struct NewJob {
    pub tenant: u64,
    pub cost: Cost,
    pub weight: u64,
    pub bytes: u64,
    pub deadline: Option<u64>,
    pub ready_at: Option<u64>,
    pub attempt: bool,
}

/// Why a job is refused.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(missing_docs, reason = "named as the reasons of the machine, which say what they mean")]
pub enum Why {
    Closed,
    UnknownClass,
    DeadlineExceeded,
    ExceedsLimit,
    ExceedsCapacity,
    WaitExceedsBudget,
    QueueFull,
    BytesFull,
    TenantQueueFull,
    TenantBytesFull,
    TenantTableFull,
    NoPermits,
    QueueDelay,
    Displaced,
    TenantRemoved,
}

/// What a machine told about the time to wait: the jobs ahead, and nanoseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Told {
    /// Jobs ahead.
    pub position: u64,
    /// Nanoseconds to wait, if anything is known.
    pub wait: Option<u64>,
}

/// What a machine said when it was polled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Said {
    /// This job starts after it waited so long.
    Started(u64, u64),
    /// This job will never start.
    Refused(u64, u64, Why),
}

/// How a started job ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// It ran, and cost this much if that was measured.
    Ran(Option<u64>),
    /// It never ran.
    NotStarted,
}

/// What has happened so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as the counts of the machine, which say what they mean")]
pub struct Counts {
    pub queued: u64,
    pub started: u64,
    pub passed: u64,
    pub completed: u64,
    pub not_started: u64,
    pub retried: u64,
    pub cancelled: u64,
    pub stale: u64,
    pub longest_wait: u64,
    pub total_wait: u128,
    /// Every refusal.
    pub refused: Vec<Why>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: u64,
    held: u64,
    alone: bool,
}

#[derive(Clone, Debug)]
struct Job {
    number: u64,
    /// Its tenant's.
    place: usize,
    class: Option<u32>,
    cost: u64,
    weight: u64,
    bytes: u64,
    submitted: u64,
    deadline: u64,
    ready_at: u64,
    attempt: bool,
    passes: u32,
    running: Option<Running>,
}

#[derive(Clone, Debug)]
struct Tenant {
    key: u64,
    place: usize,
    configured: bool,
    removed: bool,
    /// Its waiting jobs by number, next first.
    line: Vec<u64>,
    /// Its next job was not ready when it was last looked at.
    unready: bool,
    started: u64,
    served: u128,
    /// How far it has been served by its weight, in 2⁻¹⁶.
    progress: u128,
    /// When the interval ends, the waits in it, whether the queue stands.
    standing: (u64, Vec<u64>, bool),
}

/// One tenant as it looks from outside.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as in the snapshot of the machine, which says what they mean")]
pub struct TenantView {
    pub key: u64,
    pub weight: u32,
    pub queued: u64,
    pub bytes: u128,
    pub waiting: u64,
    pub active: u64,
    pub started: u64,
    pub served: u128,
    /// `None` where the order between tenants is not predicted.
    pub debt: Option<u128>,
    pub oldest_wait: Option<u64>,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Gate {
    /// As it was made.
    pub rules: Rules,
    /// What may be in use.
    pub limit: u64,
    /// What has happened.
    pub counts: Counts,
    now: u64,
    /// How far the tenant had been that was served last.
    progress: u128,
    /// Whether immediately.
    closed: Option<bool>,
    jobs: Vec<Job>,
    tenants: Vec<Tenant>,
    /// Places of tenants without jobs, and since when.
    idle: Vec<(usize, u64)>,
    /// Places given up, and how many were ever given out.
    free: Vec<usize>,
    places_used: usize,
    turns: Turns,
    /// Initial, floor, ceiling and mean in 2⁻¹⁶ units, by class.
    classes: Vec<(u64, u64, u64, i128)>,
    /// When what runs has started, as far as estimates know.
    starts: Vec<u64>,
    mean: Option<u64>,
    next_number: u64,
}

impl Gate {
    /// Without jobs, on a capacity of `limit`.
    #[must_use]
    pub fn new(rules: Rules, limit: u64) -> Self {
        Self {
            rules,
            limit,
            counts: Counts::default(),
            now: 0,
            progress: 0,
            closed: None,
            jobs: Vec::new(),
            tenants: Vec::new(),
            idle: Vec::new(),
            free: Vec::new(),
            places_used: 0,
            turns: Turns::new(rules.order, rules.max_tenants as usize),
            classes: vec![(1, 1, u64::MAX, 1 << 16); rules.classes as usize],
            starts: Vec::new(),
            mean: rules.expected_service,
            next_number: 0,
        }
    }

    /// Whether the order between tenants is predicted.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.rules.newest_first_after.is_none()
    }

    /// What runs takes up.
    #[must_use]
    pub fn in_use(&self) -> u128 {
        self.jobs.iter().filter_map(|job| job.running).map(|running| u128::from(running.held)).sum()
    }

    /// Jobs that run.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.jobs.iter().filter(|job| job.running.is_some()).count() as u64
    }

    /// Attempts that run.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.jobs.iter().filter(|job| job.running.is_some() && job.attempt).count() as u64
    }

    /// Jobs that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.jobs.iter().filter(|job| job.running.is_none()).count() as u64
    }

    /// Places of the queue taken up, and their bytes.
    #[must_use]
    pub fn queued(&self) -> (u64, u128) {
        self.sum(|job| job.has_place())
    }

    /// Tenants that have a job or are configured.
    #[must_use]
    pub fn tenants_in_use(&self) -> usize {
        self.tenants.len() - self.idle.len()
    }

    /// The mean time from start to end.
    #[must_use]
    pub const fn mean_service(&self) -> Option<u64> {
        self.mean
    }

    /// Whether it is closed and empty.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.closed.is_some() && self.jobs.is_empty()
    }

    /// The tenants that are known, by place.
    #[must_use]
    pub fn tenants(&self) -> Vec<TenantView> {
        let mut views: Vec<_> = self.tenants.iter().map(|tenant| (tenant.place, self.view(tenant))).collect();
        views.sort_by_key(|&(place, _)| place);
        views.into_iter().map(|(_, view)| view).collect()
    }

    fn view(&self, tenant: &Tenant) -> TenantView {
        let (queued, bytes) = self.sum(|job| job.place == tenant.place && job.has_place());
        let (active, _) = self.sum(|job| job.place == tenant.place && job.running.is_some());
        TenantView {
            key: tenant.key,
            weight: self.turns.weight(tenant.place),
            queued,
            bytes,
            waiting: tenant.line.len() as u64,
            active,
            started: tenant.started,
            served: tenant.served,
            debt: self.is_exact().then(|| self.turns.debt(tenant.place)),
            oldest_wait: tenant.line.first().map(|&number| self.now - self.job(number).submitted),
        }
    }

    /// The numbers of jobs that wait, or that run.
    #[must_use]
    pub fn live(&self, running: bool) -> Vec<u64> {
        let live = self.jobs.iter().filter(|job| job.running.is_some() == running);
        live.map(|job| job.number).collect()
    }

    fn sum(&self, which: impl Fn(&Job) -> bool) -> (u64, u128) {
        let jobs = self.jobs.iter().filter(|job| which(job));
        jobs.fold((0, 0), |(count, bytes), job| (count + 1, bytes + u128::from(job.bytes)))
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn find(&self, number: u64) -> Option<&Job> {
        self.jobs.iter().find(|job| job.number == number)
    }

    fn job(&self, number: u64) -> &Job {
        self.find(number).expect("a job of a line exists")
    }

    fn job_mut(&mut self, number: u64) -> &mut Job {
        self.jobs.iter_mut().find(|job| job.number == number).expect("a job of a line exists")
    }

    fn tenant(&mut self, place: usize) -> &mut Tenant {
        self.tenants.iter_mut().find(|tenant| tenant.place == place).expect("a job's tenant is known")
    }

    /// The tenant with this key, unless it was removed.
    fn known(&self, key: u64) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.key == key && !tenant.removed)
    }

    /// The job of a tenant that is next.
    fn next_of(&self, tenant: &Tenant) -> Option<u64> {
        let first = *tenant.line.first()?;
        let waited = self.now - self.job(first).submitted;
        let newest = self.rules.newest_first_after.is_some_and(|after| waited >= after);
        if newest { tenant.line.last().copied() } else { Some(first) }
    }

    /// The next job of a tenant, if it may start now as far as the tenant goes.
    fn ready(&self, tenant: &Tenant) -> Option<u64> {
        self.next_of(tenant).filter(|&number| !tenant.removed && self.job(number).ready_at <= self.now)
    }

    /// Whether anybody who is ready waits.
    fn somebody_is_ready(&self) -> bool {
        self.tenants.iter().any(|tenant| self.ready(tenant).is_some())
    }
}

impl Job {
    const fn has_place(&self) -> bool {
        self.running.is_none() || self.attempt
    }
}
