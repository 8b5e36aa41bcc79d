//! `Semaphore` against an oracle that is a list, over random sequences of calls, polled by hand.
//!
//! After each call: the same requests are granted or refused as by the oracle, in the same order; `in_use`, the limit and
//! the line agree; each request whose fate was decided while it waited was woken once for it, and no other was.
#![cfg(not(tollgate_loom))]

use core::future::Future;
use core::pin::Pin;
use std::collections::VecDeque;

use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex};
use std::task::Wake;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_async::{AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// What a caller may do. Indices are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    Acquire(u32),
    TryAcquire(u32),
    Poll { of: usize, by_another_task: bool },
    Cancel(usize),
    Release(usize),
    Split(usize, usize),
    Merge(usize, usize),
    Forget(usize),
    SetLimit(usize),
    Add(usize),
    ForgetPermits(usize),
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0..64_usize;
    prop_oneof![
        8 => (0..6_u32).prop_map(Op::Acquire),
        2 => (0..6_u32).prop_map(Op::TryAcquire),
        8 => (which.clone(), any::<bool>()).prop_map(|(of, by_another_task)| Op::Poll { of, by_another_task }),
        4 => which.clone().prop_map(Op::Cancel),
        8 => which.clone().prop_map(Op::Release),
        1 => (which.clone(), 0..4_usize).prop_map(|(a, b)| Op::Split(a, b)),
        1 => (which.clone(), which.clone()).prop_map(|(a, b)| Op::Merge(a, b)),
        1 => which.prop_map(Op::Forget),
        3 => (0..7_usize).prop_map(Op::SetLimit),
        1 => (0..3_usize).prop_map(Op::Add),
        1 => (0..4_usize).prop_map(Op::ForgetPermits),
    ]
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    Waits,
    Granted,
    Refused(AcquireError),
}

/// The semaphore as its documentation has it, and nothing clever.
#[derive(Debug)]
struct Oracle {
    limit: usize,
    in_use: usize,
    forgotten: usize,
    closed: bool,
    grows: bool,
    line: VecDeque<(usize, usize)>,
    /// Those whose fate was decided in line, since they were last collected.
    decided: Vec<(usize, Fate)>,
}

impl Oracle {
    fn too_many(&self, n: usize) -> bool {
        n > self.limit && self.limit != 0 && !self.grows
    }

    fn try_take(&mut self, n: usize) -> Result<(), TryAcquireError> {
        if self.closed {
            Err(TryAcquireError::Closed)
        } else if n == 0 {
            Ok(())
        } else if self.too_many(n) {
            Err(TryAcquireError::ExceedsLimit)
        } else if !self.line.is_empty() || self.in_use + n > self.limit {
            Err(TryAcquireError::NoPermits)
        } else {
            self.in_use += n;
            Ok(())
        }
    }

    fn serve(&mut self) {
        while let Some(&(id, n)) = self.line.front() {
            let fate = if self.closed {
                Fate::Refused(AcquireError::Closed)
            } else if self.too_many(n) {
                Fate::Refused(AcquireError::ExceedsLimit)
            } else if self.in_use + n <= self.limit {
                self.in_use += n;
                Fate::Granted
            } else {
                return;
            };
            self.line.pop_front();
            self.decided.push((id, fate));
        }
    }

    fn available(&self) -> usize {
        if self.line.is_empty() { self.limit.saturating_sub(self.in_use) } else { 0 }
    }
}

/// Writes its name into the log when it is woken.
struct Task {
    name: (usize, usize),
    log: Arc<Mutex<Vec<(usize, usize)>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.log.lock().unwrap().push(self.name);
    }
}

struct Request {
    id: usize,
    n: usize,
    future: AcquireOwned,
    fate: Option<Fate>,
    /// How many tasks it was moved to, and the last.
    tasks: usize,
    waker: Waker,
}

