//! Whose turn it is, one visit or one turn at a time.

mod deficit;
mod smooth;

pub use self::deficit::Deficit;
pub use self::smooth::Smooth;
use super::Order;

/// What is next of a tenant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Head {
    /// Nothing.
    Empty,
    /// Something that may not start yet, or may come back.
    NotReady,
    /// A job of this cost.
    Ready(u64),
}

impl Head {
    const fn cost(self) -> Option<u64> {
        match self {
            Self::Ready(cost) => Some(cost),
            Self::Empty | Self::NotReady => None,
        }
    }
}

/// One of the two orders.
#[derive(Clone, Debug)]
pub enum Turns {
    /// By cost.
    Deficit(Deficit),
    /// By turns.
    Smooth(Smooth),
}

impl Turns {
    /// So many tenants without work, of weight 1.
    #[must_use]
    pub fn new(order: Order, tenants: usize) -> Self {
        match order {
            Order::Deficit(quantum) => Self::Deficit(Deficit::new(quantum, tenants)),
            Order::Smooth => Self::Smooth(Smooth::new(tenants)),
        }
    }

    /// What is next of a tenant.
    pub fn set_head(&mut self, tenant: usize, head: Head) {
        match self {
            Self::Deficit(deficit) => deficit.set_head(tenant, head),
            Self::Smooth(smooth) => {
                if smooth.turn == Some(tenant) && head.cost().is_none() {
                    smooth.undo(tenant);
                }
                smooth.set_head(tenant, head);
            }
        }
    }

    /// Whose turn it is; it stays until it is served or its head is gone.
    pub fn pick(&mut self) -> Option<usize> {
        match self {
            Self::Deficit(deficit) => deficit.pick(),
            Self::Smooth(smooth) => smooth.pick(),
        }
    }

    /// The tenant whose turn it is was served.
    pub fn serve(&mut self, tenant: usize, next: Head) {
        match self {
            Self::Deficit(deficit) => {
                let cost = deficit.tenants[tenant].head.cost().expect("it has the turn");
                deficit.tenants[tenant].credit -= i128::from(cost);
                deficit.set_head(tenant, next);
            }
            Self::Smooth(smooth) => {
                smooth.turn = None;
                smooth.set_head(tenant, next);
            }
        }
    }

    /// A tenant was served out of turn.
    pub fn serve_out_of_turn(&mut self, tenant: usize, cost: u64, next: Head) {
        match self {
            Self::Deficit(deficit) => deficit.adjust(tenant, -i128::from(cost)),
            Self::Smooth(smooth) => smooth.take(tenant),
        }
        self.set_head(tenant, next);
    }

    /// What a tenant was served for came to nothing.
    pub fn give_back(&mut self, tenant: usize, cost: u64) {
        match self {
            Self::Deficit(deficit) => deficit.adjust(tenant, i128::from(cost)),
            Self::Smooth(smooth) => smooth.undo(tenant),
        }
    }

    /// What was charged was not what it cost.
    pub fn settle(&mut self, tenant: usize, charged: u64, cost: u64) {
        if let Self::Deficit(deficit) = self
            && charged != cost
        {
            deficit.adjust(tenant, i128::from(charged) - i128::from(cost));
        }
    }

    /// Whether a tenant owes fewer than so many turns.
    #[must_use]
    pub fn may_borrow(&self, tenant: usize, turns: u32) -> bool {
        match self {
            Self::Deficit(deficit) => {
                -deficit.tenants[tenant].credit < deficit.share(tenant) * i128::from(turns)
            }
            Self::Smooth(smooth) => smooth.turns_ahead(tenant) < i128::from(turns),
        }
    }

    /// What serving a job of this cost is to a tenant, by its weight.
    #[must_use]
    pub fn step(&self, tenant: usize, cost: u64) -> u128 {
        let units = if matches!(self, Self::Smooth(_)) { 1 } else { cost };
        (u128::from(units) << 16).div_ceil(u128::from(self.weight(tenant)))
    }

    /// Cost that a tenant owes.
    #[must_use]
    pub fn debt(&self, tenant: usize) -> u128 {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].credit.min(0).unsigned_abs(),
            Self::Smooth(_) => 0,
        }
    }

    /// Whether a tenant has left nothing behind.
    #[must_use]
    pub fn is_settled(&self, tenant: usize) -> bool {
        match self {
            Self::Deficit(deficit) => {
                let state = &deficit.tenants[tenant];
                let matters = state.last == deficit.round && !deficit.over();
                state.head == Head::Empty && deficit.tenants[tenant].credit == 0 && !matters
            }
            Self::Smooth(smooth) => smooth.tenants[tenant].head == Head::Empty && smooth.left(tenant) == 0,
        }
    }

    /// A tenant is somebody new from now on.
    pub fn forget(&mut self, tenant: usize) {
        self.set_head(tenant, Head::Empty);
        match self {
            Self::Deficit(deficit) => deficit.forget(tenant),
            Self::Smooth(smooth) => smooth.forget(tenant),
        }
    }

    /// Changes a weight.
    pub fn set_weight(&mut self, tenant: usize, weight: u32) {
        match self {
            Self::Deficit(deficit) => {
                deficit.reckon_up(tenant);
                deficit.tenants[tenant].weight = weight;
            }
            Self::Smooth(smooth) => smooth.tenants[tenant].weight = weight,
        }
    }

    /// A weight.
    #[must_use]
    pub fn weight(&self, tenant: usize) -> u32 {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].weight,
            Self::Smooth(smooth) => smooth.tenants[tenant].weight,
        }
    }

    /// Whether a tenant has work that is ready.
    #[must_use]
    pub fn has_work(&self, tenant: usize) -> bool {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].head.cost().is_some(),
            Self::Smooth(smooth) => smooth.tenants[tenant].head.cost().is_some(),
        }
    }
}
