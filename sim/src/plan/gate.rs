//! The gate's settings, from a plan.

use core::time::Duration;

use tollgate::gate::{CoDel, Order, Overweight, Settings};
use tollgate::permit::HeadOfLine;

use super::file::{GateFile, HeadOfLineFile, OrNone, OrderFile, OverweightFile};
use super::value::Span;

const fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.0)
}

/// Those given, and the gate's own defaults.
pub(super) fn settings(file: &GateFile) -> Settings {
    let own = Settings::default();
    Settings {
        max_queued: file.max_queued.unwrap_or(own.max_queued),
        max_queued_bytes: file.max_queued_bytes.map_or(own.max_queued_bytes, |bytes| bytes.0),
        max_queued_per_tenant: file.max_queued_per_tenant.unwrap_or(own.max_queued_per_tenant),
        max_bytes_per_tenant: file.max_bytes_per_tenant.map_or(own.max_bytes_per_tenant, |bytes| bytes.0),
        max_tenants: file.max_tenants.unwrap_or(own.max_tenants),
        max_active: file.max_active.unwrap_or(own.max_active),
        max_attempts: file.max_attempts.unwrap_or(own.max_attempts),
        max_wait: match file.max_wait {
            None => own.max_wait,
            Some(OrNone::None(_)) => None,
            Some(OrNone::Span(span)) => Some(duration(span)),
        },
        order: match file.order {
            None => own.order,
            Some(OrderFile::Smooth) => Order::Smooth,
            Some(OrderFile::Deficit { quantum }) => Order::Deficit { quantum },
        },
        default_weight: file.default_weight.unwrap_or(own.default_weight),
        head_of_line: match file.head_of_line {
            None => own.head_of_line,
            Some(HeadOfLineFile::Strict) => HeadOfLine::Strict,
            Some(HeadOfLineFile::Backfill { max_passes }) => HeadOfLine::Backfill { max_passes },
        },
        reserve_after: file.reserve_after.map(duration).or(own.reserve_after),
        overweight: match file.overweight {
            None => own.overweight,
            Some(OverweightFile::Refuse) => Overweight::Refuse,
            Some(OverweightFile::RunAlone) => Overweight::RunAlone,
        },
        refuse_early: file.refuse_early.unwrap_or(own.refuse_early),
        expected_service: file.expected_service.map(duration).or(own.expected_service),
        newest_first_after: file.newest_first_after.map(duration).or(own.newest_first_after),
        codel: file
            .codel
            .map(|codel| CoDel { target: duration(codel.target), interval: duration(codel.interval) })
            .or(own.codel),
        forgive_after: file.forgive_after.map_or(own.forgive_after, duration),
        classes: own.classes,
        cost_smoothing_ppm: own.cost_smoothing_ppm,
    }
}

/// The quantum of an order that shares cost at every instant.
pub(super) fn judged_quantum(settings: &Settings) -> Option<u64> {
    match (settings.order, settings.head_of_line) {
        (Order::Deficit { quantum }, HeadOfLine::Strict) => Some(quantum),
        _ => None,
    }
}
