//! Settings of named limiters as text.

use tollgate::Timestamp;
use tollgate::adapt::action::{ActionLimits, ActionSettings, Changes, Dialect};

const NOW: Timestamp = Timestamp::ZERO;

/// The first byte chooses form and dialect.
pub(crate) fn run(data: &[u8]) {
    let Some((&how, text)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let dialect = match how >> 1 & 3 {
        0 => Dialect::opensearch(),
        1 => Dialect::opensearch_documented(),
        _ => Dialect::default(),
    };
    let json = how & 1 == 0;
    let changes = if json { serde_json::from_str(text).ok() } else { toml::from_str(text).ok() };
    if let Some(changes) = changes {
        update(dialect, &changes);
    }
    let settings = if json { serde_json::from_str(text).ok() } else { toml::from_str(text).ok() };
    if let Some(settings) = settings {
        one(dialect, &settings);
    }
}

fn limits(dialect: Dialect) -> ActionLimits {
    ActionLimits::new(dialect, 3, 4).unwrap()
}

/// What is refused changes nothing, and says why; what is accepted can be written and read again.
fn update(dialect: Dialect, Changes(changes): &Changes) {
    let mut limits = limits(dialect);
    let known = ActionSettings { action_name: "known".into(), ..ActionSettings::default() };
    limits.set(NOW, "a", known).unwrap();
    let before = limits.flat();
    if let Err(error) = limits.update(NOW, changes) {
        assert!(!error.violations().is_empty(), "an error without a reason");
        assert!(!error.to_string().is_empty());
        assert_eq!(limits.flat(), before, "{error} changed something");
    }
    limits.check_invariants();
    let flat = limits.flat();
    let written = serde_json::to_string(&Changes(flat.clone())).unwrap();
    let read: Changes = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error} in {written}"));
    let mut again = self::limits(dialect);
    again.update(NOW, &read.0).unwrap_or_else(|error| panic!("{error} in {written}"));
    assert_eq!(again.flat(), flat);
    limits.update(NOW, &read.0).unwrap_or_else(|error| panic!("{error} in {written}"));
    assert_eq!(limits.flat(), flat, "the same again is no change");
}

/// What one limiter reads is valid, survives being written, and makes a limiter.
fn one(dialect: Dialect, settings: &ActionSettings) {
    assert_eq!(settings.validate(), Ok(()));
    let written = serde_json::to_string(settings).unwrap();
    let read: ActionSettings =
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error} in {written}"));
    assert_eq!(&read, settings, "{written}");
    let mut limits = limits(dialect);
    // What names no action limits nothing.
    if limits.set(NOW, "one", settings.clone()).is_ok() && !settings.action_name.is_empty() {
        assert_eq!(limits.settings("one"), Some(settings));
    }
    limits.check_invariants();
}
