//! [`bill`]: what a program is made of, as `CycloneDX` JSON. No time and no number of its own is in it: the same commit gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::build::sources;
use super::platform::Platform;

/// The bill of materials of the program for a platform.
pub(crate) fn bill(platform: Platform) -> Result<Vec<u8>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", platform.triple])
        .current_dir(sources())
        .output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let lock = std::fs::read_to_string(sources().join("Cargo.lock"))?;
    let bill = describe(&metadata, &checksums(&lock)).context("cargo's metadata is not as expected")?;
    let mut bytes = serde_json::to_vec_pretty(&bill)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn describe(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Option<Value> {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()?
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let (root, program) = packages.iter().find(|(_, package)| package["name"] == "forklore")?;
    let mut wanted = vec![*root];
    let mut seen = BTreeSet::new();
    let mut edges = Vec::new();
    while let Some(id) = wanted.pop() {
        if !seen.insert(id) {
            continue;
        }
        let linked = nodes.get(id)?["deps"].as_array()?.iter().filter(|dep| is_linked(dep));
        let mut below: Vec<&str> = linked.filter_map(|dep| dep["pkg"].as_str()).collect();
        below.sort_unstable();
        wanted.extend(&below);
        let names: Vec<String> = below.iter().filter_map(|id| Some(purl(packages.get(id)?))).collect();
        edges.push((purl(packages.get(id)?), names));
    }
    edges.sort();
    let mut components: Vec<Value> = seen
        .iter()
        .filter(|id| *id != root)
        .filter_map(|id| packages.get(id))
        .map(|package| component(package, checksums))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let edges: Vec<Value> = edges.into_iter().map(|(of, on)| json!({ "ref": of, "dependsOn": on })).collect();
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": purl(program),
            "name": "forklore",
            "version": program["version"],
            "licenses": [{ "expression": program["license"] }],
        } },
        "components": components,
        "dependencies": edges,
    }))
}

/// Tests and what only builds are not in the program.
fn is_linked(dep: &Value) -> bool {
    dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
        "licenses": [{ "expression": text("license").replace('/', " OR ") }],
    });
    if let Some(hash) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]);
    }
    component
}

/// Names and versions in `Cargo.lock`, and the checksums of what came from the registry.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    lock.split("[[package]]")
        .filter_map(|block| {
            let value = |key: &str| {
                let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
                Some(line.trim_matches('"').to_owned())
            };
            Some(((value("name")?, value("version")?), value("checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::platform::ALL;

    #[test]
    fn the_bill_lists_what_is_linked_and_nothing_that_only_tests_need() {
        let bill = bill(ALL[1]).unwrap();
        assert_eq!(bill, super::bill(ALL[1]).unwrap());
        let bill: Value = serde_json::from_slice(&bill).unwrap();
        let components = bill["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|component| component["name"] == name);
        assert!(named("insta").is_none());
        assert_eq!(named("blake3").unwrap()["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert!(components.iter().all(|component| component["licenses"][0]["expression"] != ""));
    }
}
