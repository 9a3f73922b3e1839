//! npm's packages: [`launcher`] is what people name, [`engine`] the program for one platform, which npm chooses by itself.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::archive::pack;
use super::build::sources;
use super::platform::{ALL, Platform};

const LICENSE: &str = "MIT OR Apache-2.0";

/// The package of a program for a system as npm names it; returns its file name.
pub(crate) fn engine(
    program: &Path,
    platform: Platform,
    (os, cpu): (&str, &str),
    version: &str,
    scratch: &Path,
    out: &Path,
) -> Result<String> {
    let manifest = json!({
        "name": format!("@forklore/{os}-{cpu}"),
        "version": version,
        "description": format!("Forklore's program for {os} on {cpu}{}; install `forklore` instead", platform.caution()),
        "license": LICENSE,
        "os": [os],
        "cpu": [cpu],
        // Without it npm may leave the file as it is in the archive; with it, package managers that unpack lazily do not.
        "preferUnplugged": true,
    });
    let name = program.file_name().context("the program has no name")?;
    let package = scratch.join(format!("{os}-{cpu}/package"));
    std::fs::create_dir_all(&package)?;
    std::fs::copy(program, package.join(name))?;
    finish(&package, &manifest, out, &format!("forklore-{os}-{cpu}-{version}.tgz"))
}

/// The package that people name; returns its file name.
pub(crate) fn launcher(version: &str, scratch: &Path, out: &Path) -> Result<String> {
    let from = sources().join("npm/forklore");
    let text = std::fs::read(from.join("package.json")).context("npm/forklore/package.json")?;
    let mut manifest: Value = serde_json::from_slice(&text)?;
    manifest["version"] = json!(version);
    let engines = ALL.iter().flat_map(|platform| platform.npm);
    let engines = engines.map(|(os, cpu)| (format!("@forklore/{os}-{cpu}"), json!(version)));
    manifest["optionalDependencies"] = Value::Object(engines.collect());
    let package = scratch.join("launcher/package");
    for folder in ["bin", "lib"] {
        std::fs::create_dir_all(package.join(folder))?;
        for file in std::fs::read_dir(from.join(folder))? {
            let file = file?;
            std::fs::copy(file.path(), package.join(folder).join(file.file_name()))?;
        }
    }
    std::fs::copy(from.join("README.md"), package.join("README.md"))?;
    finish(&package, &manifest, out, &format!("forklore-{version}.tgz"))
}

fn finish(package: &Path, manifest: &Value, out: &Path, name: &str) -> Result<String> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    std::fs::write(package.join("package.json"), text)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        std::fs::copy(sources().join(licence), package.join(licence))?;
    }
    pack(package.parent().context("a package is in a folder")?, "package", &out.join(name))?;
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn whoever_installs_it_gets_the_program_for_their_system() {
        if !Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success()) {
            println!("skipped: npm is not there");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (scratch, out) = (dir.path().join("scratch"), dir.path().join("out"));
        std::fs::create_dir_all(&scratch).unwrap();
        std::fs::create_dir_all(&out).unwrap();
        launcher("1.2.3", &scratch, &out).unwrap();
        for platform in ALL {
            // npm looks at what is written about a program, never into it.
            let program = scratch.join(platform.program());
            std::fs::write(&program, platform.name).unwrap();
            #[cfg(unix)]
            std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            for system in platform.npm {
                engine(&program, platform, *system, "1.2.3", &scratch, &out).unwrap();
            }
        }
        let tried = Command::new("node")
            .args(["--test", "npm/tests/platforms.test.js"])
            .current_dir(sources())
            .env("FORKLORE_PACKAGES", &out)
            .output()
            .unwrap();
        assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stdout));
        let names: Vec<String> =
            ALL.iter().flat_map(|platform| platform.npm).map(|(os, cpu)| format!("{os} on {cpu}")).collect();
        let said = String::from_utf8_lossy(&tried.stdout);
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
}