struct World {
    semaphore: Arc<Semaphore>,
    oracle: Oracle,
    requests: Vec<Request>,
    permits: Vec<OwnedSemaphorePermit>,
    log: Arc<Mutex<Vec<(usize, usize)>>>,
    next: usize,
}

impl World {
    fn new(limit: usize, grows: bool) -> Self {
        let semaphore = Arc::new(if grows { Semaphore::growing(limit) } else { Semaphore::new(limit) });
        let oracle = Oracle {
            limit,
            in_use: 0,
            forgotten: 0,
            closed: false,
            grows,
            line: VecDeque::new(),
            decided: Vec::new(),
        };
        Self { semaphore, oracle, requests: Vec::new(), permits: Vec::new(), log: Arc::default(), next: 0 }
    }

    fn waker(&self, id: usize, task: usize) -> Waker {
        Waker::from(Arc::new(Task { name: (id, task), log: Arc::clone(&self.log) }))
    }

    fn poll(&mut self, at: usize) {
        let request = &mut self.requests[at];
        let polled = Pin::new(&mut request.future).poll(&mut Context::from_waker(&request.waker));
        let fate = match request.fate {
            Some(fate) => fate,
            None => match self.oracle.try_take(request.n) {
                Ok(()) => Fate::Granted,
                Err(TryAcquireError::Closed) => Fate::Refused(AcquireError::Closed),
                Err(TryAcquireError::ExceedsLimit) => Fate::Refused(AcquireError::ExceedsLimit),
                Err(TryAcquireError::NoPermits) => {
                    self.oracle.line.push_back((request.id, request.n));
                    Fate::Waits
                }
            },
        };
        request.fate = Some(fate);
        match (polled, fate) {
            (Poll::Pending, Fate::Waits) => return,
            (Poll::Ready(Ok(permit)), Fate::Granted) => {
                assert_eq!(permit.num_permits(), request.n);
                self.permits.push(permit);
            }
            (Poll::Ready(Err(error)), Fate::Refused(expected)) => assert_eq!(error, expected),
            (polled, fate) => panic!("{polled:?}, and the oracle says {fate:?}"),
        }
        drop(self.requests.remove(at));
    }

    fn act(&mut self, op: &Op) {
        match *op {
            Op::Acquire(n) => {
                let future = Arc::clone(&self.semaphore).acquire_many_owned(n);
                let waker = self.waker(self.next, 0);
                let id = self.next;
                self.next += 1;
                self.requests.push(Request { id, n: n as usize, future, fate: None, tasks: 0, waker });
            }
            Op::TryAcquire(n) => {
                let got = Arc::clone(&self.semaphore).try_acquire_many_owned(n);
                assert_eq!(got.as_ref().map(|_| ()).map_err(|e| *e), self.oracle.try_take(n as usize));
                self.permits.extend(got);
            }
            Op::Poll { of, by_another_task } if !self.requests.is_empty() => {
                let at = of % self.requests.len();
                if by_another_task {
                    let (id, task) = (self.requests[at].id, self.requests[at].tasks + 1);
                    self.requests[at].tasks = task;
                    self.requests[at].waker = self.waker(id, task);
                }
                self.poll(at);
            }
            Op::Cancel(of) if !self.requests.is_empty() => {
                let gone = self.requests.remove(of % self.requests.len());
                match gone.fate {
                    Some(Fate::Granted) => self.oracle.in_use -= gone.n,
                    Some(Fate::Waits) => self.oracle.line.retain(|&(id, _)| id != gone.id),
                    Some(Fate::Refused(_)) | None => {}
                }
                drop(gone);
                self.oracle.serve();
            }
            Op::Release(of) if !self.permits.is_empty() => {
                let permit = self.permits.swap_remove(of % self.permits.len());
                self.oracle.in_use -= permit.num_permits();
                drop(permit);
                self.oracle.serve();
            }
            Op::Split(of, n) if !self.permits.is_empty() => {
                let at = of % self.permits.len();
                let whole = self.permits[at].num_permits();
                let part = self.permits[at].split(n);
                assert_eq!(part.is_some(), n <= whole);
                self.permits.extend(part);
            }
            Op::Merge(one, other) if self.permits.len() > 1 => {
                let other = self.permits.swap_remove(other % self.permits.len());
                let at = one % self.permits.len();
                let sum = self.permits[at].num_permits() + other.num_permits();
                self.permits[at].merge(other);
                assert_eq!(self.permits[at].num_permits(), sum);
            }
            Op::Forget(of) if !self.permits.is_empty() => {
                let permit = self.permits.swap_remove(of % self.permits.len());
                self.oracle.forgotten += permit.num_permits();
                permit.forget();
            }
            Op::SetLimit(limit) => {
                assert_eq!(self.semaphore.set_limit(limit), Ok(self.oracle.limit));
                self.oracle.limit = limit;
                self.oracle.serve();
            }
            Op::Add(n) => {
                self.semaphore.add_permits(n);
                let back = n.min(self.oracle.forgotten);
                self.oracle.forgotten -= back;
                self.oracle.in_use -= back;
                self.oracle.limit += n - back;
                self.oracle.serve();
            }
            Op::ForgetPermits(n) => {
                let taken = if self.oracle.closed { 0 } else { n.min(self.oracle.available()) };
                assert_eq!(self.semaphore.forget_permits(n), taken);
                self.oracle.in_use += taken;
                self.oracle.forgotten += taken;
            }
            Op::Close => {
                self.semaphore.close();
                self.oracle.closed = true;
                self.oracle.serve();
            }
            _ => {}
        }
        self.compare();
    }

