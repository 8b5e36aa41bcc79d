//! Ours and the peers, side by side; `cargo xtask bench-report` turns the results into ratios.

mod atomic_bucket;
mod drr;
mod estimators;
mod gate;
mod gate_async;
mod inflight;
mod keyed;
mod limiter;
mod line;
mod permits;
mod poll;
mod rate_async;
mod semaphore_async;
mod session;
mod token_bucket;
mod tower;
mod windowed;

fn main() {
    let mut criterion = tollgate_benches::criterion();
    permits::run(&mut criterion);
    atomic_bucket::run(&mut criterion);
    token_bucket::run(&mut criterion);
    session::run(&mut criterion);
    drr::run(&mut criterion);
    gate::run(&mut criterion);
    estimators::run(&mut criterion);
    windowed::run(&mut criterion);
    limiter::run(&mut criterion);
    keyed::run(&mut criterion);
    inflight::run(&mut criterion);
    semaphore_async::run(&mut criterion);
    line::run(&mut criterion);
    rate_async::run(&mut criterion);
    tower::run(&mut criterion);
    gate_async::run(&mut criterion);
    if std::env::var_os(tollgate_benches::COUNT).is_none() {
        criterion.final_summary();
    }
}
