//! Settings from, and to, any format of serde's: flat names, nested tables, or both mixed.
//!
//! ```json
//! { "concurrency_limit.action.search.mode": "enforced",
//!   "concurrency_limit": { "action": { "search": { "limit": { "initial": 30 }, "partitions": ["live"] } } } }
//! ```
//!
//! What is nested is joined with dots, so a table may begin or end anywhere. Where a name is both a value and the
//! beginning of others, as `partition.resolver` is, the others are written out:
//! `"partition": { "resolver": "fixed", "resolver.fixed.partition": "live" }`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::error::SettingsError;
use super::settings::ActionSettings;
use super::value::Value;

/// Settings by their whole names, as they were written: for [`ActionLimits::update`](super::ActionLimits::update).
///
/// ```
/// use tollgate::adapt::action::{Changes, Value};
///
/// let json = r#"{ "concurrency_limit": { "action": { "search": { "mode": "enforced", "limit.max": null } } } }"#;
/// let Changes(changes) = serde_json::from_str(json)?;
/// let mode = ("concurrency_limit.action.search.mode".to_string(), Value::from("enforced"));
/// let max = ("concurrency_limit.action.search.limit.max".to_string(), Value::Default);
/// assert_eq!(changes, [mode, max]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes(pub Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut changes = Vec::new();
        deserializer.deserialize_map(Node { path: String::new(), changes: &mut changes })?;
        Ok(Self(changes))
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (setting, value) in &self.0 {
            map.serialize_entry(setting, value)?;
        }
        map.end()
    }
}

/// The settings of one limiter, by their names below its own. What is wrong is told all at once.
impl<'de> serde::Deserialize<'de> for ActionSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Changes(changes) = Changes::deserialize(deserializer)?;
        let mut settings = Self::default();
        let mut violations: Vec<_> =
            changes.iter().filter_map(|(setting, value)| settings.set(setting, value).err()).collect();
        violations.extend(settings.violations(""));
        SettingsError::unless_none(violations).map_err(D::Error::custom)?;
        Ok(settings)
    }
}

/// All that are not at their default, by their flat names.
impl Serialize for ActionSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Changes(self.flat()).serialize(serializer)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            // All that settings hold fit in 64 bits.
            Self::Integer(value) => match i64::try_from(*value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.serialize_str(&value.to_string()),
            },
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
        }
    }
}

/// A value, or a table of more, at this path.
struct Node<'a> {
    path: String,
    changes: &'a mut Vec<(String, Value)>,
}

impl Node<'_> {
    fn is(self, value: Value) {
        self.changes.push((self.path, value));
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("a table of settings"),
            path => write!(f, "a number, a text, a list of texts, null or a table at {path}"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key } else { alloc::format!("{}.{key}", self.path) };
            map.next_value_seed(Node { path, changes: &mut *self.changes })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            texts.push(text);
        }
        self.is(Value::List(texts));
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.is(Value::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.is(Value::Integer(value.into()));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.is(Value::Integer(value.into()));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.is(Value::Real(value));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.is(Value::from(value));
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.is(Value::Default);
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.is(Value::Default);
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}
