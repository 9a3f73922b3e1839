//! [`Setting`]: one line of the table of settings. [`Value`]: what a setting is set to.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, Undated};

/// What a name template can hold, in braces.
pub const PLACEHOLDERS: [&str; 2] = ["scene_number", "scene_name"];

/// The longest time that can be set: a hundred years, so that nothing has to fear an overflow.
pub const MOST_DAYS: u32 = 36_500;

/// The longest text of a setting that is one, in characters.
const LONGEST: usize = 500;

/// One setting: its name, its meaning and where it is in a [`Config`].
#[derive(Debug)]
pub struct Setting {
    /// Group and name
    pub key: &'static str,
    /// What it means, in a line
    pub meaning: &'static str,
    /// Whether it names a place outside of the vault: then it is its owner's, and nobody else sets it
    pub owners: bool,
    /// The one link between a name and a field: type, value and default all come from the field.
    field: fn(&mut Config) -> Field<'_>,
}

/// A field of a [`Config`], by what it can hold.
enum Field<'a> {
    Flag(&'a mut bool),
    Days(&'a mut u32),
    Template(&'a mut String),
    Undated(&'a mut Undated),
    Folder(&'a mut String),
    Names(&'a mut Vec<String>),
    Number(&'a mut u32),
    Text(&'a mut String),
    Price(&'a mut String),
    Address(&'a mut String),
}

/// What a setting is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// On or off
    Flag(bool),
    /// A number
    Number(u32),
    /// A text, or one of a few words
    Text(String),
    /// A list of names
    Names(Vec<String>),
}

/// A setting as it is, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingReport {
    /// Group and name
    pub key: &'static str,
    /// What it is set to
    pub value: Value,
    /// What it is when nobody sets it
    pub default: Value,
    /// Whether the two are the same
    pub is_default: bool,
    /// What it means, in a line
    pub meaning: &'static str,
}

impl Config {
    /// All settings there are.
    pub const KEYS: [Setting; 21] = [
        Setting {
            key: "checkpoint.auto_name",
            meaning: "Make a name for a checkpoint when none is given; false: a name must be given",
            owners: false,
            field: |c| Field::Flag(&mut c.checkpoint.auto_name),
        },
        Setting {
            key: "checkpoint.name_template",
            meaning: "Pattern of made names, such as \"Scene {scene_number} - {scene_name}\"; empty: SillyTavern's own",
            owners: false,
            field: |c| Field::Template(&mut c.checkpoint.name_template),
        },
        Setting {
            key: "checkpoint.require_scene_break",
            meaning: "Make checkpoints and branches only where a scene ends",
            owners: false,
            field: |c| Field::Flag(&mut c.checkpoint.require_scene_break),
        },
        Setting {
            key: "checkpoint.show_warnings",
            meaning: "Say what is missing or inexact when a checkpoint is made",
            owners: false,
            field: |c| Field::Flag(&mut c.checkpoint.show_warnings),
        },
        Setting {
            key: "checkpoint.at_scene_break",
            meaning: "Make a checkpoint whenever a scene ends, without being asked (for the SillyTavern extension)",
            owners: false,
            field: |c| Field::Flag(&mut c.checkpoint.at_scene_break),
        },
        Setting {
            key: "fork.strict",
            meaning: "Refuse to fork where something is missing or inexact; false: fork and warn",
            owners: false,
            field: |c| Field::Flag(&mut c.fork.strict),
        },
        Setting {
            key: "fork.undated",
            meaning: "Lorebook entries that nothing dates: carry them into the fork, or leave them out",
            owners: false,
            field: |c| Field::Undated(&mut c.fork.undated),
        },
        Setting {
            key: "fork.link_parent",
            meaning: "Put a link to the fork into the message it was forked from",
            owners: false,
            field: |c| Field::Flag(&mut c.fork.link_parent),
        },
        Setting {
            key: "books.shared",
            meaning: "Lorebooks that forks go on sharing instead of getting their own",
            owners: false,
            field: |c| Field::Names(&mut c.books.shared),
        },
        Setting {
            key: "trash.days",
            meaning: "Age in days at which `gc` removes what is in the trash; 0: never",
            owners: false,
            field: |c| Field::Days(&mut c.trash.days),
        },
        Setting {
            key: "history.dir",
            meaning: "Folder that history is kept in, as a full path; empty: .forklore/history in the vault",
            owners: true,
            field: |c| Field::Folder(&mut c.history.dir),
        },
        Setting {
            key: "history.operations",
            meaning: "Record in history what every operation of Forklore touched, also without `forklore watch`",
            owners: false,
            field: |c| Field::Flag(&mut c.history.operations),
        },
        Setting {
            key: "history.media",
            meaning: "Keep the images and files that messages link to in history, so that they come back with a chat",
            owners: false,
            field: |c| Field::Flag(&mut c.history.media),
        },
        Setting {
            key: "memory.url",
            meaning: "Address of the server that `memory run` asks, one that talks as OpenAI's does",
            owners: true,
            field: |c| Field::Address(&mut c.memory.url),
        },
        Setting {
            key: "memory.model",
            meaning: "The model that `memory run` asks, where the server has several",
            owners: true,
            field: |c| Field::Text(&mut c.memory.model),
        },
        Setting {
            key: "memory.price_in",
            meaning: "What a million tokens cost that your model reads, in your currency",
            owners: false,
            field: |c| Field::Price(&mut c.memory.price_in),
        },
        Setting {
            key: "memory.price_out",
            meaning: "What a million tokens cost that your model writes",
            owners: false,
            field: |c| Field::Price(&mut c.memory.price_out),
        },
        Setting {
            key: "memory.daily_tokens",
            meaning: "Tokens that memory may use on a day, read and written together; 0: any number",
            owners: false,
            field: |c| Field::Number(&mut c.memory.daily_tokens),
        },
        Setting {
            key: "memory.approve",
            meaning: "Memory writes an entry into the lorebook only after you have approved it",
            owners: false,
            field: |c| Field::Flag(&mut c.memory.approve),
        },
        Setting {
            key: "memory.combined",
            meaning: "Memory keeps one text of the recap and of what was said since: a question more a scene",
            owners: false,
            field: |c| Field::Flag(&mut c.memory.combined),
        },
        Setting {
            key: "memory.language",
            meaning: "Language that memory is written in, such as \"Japanese\"; empty: the story's own",
            owners: false,
            field: |c| Field::Text(&mut c.memory.language),
        },
    ];
}

impl Setting {
    /// What it is set to.
    pub fn value(&self, config: &Config) -> Value {
        // Asking through the same door as setting costs a copy and saves a second table.
        match (self.field)(&mut config.clone()) {
            Field::Flag(flag) => Value::Flag(*flag),
            Field::Days(number) | Field::Number(number) => Value::Number(*number),
            Field::Template(text)
            | Field::Folder(text)
            | Field::Text(text)
            | Field::Price(text)
            | Field::Address(text) => Value::Text(text.clone()),
            Field::Undated(word) => Value::Text(word.word().to_owned()),
            Field::Names(names) => Value::Names(names.clone()),
        }
    }

    /// What it is when nobody sets it.
    pub fn default(&self) -> Value {
        self.value(&Config::default())
    }

    /// Its state, to show.
    pub fn report(&self, config: &Config) -> SettingReport {
        let (value, default) = (self.value(config), self.default());
        let is_default = value == default;
        SettingReport { key: self.key, value, default, is_default, meaning: self.meaning }
    }

    /// What it can be, as a phrase.
    pub fn allowed(&self) -> String {
        match (self.field)(&mut Config::default()) {
            Field::Flag(_) => "true or false".to_owned(),
            Field::Days(_) => format!("a whole number from 0 to {MOST_DAYS}"),
            Field::Template(_) => {
                let known = PLACEHOLDERS.map(|name| format!("{{{name}}}"));
                format!("a text, with {} in it; no other braces", known.join(" or "))
            }
            Field::Undated(_) => Undated::ALL.map(|word| format!("\"{}\"", word.word())).join(" or "),
            Field::Folder(_) => "a full path, or nothing".to_owned(),
            Field::Names(_) => "a list of names, none of them blank".to_owned(),
            Field::Number(_) => format!("a whole number from 0 to {}", u32::MAX),
            Field::Text(_) => format!("a text of one line, up to {LONGEST} characters"),
            Field::Price(_) => "a number such as 0.15, as a text".to_owned(),
            Field::Address(_) => "an address that begins with http:// or https://, or nothing".to_owned(),
        }
    }

    /// Sets it, if it can be that.
    pub(super) fn put(&self, config: &mut Config, value: Value) -> bool {
        match ((self.field)(config), value) {
            (Field::Flag(flag), Value::Flag(value)) => *flag = value,
            (Field::Days(days), Value::Number(value)) if value <= MOST_DAYS => *days = value,
            (Field::Number(number), Value::Number(value)) => *number = value,
            (Field::Text(text), Value::Text(value)) if is_line(&value) => *text = value,
            (Field::Price(price), Value::Text(value)) if is_price(&value) => *price = value,
            (Field::Address(address), Value::Text(value)) if is_address(&value) => *address = value,
            (Field::Template(template), Value::Text(value)) if is_template(&value) => *template = value,
            (Field::Folder(folder), Value::Text(value))
                if value.is_empty() || std::path::Path::new(&value).is_absolute() =>
            {
                *folder = value;
            }
            (Field::Undated(undated), Value::Text(value)) => {
                let Some(word) = Undated::ALL.into_iter().find(|word| word.word() == value) else {
                    return false;
                };
                *undated = word;
            }
            (Field::Names(names), Value::Names(value)) if !value.iter().any(|name| is_blank(name)) => {
                *names = value;
            }
            _ => return false,
        }
        true
    }

    /// What somebody typed for it.
    pub(super) fn typed(&self, typed: &str) -> Result<Value, ConfigError> {
        let value = match self.default() {
            Value::Flag(_) => typed.trim().parse().ok().map(Value::Flag),
            Value::Number(_) => typed.trim().parse().ok().map(Value::Number),
            Value::Text(_) => Some(Value::Text(typed.to_owned())),
            Value::Names(_) => {
                let mut names = Vec::new();
                let parts = typed.split(',').map(str::trim);
                parts.filter(|name| !name.is_empty()).for_each(|name| push_new(&mut names, name));
                Some(Value::Names(names))
            }
        };
        let good = value.filter(|value| self.put(&mut Config::default(), value.clone()));
        good.ok_or_else(|| self.bad(typed))
    }

    /// A value that another program gives it.
    pub(super) fn given(&self, value: &Value) -> Result<Value, ConfigError> {
        let good = self.put(&mut Config::default(), value.clone());
        if good { Ok(value.clone()) } else { Err(self.bad(&value.to_string())) }
    }

    /// The list that it is, longer and shorter.
    pub(super) fn relisted(
        &self,
        now: Value,
        add: &[String],
        remove: &[String],
    ) -> Result<Value, ConfigError> {
        let Value::Names(mut names) = now else {
            return Err(ConfigError::NotAList { key: self.key, allowed: self.allowed() });
        };
        for name in remove {
            if !names.contains(name) {
                return Err(ConfigError::NotListed { key: self.key, name: name.clone(), names });
            }
            names.retain(|other| other != name);
        }
        for name in add {
            if is_blank(name) {
                return Err(self.bad(name));
            }
            push_new(&mut names, name);
        }
        Ok(Value::Names(names))
    }

    fn bad(&self, value: &str) -> ConfigError {
        ConfigError::BadValue { key: self.key, value: value.to_owned(), allowed: self.allowed() }
    }
}

impl Undated {
    const ALL: [Self; 2] = [Self::Carry, Self::Leave];

    fn word(self) -> &'static str {
        match self {
            Self::Carry => "carry",
            Self::Leave => "leave",
        }
    }
}

impl Value {
    /// What stands in the file, if a setting could be that at all.
    pub(super) fn from_toml(value: &toml_edit::Value) -> Option<Self> {
        match value {
            toml_edit::Value::Boolean(flag) => Some(Self::Flag(*flag.value())),
            toml_edit::Value::Integer(number) => u32::try_from(*number.value()).ok().map(Self::Number),
            toml_edit::Value::String(text) => Some(Self::Text(text.value().clone())),
            toml_edit::Value::Array(list) => {
                let names = list.iter().map(|name| name.as_str().map(str::to_owned));
                names.collect::<Option<_>>().map(Self::Names)
            }
            _ => None,
        }
    }

    pub(super) fn to_toml(&self) -> toml_edit::Value {
        match self {
            Self::Flag(flag) => (*flag).into(),
            Self::Number(number) => i64::from(*number).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Names(names) => toml_edit::Value::Array(names.iter().map(String::as_str).collect()),
        }
    }
}

/// As it would stand in the file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_toml().fmt(f)
    }
}

/// The setting that was probably meant.
pub(super) fn closest(wanted: &str) -> Option<&'static str> {
    let wanted = wanted.to_lowercase().replace('-', "_");
    let keys = || Config::KEYS.into_iter().map(|setting| setting.key);
    // A name without its group, or a group without a name.
    let part = keys().find(|key| {
        key.strip_suffix(&wanted).is_some_and(|group| group.ends_with('.'))
            || key.strip_prefix(&wanted).is_some_and(|name| name.starts_with('.'))
    });
    let near = || {
        let (distance, key) = keys().map(|key| (strsim::damerau_levenshtein(&wanted, key), key)).min()?;
        (distance <= wanted.chars().count() / 3).then_some(key)
    };
    part.or_else(near)
}

fn is_blank(name: &str) -> bool {
    name.trim().is_empty()
}

fn push_new(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|other| other == name) {
        names.push(name.to_owned());
    }
}

fn is_line(text: &str) -> bool {
    text.chars().count() <= LONGEST && !text.chars().any(char::is_control)
}

fn is_price(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits && text.parse::<f64>().is_ok_and(|price| price.is_finite() && price <= 1e9)
}

fn is_address(text: &str) -> bool {
    let web = ["http://", "https://"].iter().any(|start| text.len() > start.len() && text.starts_with(start));
    text.is_empty() || (web && is_line(text) && !text.contains(' '))
}

/// Whether every brace belongs to something that can be filled in.
fn is_template(text: &str) -> bool {
    let mut rest = text.to_owned();
    for name in PLACEHOLDERS {
        rest = rest.replace(&format!("{{{name}}}"), "");
    }
    !rest.contains(['{', '}'])
}
