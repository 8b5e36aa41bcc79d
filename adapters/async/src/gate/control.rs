//! What can be changed and seen of a gate while it works.

use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;

use tollgate::ConfigError;
use tollgate::gate::{
    Capacity, ClassId, CloseMode, CostClass, Settings, Snapshot, TenantKey, TenantSnapshot,
};
use tollgate::observe::Observer;

use super::Gate;
use crate::Runtime;

/// Shortest time in which a start has to be fetched: timers are about that precise.
const SOONEST: Duration = Duration::from_millis(1);

/// Changes reach those who wait at once.
impl<R: Runtime, C: Capacity, O: Observer> Gate<R, C, O> {
    /// A start that its future does not fetch within this time is taken back; `None` for never. Five seconds unless it is
    /// set, a millisecond at least. Also, as long as somebody waits, the gate's timer goes off about so often: a shorter time
    /// takes effect when it next does, or when the next future waits.
    pub fn set_pick_up_within(&self, within: Option<Duration>) {
        self.shared.act(
            |state, _, _| state.pick_up_within = within.map(|within| within.max(SOONEST)),
            |_, _, ()| (),
        );
    }

    /// Changes a tenant's weight; see [`set_weight`](tollgate::gate::Gate::set_weight).
    ///
    /// # Errors
    /// A weight of 0; no room for another tenant.
    pub fn set_weight(&self, tenant: TenantKey, weight: u32) -> Result<(), ConfigError> {
        self.shared.act(|state, _, _| state.gate.set_weight(tenant, weight), |_, _, done| done)
    }

    /// Removes a tenant: those of its jobs that wait are refused, what runs goes on. Answers whether there was one.
    pub fn remove_tenant(&self, tenant: TenantKey) -> bool {
        self.shared.act(|state, _, _| state.gate.remove_tenant(tenant), |_, _, was| was)
    }

    /// Says what is known about a class of jobs beforehand, and starts to learn its cost anew.
    ///
    /// # Errors
    /// No such class; a floor above the ceiling.
    pub fn configure_class(&self, class: ClassId, known: CostClass) -> Result<(), ConfigError> {
        self.shared.act(|state, _, _| state.gate.configure_class(class, known), |_, _, done| done)
    }

    /// Closes for good. Under [`Drain`](CloseMode::Drain) those who wait are served; under
    /// [`Immediate`](CloseMode::Immediate) they are refused. What runs goes on.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// use tollgate_async::Reason;
    /// use tollgate_async::gate::{Budget, CloseMode, Gate, Job, Settings};
    ///
    /// # block_on(async {
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(2))?;
    /// let running = gate.enter(Job::new(1)).await?;
    /// gate.close(CloseMode::Drain);
    /// assert_eq!(gate.enter(Job::new(1)).await.unwrap_err().reason, Reason::Closed);
    /// drop(running);
    /// gate.drained().await;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn close(&self, mode: CloseMode) {
        self.shared.act(|state, _, _| state.gate.close(mode), |_, _, ()| ());
    }

    /// Waits until it is closed and no job is left, waiting or running.
    ///
    /// # Cancellation
    /// Safe.
    pub async fn drained(&self) {
        poll_fn(|context| {
            let waker = context.waker().clone();
            let mut state = self.shared.state.lock();
            if state.gate.is_drained() {
                return Poll::Ready(());
            }
            if !state.draining.iter().any(|left| left.will_wake(&waker)) {
                state.draining.push(waker);
            }
            Poll::Pending
        })
        .await;
    }

    /// Changes the capacity, its limit say; whoever fits then starts. The gate is locked meanwhile: `change` must not call
    /// it.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::gate::{Budget, Gate, Job, Settings};
    ///
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(0))?;
    /// assert!(gate.try_enter(Job::new(1)).is_err());
    /// gate.with_capacity_mut(|capacity| capacity.set_limit(1));
    /// assert!(gate.try_enter(Job::new(1)).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn with_capacity_mut<T>(&self, change: impl FnOnce(&mut C) -> T) -> T {
        self.shared.act(|state, _, _| change(state.gate.capacity_mut()), |_, _, changed| changed)
    }

    /// Looks again at who can start: to be called after something changed that the gate is not told of, as when a capacity is
    /// shared and somebody else gave back.
    pub fn recheck(&self) {
        self.shared.act(|_, _, _| (), |_, _, ()| ());
    }

    /// Shows the capacity, the gate being locked meanwhile.
    pub fn with_capacity<T>(&self, look: impl FnOnce(&C) -> T) -> T {
        look(self.shared.state.lock().gate.capacity())
    }

    /// Shows the observer, the gate being locked meanwhile.
    pub fn with_observer_ref<T>(&self, look: impl FnOnce(&O) -> T) -> T {
        look(self.shared.state.lock().gate.observer())
    }

    /// The settings it was made with.
    #[must_use]
    pub fn settings(&self) -> Settings {
        *self.shared.state.lock().gate.settings()
    }

    /// What the next job of a class will be charged; `None` if there is no such class.
    #[must_use]
    pub fn estimated_cost(&self, class: ClassId) -> Option<u64> {
        self.shared.state.lock().gate.estimated_cost(class)
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.state.lock().gate.is_closed()
    }

    /// Whether it is closed and no job is left, waiting or running.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shared.state.lock().gate.is_drained()
    }

    /// What it looks like now. O(tenants) under the mutex.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let now = self.now();
        self.shared.state.lock().gate.snapshot(now)
    }

    /// A tenant now, if it is known. O(tenants) under the mutex.
    #[must_use]
    pub fn tenant(&self, tenant: TenantKey) -> Option<TenantSnapshot> {
        let now = self.now();
        self.shared.state.lock().gate.tenants(now).find(|seen| seen.key == tenant)
    }

    /// The tenants that are known, now. O(tenants) under the mutex. Allocates.
    #[must_use]
    pub fn tenants(&self) -> Vec<TenantSnapshot> {
        let now = self.now();
        self.shared.state.lock().gate.tenants(now).collect()
    }
}
