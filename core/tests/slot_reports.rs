//! The reports about places in flight that were never given back (litellm#27955, #30020, #1477, #20256, #28160), replayed
//! on both forms: one request, every way in which it can end, at every point at which it can end.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::cell::RefCell;
use core::future::{Future, poll_fn};
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{catch_unwind, resume_unwind};
use std::rc::Rc;

use tollgate::permit::{
    Bypass, Cap, Dimension, InFlight, InFlightRefused, InFlightTicket, SharedInFlight, Slot,
};
use tollgate::rate::{Quota, TokenBucket};
use tollgate::{Reason, Timestamp};

const TEAM: Dimension = Dimension::new(0).unwrap();
const USER: Dimension = Dimension::new(1).unwrap();
/// Await points of a request while it holds its place.
const POINTS: u32 = 4;
const CHUNKS: u32 = 3;

/// Either form, as a server uses it.
trait Caps: Clone + 'static {
    type Place;
    fn with_caps(team: Cap, user: Cap) -> Self;
    fn take(&self, user: &str) -> Result<Self::Place, InFlightRefused>;
    fn held(&self) -> Vec<(u8, String, u32)>;
}

impl Caps for SharedInFlight<String> {
    type Place = Slot<String>;

    fn with_caps(team: Cap, user: Cap) -> Self {
        let caps = Self::new(100, 1).unwrap();
        caps.set_cap(TEAM, team);
        caps.set_cap(USER, user);
        caps
    }

    fn take(&self, user: &str) -> Result<Slot<String>, InFlightRefused> {
        self.try_acquire(&[(TEAM, "blue"), (USER, user)], Bypass::None)
    }

    fn held(&self) -> Vec<(u8, String, u32)> {
        let mut all = vec![];
        self.gauges(|dimension, key, held| all.push((dimension.index(), key.clone(), held)));
        all.sort();
        all
    }
}

/// The owned form in a server of one thread, which has a guard of its own for tickets.
#[derive(Clone)]
struct OneThread(Rc<RefCell<InFlight<String>>>);

struct Guard(OneThread, Option<InFlightTicket>);

impl Drop for Guard {
    fn drop(&mut self) {
        let ticket = self.1.take().expect("it is dropped once");
        self.0.0.borrow_mut().release(ticket).expect("it is from here");
    }
}

impl Caps for OneThread {
    type Place = Guard;

    fn with_caps(team: Cap, user: Cap) -> Self {
        let mut caps = InFlight::new(100, 1).unwrap();
        caps.set_cap(TEAM, team);
        caps.set_cap(USER, user);
        Self(Rc::new(RefCell::new(caps)))
    }

    fn take(&self, user: &str) -> Result<Guard, InFlightRefused> {
        let ticket = self.0.borrow_mut().try_acquire(&[(TEAM, "blue"), (USER, user)], Bypass::None)?;
        Ok(Guard(self.clone(), Some(ticket)))
    }

    fn held(&self) -> Vec<(u8, String, u32)> {
        let caps = self.0.borrow();
        let mut all: Vec<_> =
            caps.gauges().map(|gauge| (gauge.dimension.index(), gauge.key.clone(), gauge.held)).collect();
        all.sort();
        all
    }
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Answer,
    Error(u32),
    Panic(u32),
    Shed(u32),
}

