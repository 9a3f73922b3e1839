//! Registries that differ, row by row.

use std::io;

use anstyle::Style;
use forklore_core::adapter::registry::kind_in_title;
use forklore_core::diff::ListDiff;
use forklore_engine::diff::{DiffRegistry, DiffRow};

use super::book::{fields, list_line, title};
use super::text::hunks;
use crate::ui::style::{BOLD, DIM, GONE, NEW, WARN, cut, tame, width};

pub(super) fn registries(
    out: &mut impl io::Write,
    registries: &[DiffRegistry],
    full: bool,
) -> io::Result<()> {
    let rows =
        |registry: &DiffRegistry| registry.added.len() + registry.removed.len() + registry.changed.len();
    let tells = |registry: &&DiffRegistry| {
        full || registry.change != "changed"
            || registry.other
            || rows(registry) > 0
            || registry.fields.iter().any(|field| field.field != "content" && field.quiet.is_none())
    };
    let telling: Vec<&DiffRegistry> = registries.iter().filter(tells).collect();
    if telling.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}Registries{BOLD:#}  {DIM}lists that the memory extension keeps of its entries{DIM:#}"
    )?;
    for registry in telling {
        let (sign, style) = match registry.change {
            "added" => ("+", NEW),
            "removed" => ("-", GONE),
            _ => ("~", WARN),
        };
        let others = registry.fields.iter().filter(|field| field.field != "content");
        let kind = kind_in_title(&registry.comment);
        writeln!(out, "\n{style}{sign}{style:#}{}", title(registry.uid, kind))?;
        for row in &registry.added {
            self::row(out, row, "+", NEW)?;
        }
        for row in &registry.removed {
            self::row(out, row, "-", GONE)?;
        }
        for change in &registry.changed {
            let uid = change.after.uid.map_or_else(String::new, |uid| format!("{uid} "));
            let renamed = if change.before.name == change.after.name {
                String::new()
            } else {
                format!("  {DIM}was \"{}\"{DIM:#}", tame(&change.before.name))
            };
            let moved = match (change.before.uid, change.after.uid) {
                (a, b) if a == b => String::new(),
                (a, b) => {
                    let uid = |uid: Option<i64>| uid.map_or("none".to_owned(), |uid| uid.to_string());
                    format!("  {DIM}number {} → {}{DIM:#}", uid(a), uid(b))
                }
            };
            writeln!(
                out,
                "       {WARN}~{WARN:#} {DIM}{uid}{DIM:#}{}{renamed}{moved}",
                tame(&change.after.name)
            )?;
            if change.aliases != ListDiff::default() {
                writeln!(out, "         {DIM}aliases{DIM:#}  {}", list_line(&change.aliases))?;
            }
            hunks(out, &change.synopsis, "         ", full)?;
        }
        if registry.other {
            let content = registry.fields.iter().find(|field| field.field == "content");
            match content.and_then(|field| field.text.as_ref()) {
                Some(text) if rows(registry) == 0 => hunks(out, text, "       ", full)?,
                _ => writeln!(out, "       {DIM}other lines, or their order, differ, too{DIM:#}")?,
            }
        }
        fields(out, others, full)?;
    }
    Ok(())
}

fn row(out: &mut impl io::Write, row: &DiffRow, sign: &str, style: Style) -> io::Result<()> {
    let uid = row.uid.map_or_else(String::new, |uid| format!("{uid} "));
    let synopsis = cut(&row.synopsis, width().saturating_sub(20 + row.name.chars().count()).max(20));
    writeln!(
        out,
        "       {style}{sign}{style:#} {DIM}{uid}{DIM:#}{}  {DIM}{synopsis}{DIM:#}",
        cut(&row.name, 60)
    )
}
