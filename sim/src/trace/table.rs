//! CSV with a header that names its columns: a cost, or token counts, by tenant or group.

use super::line::{Fault, Line};
use super::{Form, Options, Record, azure};

/// Which of the headers was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Columns {
    /// `arrival_s,tenant,cost`
    Cost,
    /// `arrival_s,tenant,cost,bytes`
    CostAndBytes,
    /// `arrival_s,tenant,input_tokens,output_tokens`
    TenantTokens,
    /// `arrival_ms,group,input_tokens,output_tokens`
    GroupTokens,
}

impl Columns {
    pub(super) fn from_header(line: &Line<'_>) -> Result<Self, Fault> {
        match line.text() {
            "arrival_s,tenant,cost" => Ok(Self::Cost),
            "arrival_s,tenant,cost,bytes" => Ok(Self::CostAndBytes),
            "arrival_s,tenant,input_tokens,output_tokens" => Ok(Self::TenantTokens),
            "arrival_ms,group,input_tokens,output_tokens" => Ok(Self::GroupTokens),
            _ => Err(line.fault(&format!(
                "one of the headers {}; arrival_s,tenant,cost[,bytes]; \
                 arrival_s,tenant,input_tokens,output_tokens; \
                 arrival_ms,group,input_tokens,output_tokens; or a line of JSON",
                azure::HEADER
            ))),
        }
    }

    pub(super) const fn form(self) -> Form {
        match self {
            Self::Cost | Self::CostAndBytes => Form::Generic,
            Self::TenantTokens | Self::GroupTokens => Form::Tokens,
        }
    }

    pub(super) fn record(
        self,
        line: &Line<'_>,
        options: Options,
        mut dense: impl FnMut(&str) -> u32,
    ) -> Result<Record, Fault> {
        let (at_ns, tenant, cost, bytes) = match self {
            Self::Cost => {
                let [at, tenant, cost] = line.fields(["arrival_s", "tenant", "cost"])?;
                (at.seconds()?, tenant.label()?, cost.whole()?, 0)
            }
            Self::CostAndBytes => {
                let [at, tenant, cost, bytes] = line.fields(["arrival_s", "tenant", "cost", "bytes"])?;
                (at.seconds()?, tenant.label()?, cost.whole()?, bytes.whole()?)
            }
            Self::TenantTokens => {
                let names = ["arrival_s", "tenant", "input_tokens", "output_tokens"];
                let [at, tenant, input, output] = line.fields(names)?;
                (at.seconds()?, tenant.label()?, options.cost(input.whole()?, output.whole()?), 0)
            }
            Self::GroupTokens => {
                let names = ["arrival_ms", "group", "input_tokens", "output_tokens"];
                let [at, group, input, output] = line.fields(names)?;
                (at.milliseconds()?, group.label()?, options.cost(input.whole()?, output.whole()?), 0)
            }
        };
        Ok(Record { at_ns, cost, bytes, tenant: dense(tenant) })
    }
}
