//! Settings: what they are set to, and what that means.

use std::io::{self, Write as _};

use forklore_api::config::{OwnersReport, SettingsReport};
use forklore_config::{SettingReport, Value};
use unicode_width::UnicodeWidthStr as _;

use super::parts::headline;
use super::style::{BOLD, DIM, GOOD, NOTE, cut, pad, tame, wrap};

/// A longer value is cut in the list; asked for alone, it is whole.
const WIDEST: usize = 40;

/// Prints all settings.
pub(crate) fn settings(report: &SettingsReport) -> io::Result<()> {
    list("Settings of this vault", report.file, &report.settings)?;
    if let Some(OwnersReport { settings, file: Some(file) }) = &report.owners {
        writeln!(anstream::stdout().lock())?;
        list("Yours alone", file, settings)?;
    }
    Ok(())
}

fn list(title: &str, file: &str, all: &[SettingReport]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}  {DIM}{}{DIM:#}\n", headline(title), tame(file))?;
    let values: Vec<String> = all.iter().map(|setting| cut(&setting.value.to_string(), WIDEST)).collect();
    let keys = all.iter().map(|setting| setting.key.width()).max().unwrap_or(0);
    let widest = values.iter().map(|value| value.width()).max().unwrap_or(0);
    let group = |setting: &SettingReport| setting.key.split('.').next();
    let mut last = None;
    for (setting, value) in all.iter().zip(values) {
        if last.is_some_and(|last| group(last) != group(setting)) {
            writeln!(out)?;
        }
        last = Some(setting);
        let (key, value) = (pad(setting.key, keys), pad(&value, widest));
        if setting.is_default {
            writeln!(out, "{NOTE}{key}{NOTE:#}  {value}  {DIM}default{DIM:#}")?;
        } else {
            let default = &setting.default;
            writeln!(
                out,
                "{NOTE}{key}{NOTE:#}  {BOLD}{value}{BOLD:#}  set {DIM}(default: {default}){DIM:#}"
            )?;
        }
        writeln!(out, "{DIM}{}{DIM:#}", wrap(setting.meaning, "    "))?;
    }
    Ok(())
}

/// Prints one setting's value, and nothing else: scripts read this.
pub(crate) fn setting(setting: &SettingReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match &setting.value {
        Value::Flag(flag) => writeln!(out, "{flag}"),
        Value::Number(number) => writeln!(out, "{number}"),
        Value::Text(text) => writeln!(out, "{}", tame(text)),
        Value::Names(names) => names.iter().try_for_each(|name| writeln!(out, "{}", tame(name))),
    }
}

/// Prints what a setting is set to now, or would be.
pub(crate) fn setting_changed(setting: &SettingReport, changed: bool, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let (key, value) = (setting.key, tame(&setting.value.to_string()));
    let default = if setting.is_default { ", the default" } else { "" };
    match (changed, dry_run) {
        (false, _) => writeln!(out, "{key} is {value} already{default}"),
        (true, true) => writeln!(out, "Would set {key} to {value}{default}."),
        (true, false) => writeln!(out, "{GOOD}✓{GOOD:#} {key} is now {value}{default}"),
    }
}
