//! Judges a transcript of service by the definition of fairness, interval by interval.

/// What one tenant asked for and got.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its weight.
    pub weight: u64,
    /// The largest cost of any of its jobs.
    pub largest: u64,
}

/// One served job, and who had work waiting from just before it was picked until just after.
#[derive(Clone, Debug)]
pub struct Service {
    /// Who was served.
    pub tenant: usize,
    /// At what cost.
    pub cost: u64,
    /// Who had work, before the service and after it.
    pub backlogged: Vec<bool>,
}

/// The first pair of tenants and interval of services that breaks the bound of deficit round robin,
/// |Sᵢ/wᵢ − Sⱼ/wⱼ| ≤ quantum + Lᵢ/wᵢ + Lⱼ/wⱼ, with both backlogged throughout. Every interval is tried: O(pairs·n²).
#[must_use]
pub fn unfair_interval(shares: &[Share], quantum: u64, services: &[Service]) -> Option<String> {
    for (i, a) in shares.iter().enumerate() {
        for (j, b) in shares.iter().enumerate().skip(i + 1) {
            // Multiplied by wᵢ·wⱼ, so that everything stays whole.
            let (wa, wb) = (i128::from(a.weight), i128::from(b.weight));
            let bound =
                i128::from(quantum) * wa * wb + i128::from(a.largest) * wb + i128::from(b.largest) * wa;
            for from in 0..services.len() {
                let (mut sa, mut sb) = (0_i128, 0_i128);
                for (to, service) in services.iter().enumerate().skip(from) {
                    if !service.backlogged[i] || !service.backlogged[j] {
                        break;
                    }
                    sa += if service.tenant == i { i128::from(service.cost) } else { 0 };
                    sb += if service.tenant == j { i128::from(service.cost) } else { 0 };
                    let difference = (sa * wb - sb * wa).abs();
                    if difference > bound {
                        return Some(format!(
                            "tenants {i} and {j}, services {from}..={to}: {sa}/{wa} against {sb}/{wb}, \
                             {difference} > {bound} over {wa}·{wb}"
                        ));
                    }
                }
            }
        }
    }
    None
}