/// Goes on at the next poll.
async fn pause() {
    let mut polled = false;
    poll_fn(|_| if core::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// What the server sends, piece by piece, and what the request holds until all of it is sent.
struct Body<P> {
    _place: P,
    chunks: u32,
}

async fn serve<C: Caps>(caps: C, ending: Ending) -> Result<Body<C::Place>, &'static str> {
    pause().await;
    let place = caps.take("ann").map_err(|_| "no room")?;
    for point in 1..=POINTS {
        pause().await;
        match ending {
            Ending::Error(at) if at == point => return Err("failed"),
            Ending::Panic(at) if at == point => resume_unwind(Box::new("the handler")),
            Ending::Shed(at) if at == point => {
                let mut spent = TokenBucket::new(Quota::per_second(1)).unwrap();
                spent.charge(Timestamp::ZERO, 1);
                spent.try_acquire(Timestamp::ZERO, 1).map_err(|_| "shed")?;
            }
            _ => {}
        }
    }
    Ok(Body { _place: place, chunks: CHUNKS })
}

type Request<C> = Pin<Box<dyn Future<Output = Result<Body<<C as Caps>::Place>, &'static str>>>>;

fn poll<C: Caps>(request: &mut Request<C>) -> Poll<Result<Body<C::Place>, &'static str>> {
    request.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn held(of: &[(u8, &str, u32)]) -> Vec<(u8, String, u32)> {
    of.iter().map(|&(dimension, key, held)| (dimension, key.to_owned(), held)).collect()
}

/// Another request of the team stays throughout: a place that came back twice would be hers.
fn however_it_ends<C: Caps>() {
    let caps = C::with_caps(Cap::At(2), Cap::At(1));
    let eve = caps.take("eve").unwrap();
    let without = held(&[(0, "blue", 1), (1, "eve", 1)]);
    let with = held(&[(0, "blue", 2), (1, "ann", 1), (1, "eve", 1)]);
    let request = |ending| -> Request<C> { Box::pin(serve(caps.clone(), ending)) };

    for ending in (1..=POINTS).flat_map(|at| [Ending::Error(at), Ending::Panic(at), Ending::Shed(at)]) {
        let mut request = request(ending);
        let mut polls = 0;
        while let Ok(Poll::Pending) = catch_unwind(AssertUnwindSafe(|| poll::<C>(&mut request))) {
            polls += 1;
            assert_eq!(caps.held(), if polls == 1 { without.clone() } else { with.clone() }, "{ending:?}");
        }
        let (Ending::Error(at) | Ending::Panic(at) | Ending::Shed(at)) = ending else { unreachable!() };
        assert_eq!(polls, 1 + at, "{ending:?}");
        assert_eq!(caps.held(), without, "{ending:?}, and what is left of the request is still there");
        drop(request);
        assert_eq!(caps.held(), without, "{ending:?}");
    }

    for polls in 0..=POINTS + 1 {
        let mut request = request(Ending::Answer);
        for _ in 0..polls {
            assert!(poll::<C>(&mut request).is_pending());
        }
        assert_eq!(caps.held(), if polls < 2 { without.clone() } else { with.clone() }, "{polls}");
        drop(request);
        assert_eq!(caps.held(), without, "cancelled after {polls} polls");
    }

    for sent in 0..=CHUNKS {
        let mut request = request(Ending::Answer);
        let mut body = loop {
            if let Poll::Ready(answer) = poll::<C>(&mut request) {
                break answer.unwrap_or_else(|error| panic!("{error}"));
            }
        };
        drop(request);
        body.chunks -= sent;
        assert_eq!(caps.held(), with, "the body has the place now");
        drop(body);
        assert_eq!(caps.held(), without, "dropped after {sent} of {CHUNKS}");
    }

    // What the caps refuse themselves, with the team taken already, holds nothing either.
    let (roomy, ann) = (C::with_caps(Cap::At(9), Cap::At(1)), "ann");
    let place = roomy.take(ann).unwrap_or_else(|refused| panic!("{refused}"));
    let refused = roomy.take(ann).map(drop).unwrap_err();
    assert_eq!((refused.dimension, refused.reason), (USER, Reason::NoPermits));
    assert_eq!(roomy.held(), held(&[(0, "blue", 1), (1, "ann", 1)]));
    drop(place);
    drop(eve);
    assert_eq!((roomy.held(), caps.held()), (vec![], vec![]), "whatever ended as it would: nothing is left");
}

#[test]
fn litellm_27955_a_shared_slot_comes_back_once_however_its_request_ends() {
    however_it_ends::<SharedInFlight<String>>();
}

#[test]
fn litellm_27955_a_ticket_comes_back_once_however_its_request_ends() {
    however_it_ends::<OneThread>();
}

/// A key whose copy cannot be made.
#[derive(Debug, Eq, Hash, PartialEq)]
struct Key(u32);

impl Clone for Key {
    fn clone(&self) -> Self {
        if self.0 == 13 {
            resume_unwind(Box::new("the key"));
        }
        Self(self.0)
    }
}

#[test]
fn litellm_30020_a_key_that_panics_part_way_holds_nothing() {
    let mut owned: InFlight<Key> = InFlight::new(100, 1).unwrap();
    let shared: SharedInFlight<Key> = SharedInFlight::new(100, 1).unwrap();
    let pairs = [(TEAM, &Key(1)), (USER, &Key(13))];
    let ended = catch_unwind(AssertUnwindSafe(|| shared.try_acquire(&pairs, Bypass::None).map(drop)));
    assert!(ended.is_err() && shared.is_empty());
    let ended = catch_unwind(AssertUnwindSafe(|| owned.try_acquire(&pairs, Bypass::None).map(drop)));
    assert!(ended.is_err() && owned.is_empty(), "{} pairs are held for ever", owned.len());
    assert!(shared.try_acquire(&pairs[..1], Bypass::None).is_ok());
}

#[test]
fn each_of_the_eight_dimensions_has_a_cap_of_its_own() {
    let dimensions: Vec<Dimension> = (0..8).filter_map(Dimension::new).collect();
    assert_eq!(dimensions.len(), 8);
    for (which, &capped) in dimensions.iter().enumerate() {
        let mut caps: InFlight<u64> = InFlight::new(100, 1).unwrap();
        caps.set_cap(capped, Cap::At(1));
        for (other, &dimension) in dimensions.iter().enumerate() {
            let first = caps.try_acquire(&[(dimension, &1)], Bypass::None).unwrap();
            let second = caps.try_acquire(&[(dimension, &1)], Bypass::None);
            assert_eq!(second.is_err(), which == other, "{which}, {other}");
            assert!(!caps.is_empty());
            caps.release(first).unwrap();
            let _given_back = second.map(|ticket| caps.release(ticket));
        }
        assert!(caps.is_empty());
    }
}

#[test]
fn pairs_are_spread_over_the_shards_and_fill_them_all() {
    let shared: SharedInFlight<u64> =
        SharedInFlight::with_hasher(64, 1, 4, tollgate::DefaultHasher::new()).unwrap();
    let dimension = Dimension::new(0).unwrap();
    let held: Vec<_> =
        (0..1_000).filter_map(|key| shared.try_acquire(&[(dimension, &key)], Bypass::None).ok()).collect();
    assert_eq!(held.len(), 64);
    assert!(!shared.is_empty());
    drop(held);
    assert!(shared.is_empty());
}

#[test]
fn shards_are_a_power_of_two_and_at_most_the_capacity() {
    let with = |capacity, shards| {
        SharedInFlight::<u64>::with_hasher(capacity, 1, shards, tollgate::DefaultHasher::new()).is_ok()
    };
    assert!(with(8, 8) && with(1, 1));
    assert!(!with(8, 3) && !with(4, 8) && !with(8, 0));
}
