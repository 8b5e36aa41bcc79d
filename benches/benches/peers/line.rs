//! Waiters in the line of a semaphore, from few to a million, all of them polled by hand.
//!
//! In `pass` the one permit comes back, the first in line is polled and has it, and somebody else joins at the end. In
//! `leave` one of them, anywhere in line, goes and joins again. Both are to cost the same however many wait. The futures
//! of all entrants own their semaphore, and stay where they are in memory; nobody is woken up for it, which is the
//! runtime's work. `core-…` is the core's machine, which knows no futures and has no peer; its floor is a queue.

use core::hint::black_box;
use core::pin::Pin;
use std::collections::VecDeque;
use std::sync::Arc;

use criterion::Criterion;
use tollgate::permit::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent, WaiterId};
use tollgate::slots::Heap;
use tollgate_benches::{Case, run as contest};

use crate::poll::ready;

const GROUP: &str = "line";
const SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &SIZES.map(pass));
    contest(criterion, &SIZES.map(leave));
    contest(criterion, &SIZES.map(core_pass));
}

fn pass(size: u32) -> Case<'static> {
    Case::new(GROUP, "pass")
        .size(size)
        .alone("tollgate", move || {
            let semaphore = Arc::new(tollgate_async::Semaphore::new(1));
            passing(size, move || Arc::clone(&semaphore).acquire_owned())
        })
        .alone("tokio", move || {
            let semaphore = Arc::new(tokio::sync::Semaphore::new(1));
            passing(size, move || Arc::clone(&semaphore).acquire_owned())
        })
        .alone("mea", move || {
            let semaphore = Arc::new(mea::semaphore::Semaphore::new(1));
            passing(size, move || Arc::clone(&semaphore).acquire_owned(1))
        })
        .alone("async-lock", move || {
            let semaphore = Arc::new(async_lock::Semaphore::new(1));
            passing(size, move || semaphore.acquire_arc())
        })
}

fn leave(size: u32) -> Case<'static> {
    Case::new(GROUP, "leave")
        .size(size)
        .alone("tollgate", move || {
            let semaphore = Arc::new(tollgate_async::Semaphore::new(1));
            leaving(size, move || Arc::clone(&semaphore).acquire_owned())
        })
        .alone("tokio", move || {
            let semaphore = Arc::new(tokio::sync::Semaphore::new(1));
            leaving(size, move || Arc::clone(&semaphore).acquire_owned())
        })
        .alone("mea", move || {
            let semaphore = Arc::new(mea::semaphore::Semaphore::new(1));
            leaving(size, move || Arc::clone(&semaphore).acquire_owned(1))
        })
        .alone("async-lock", move || {
            let semaphore = Arc::new(async_lock::Semaphore::new(1));
            leaving(size, move || semaphore.acquire_arc())
        })
}

/// The permit goes from one to the next, and a newcomer takes the place of who has it.
fn passing<F: Future>(size: u32, join: impl Fn() -> F) -> impl FnMut(u32) {
    let (mut permit, mut waiting) = queue(size, &join);
    let mut first = 0;
    move |_| {
        drop(permit.take());
        permit = ready(waiting[first].as_mut());
        assert!(permit.is_some(), "it is the first one's turn");
        wait(&mut waiting[first], join());
        first = (first + 1) % waiting.len();
    }
}

/// Nobody gets the permit; one after another gives up and tries again.
fn leaving<F: Future>(size: u32, join: impl Fn() -> F) -> impl FnMut(u32) {
    let (permit, mut waiting) = queue(size, &join);
    move |ordinal| {
        let _taken = &permit;
        let who = somebody(ordinal, waiting.len());
        wait(&mut waiting[who], join());
    }
}

/// The permit, and those who wait for it, in order.
fn queue<F: Future>(size: u32, join: impl Fn() -> F) -> (Option<F::Output>, Vec<Pin<Box<F>>>) {
    let permit = ready(Box::pin(join()).as_mut());
    assert!(permit.is_some(), "it is free");
    let waiting = (0..size).map(|_| {
        let mut future = Box::pin(join());
        assert!(ready(future.as_mut()).is_none(), "it is taken");
        future
    });
    (permit, waiting.collect())
}

/// Another future where one was, which waits.
fn wait<F: Future>(place: &mut Pin<Box<F>>, future: F) {
    place.set(future);
    assert!(ready(place.as_mut()).is_none(), "others are before it");
}

/// Neighbours in time are no neighbours in line.
fn somebody(ordinal: u32, waiting: usize) -> usize {
    usize::try_from(ordinal.wrapping_mul(2_654_435_769)).unwrap_or(0) % waiting
}

fn core_pass(size: u32) -> Case<'static> {
    Case::new(GROUP, "core-pass")
        .size(size)
        .alone("tollgate", move || {
            let mut semaphore = Semaphore::<Heap>::new(1, size, HeadOfLine::Strict).expect("lawful");
            let Ok(Acquire::Granted(ticket)) = semaphore.acquire(1) else { panic!("it is free") };
            let mut held = Some(ticket);
            for _ in 0..size {
                join(&mut semaphore);
            }
            move |_| {
                semaphore.release(held.take().expect("one has it")).expect("its own");
                let Some(SemaphoreEvent::Granted(who, ticket)) = semaphore.poll() else {
                    panic!("somebody waits")
                };
                black_box(who);
                held = Some(ticket);
                join(&mut semaphore);
            }
        })
        .alone("floor", move || {
            let mut queue: VecDeque<u32> = (0..size).collect();
            move |_| {
                let first = black_box(queue.pop_front().expect("all wait"));
                queue.push_back(first);
            }
        })
}

fn join(semaphore: &mut Semaphore<Heap>) -> WaiterId {
    match semaphore.acquire(1) {
        Ok(Acquire::Queued(waiter)) => waiter,
        other => panic!("{other:?}"),
    }
}
