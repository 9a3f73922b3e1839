//! Why a setting is none.

use forklore_config::ConfigError;
use serde_json::json;

use super::{ErrorCode, Failure, capital, quoted};

impl From<ConfigError> for Failure {
    fn from(e: ConfigError) -> Self {
        match e {
            ConfigError::Path(e) => e.into(),
            e => config_failure(&e).because(e),
        }
    }
}

pub(super) fn config_failure(e: &ConfigError) -> Failure {
    let message = capital(&e.to_string());
    let refused = |code, hint: String| Failure::new(code, message.clone(), hint);
    let typed = |code, hint: &str| Failure::typed(code, message.clone(), hint);
    let mend = "Mend the line in a text editor, or move the file away: then every setting is at its default.";
    match e {
        ConfigError::Path(_) => {
            Failure::new(ErrorCode::Io, message.clone(), "Look at the file's permissions and at the disk.")
        }
        ConfigError::Syntax { line, .. } => {
            refused(ErrorCode::ConfigInvalid, mend.to_owned()).with_details(json!({"line": line}))
        }
        ConfigError::UnknownInFile { line, key, like } => {
            let hint =
                like.map_or_else(|| mend.to_owned(), |like| format!("Did you mean \"{like}\"? {mend}"));
            refused(ErrorCode::ConfigInvalid, hint)
                .with_details(json!({"line": line, "key": key, "like": like}))
        }
        ConfigError::OwnersInFile { line, key, value } => {
            let value = value.as_deref().unwrap_or_default();
            typed(
                ErrorCode::ConfigInvalid,
                &format!(
                    "If you set it yourself: forklore config {key} \"{value}\". If the vault comes from somebody else: forklore config {key} --unset"
                ),
            )
            .with_details(json!({"line": line, "key": key}))
        }
        ConfigError::OwnersOnly { key } => typed(
            ErrorCode::NotAllowed,
            &format!("Set it on the command line of the machine: forklore config {key} PATH"),
        )
        .with_details(json!({"key": key})),
        ConfigError::Owners { .. } => {
            let hint = "Mend the file in a text editor, or move it away.";
            refused(ErrorCode::ConfigInvalid, hint.to_owned())
        }
        ConfigError::NoHome => refused(
            ErrorCode::ConfigInvalid,
            "Set HOME, or XDG_CONFIG_HOME, to a folder of yours.".to_owned(),
        ),
        ConfigError::BadInFile { line, key, .. } => typed(
            ErrorCode::ConfigInvalid,
            &format!("Put it right: forklore config {key} VALUE, or forklore config {key} --unset"),
        )
        .with_details(json!({"line": line, "key": key})),
        ConfigError::UnknownKey { key, like } => {
            let code = ErrorCode::ConfigUnknownKey;
            let failure = match like {
                Some(like) => refused(code, format!("Did you mean \"{like}\"?")),
                None => typed(code, "Run `forklore config` to see all settings."),
            };
            failure.with_details(json!({"key": key, "like": like}))
        }
        ConfigError::BadValue { key, allowed, .. } | ConfigError::NotAList { key, allowed } => {
            refused(ErrorCode::ConfigBadValue, format!("It can be {allowed}."))
                .with_details(json!({"key": key, "allowed": allowed}))
        }
        ConfigError::NotListed { key, names, .. } => {
            let hint = match &names[..] {
                [] => "The list is empty.".to_owned(),
                _ => format!("There is {}.", quoted(names)),
            };
            refused(ErrorCode::ConfigBadValue, hint).with_details(json!({"key": key, "names": names}))
        }
    }
}
