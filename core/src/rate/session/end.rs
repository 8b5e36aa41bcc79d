//! What becomes of what a session took.

use core::hash::{BuildHasher, Hash};

use super::{MOST_RECORDS, Record, Session};
use crate::observe::{KeyEvent, KeyObserver};
use crate::rate::limits::Limits;
use crate::rate::rules::Dimension;
use crate::time::Timestamp;

/// Why a request is rolled back.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Blame {
    /// It never ran: another limit refused it, or it left a queue before its turn. All of it comes back.
    Nobody,
    /// The client sent what cannot be served, or left while it was served.
    Client,
    /// The server failed.
    Server,
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// Says what the request really used of a dimension, however often: the difference to what it took comes back, as far
    /// as it still counts, or is charged, whatever is left, to the windows in force now. O(records + windows).
    pub fn settle(&mut self, now: Timestamp, session: &mut Session, dimension: Dimension, actual: u64) {
        let now = self.observe(now);
        let taken = session.taken(dimension);
        let Some(sheet) = self.sheets.get(session.sheet).map(|_| session.sheet.index()) else { return };
        self.follow(sheet, now, true);
        if let Some(more) = actual.checked_sub(taken).filter(|&more| more > 0) {
            let (windows, _) = self.look(now, sheet, dimension, more);
            self.take(now, session, windows, dimension, more);
            let charged = KeyEvent::Charged { dimension: dimension.number(), amount: more };
            self.tell(session.account, charged);
            return;
        }
        let mut excess = taken.saturating_sub(actual);
        // Evaluation by evaluation, the last first: all windows of one give back the same.
        let mut end = session.records.len();
        while excess > 0 && end > 0 {
            let start = session.records.iter().take(end).rposition(|record| record.first).unwrap_or(0);
            let records = session.records.get_mut(start..end).unwrap_or(&mut []);
            end = start;
            let cost = records.first().filter(|record| record.dimension == dimension);
            let back = cost.map_or(0, |record| record.cost).min(excess);
            if back > 0 {
                records.iter_mut().rev().for_each(|record| self.give_back(now, record, back));
                excess = excess.saturating_sub(back);
                let returned = KeyEvent::Returned { dimension: dimension.number(), amount: back };
                self.tell(session.account, returned);
            }
        }
    }

    /// Ends a session that succeeded: what it took stays consumed. O(1).
    #[inline]
    pub fn commit(&mut self, now: Timestamp, session: Session) {
        self.observe(now);
        self.close(session.account);
    }

    /// Ends a session that did not: what it took comes back in reverse order, as far as it still counts, of the
    /// dimensions that are refunded. O(records).
    pub fn roll_back(&mut self, now: Timestamp, mut session: Session, blame: Blame) {
        let now = self.observe(now);
        if self.sheets.get(session.sheet).is_some() {
            // What the rules became since, they became before.
            self.follow(session.sheet.index(), now, false);
        }
        for _ in 0..MOST_RECORDS {
            let Some(mut record) = session.records.pop() else { break };
            let refund = self.rules().dimensions().refund(record.dimension);
            let comes_back = match blame {
                Blame::Nobody => true,
                Blame::Client => refund.after_client_error,
                Blame::Server => refund.after_server_error,
            };
            if comes_back {
                let (dimension, amount) = (record.dimension.number(), record.cost);
                self.give_back(now, &mut record, u64::MAX);
                if record.first {
                    self.tell(session.account, KeyEvent::Returned { dimension, amount });
                }
            }
        }
        self.close(session.account);
    }

    fn give_back(&mut self, now: Timestamp, record: &mut Record, cost: u64) {
        let mut receipt = record.receipt();
        match self.meters.get_mut(record.meter()) {
            Some(meter) => meter.machine.give_back(now, &mut receipt, cost),
            // A meter that has taken its place never saw the grant.
            None => receipt.cost = receipt.cost.saturating_sub(cost),
        }
        (record.cost, record.position) = (receipt.cost, receipt.position);
    }
}