    fn compare(&mut self) {
        let woken: Vec<_> = core::mem::take(&mut *self.log.lock().unwrap());
        let mut expected = Vec::new();
        for (id, fate) in self.oracle.decided.drain(..) {
            let request = self.requests.iter_mut().find(|request| request.id == id).expect("it waits");
            request.fate = Some(fate);
            expected.push((id, request.tasks));
        }
        assert_eq!(woken, expected, "each once, in order, in the task that polled last");
        let (semaphore, oracle) = (&self.semaphore, &self.oracle);
        assert_eq!(semaphore.in_use(), oracle.in_use, "in use");
        assert_eq!(semaphore.limit(), oracle.limit, "limit");
        assert_eq!(semaphore.num_waiters(), oracle.line.len(), "in line");
        assert_eq!(semaphore.available_permits(), oracle.available(), "available");
        assert_eq!(semaphore.is_closed(), oracle.closed);
        let granted = self.requests.iter().filter(|request| request.fate == Some(Fate::Granted));
        let held: usize = self.permits.iter().map(OwnedSemaphorePermit::num_permits).sum();
        assert_eq!(
            oracle.in_use,
            held + oracle.forgotten + granted.map(|request| request.n).sum::<usize>(),
            "what is in use is held, forgotten or on its way"
        );
    }

    /// Everybody goes away: only what was forgotten stays in use, and everything else is free.
    fn end(mut self) {
        while !self.requests.is_empty() {
            self.act(&Op::Cancel(0));
        }
        while !self.permits.is_empty() {
            self.act(&Op::Release(0));
        }
        assert_eq!(self.semaphore.in_use(), self.oracle.forgotten);
        assert_eq!(self.semaphore.num_waiters(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn the_semaphore_does_what_the_list_does(
        limit in 0..6_usize,
        grows in any::<bool>(),
        ops in vec(op(), 1..120),
        close in any::<bool>(),
        after in vec(op(), 1..20),
    ) {
        let mut world = World::new(limit, grows);
        ops.iter().for_each(|op| world.act(op));
        if close {
            world.act(&Op::Close);
            after.iter().for_each(|op| world.act(op));
        }
        world.end();
    }
}
