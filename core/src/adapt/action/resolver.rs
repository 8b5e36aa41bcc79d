//! To which partition a request belongs.

use alloc::string::String;
use alloc::vec::Vec;

use super::settings::{ActionSettings, ResolverName};
use crate::adapt::partition::{PartitionId, Share};

/// The header whose value names the partition of a request, exactly and with its case, where the resolver is `byHeader`.
pub const TIER_HEADER: &str = "X-Request-Tier";

/// What a resolver looks at. A request of which nothing is known belongs to no partition, unless one is for all.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Request<'a> {
    /// Value of the header [`TIER_HEADER`].
    pub tier: Option<&'a str>,
    /// Whether it is a search, and which.
    pub search: Option<Search>,
}

/// What a search asks for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Search {
    /// Aggregations.
    Aggregation,
    /// Anything else.
    Filter,
}

/// The partitions of one limiter, by name and by number, and how a request finds its own.
///
/// A number is never given to another name, so that a ticket stays with its partition; one that was removed and comes
/// back has a new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    named: Vec<(String, PartitionId)>,
    numbers: u32,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, Default)]
enum Rule {
    #[default]
    None,
    ByHeader,
    Fixed(Option<PartitionId>),
    BySearchType {
        aggregation: Option<PartitionId>,
        filter: Option<PartitionId>,
    },
}

impl Directory {
    /// Takes over the partitions of settings; those that stay keep their numbers. Their shares, in order.
    pub(super) fn take_over(&mut self, settings: &ActionSettings) -> Vec<Share> {
        let named = settings.partitions.iter().map(|name| {
            let number = self.find(name).unwrap_or_else(|| {
                self.numbers = self.numbers.wrapping_add(1);
                PartitionId(self.numbers)
            });
            (name.clone(), number)
        });
        self.named = named.collect();
        let resolver = &settings.resolver;
        self.rule = match resolver.name {
            None => Rule::None,
            Some(ResolverName::ByHeader) => Rule::ByHeader,
            Some(ResolverName::Fixed) => Rule::Fixed(self.find(&resolver.fixed)),
            Some(ResolverName::BySearchType) => Rule::BySearchType {
                aggregation: self.find(&resolver.aggregation),
                filter: self.find(&resolver.filter),
            },
        };
        let share = |(name, partition): &(String, PartitionId)| {
            let set = settings.partition.get(name).copied().unwrap_or_default();
            Share { partition: *partition, share_ppm: set.share_ppm(), pause: set.delay }
        };
        self.named.iter().map(share).collect()
    }

    /// The number of a name.
    pub(super) fn find(&self, name: &str) -> Option<PartitionId> {
        self.named.iter().find(|(known, _)| known == name).map(|&(_, partition)| partition)
    }

    /// The partition of a request; `None` for the unknown. O(partitions).
    pub(super) fn resolve(&self, request: &Request<'_>) -> Option<PartitionId> {
        match self.rule {
            Rule::None => None,
            Rule::ByHeader => self.find(request.tier?),
            Rule::Fixed(partition) => partition,
            Rule::BySearchType { aggregation, filter } => match request.search? {
                Search::Aggregation => aggregation,
                Search::Filter => filter,
            },
        }
    }

    /// Names and numbers, in the order in which they are set.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, PartitionId)> {
        self.named.iter().map(|(name, partition)| (name.as_str(), *partition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(resolver: ResolverName, partitions: &[&str]) -> Directory {
        let partitions = partitions.iter().copied().map(String::from).collect();
        let mut settings = ActionSettings { partitions, ..ActionSettings::default() };
        settings.resolver.name = Some(resolver);
        let mut directory = Directory::default();
        directory.take_over(&settings);
        directory
    }

    fn tier(tier: &str) -> Request<'_> {
        Request { tier: Some(tier), ..Request::default() }
    }

    #[test]
    fn a_header_names_its_partition_exactly_and_with_its_case() {
        let directory = directory(ResolverName::ByHeader, &["premium", "standard"]);
        assert_eq!(directory.resolve(&tier("standard")), directory.find("standard"));
        assert!(directory.find("standard").is_some());
        for unknown in [tier("Premium"), tier(" premium"), tier(""), Request::default()] {
            assert_eq!(directory.resolve(&unknown), None);
        }
    }

    #[test]
    fn a_fixed_partition_is_for_all() {
        let directory = directory(ResolverName::Fixed, &["default"]);
        assert_eq!(directory.resolve(&Request::default()), directory.find("default"));
        assert_eq!(directory.resolve(&tier("other")), directory.find("default"));
    }

    #[test]
    fn searches_are_told_apart_and_what_is_none_is_unknown() {
        let directory = directory(ResolverName::BySearchType, &["aggregation", "filter"]);
        let search = |search| directory.resolve(&Request { search, tier: None });
        assert_eq!(search(Some(Search::Aggregation)), directory.find("aggregation"));
        assert_eq!(search(Some(Search::Filter)), directory.find("filter"));
        assert_eq!(search(None), None);
    }

    #[test]
    fn a_name_keeps_its_number_and_one_that_comes_back_has_a_new_one() {
        let mut settings = ActionSettings::default();
        let mut directory = Directory::default();
        let mut numbers = |names: &[&str]| {
            settings.partitions = names.iter().copied().map(String::from).collect();
            directory.take_over(&settings);
            directory.iter().map(|(_, partition)| partition.0).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["a", "b"]), [1, 2]);
        assert_eq!(numbers(&["b", "c"]), [2, 3]);
        assert_eq!(numbers(&["a", "b"]), [4, 2]);
    }
}
