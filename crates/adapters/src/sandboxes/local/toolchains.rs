//! Programs of the host that a task declares: [`find`] says where they are, mounts what lies outside `/usr`, and
//! records their versions.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::ports::sandbox::SandboxFault;
use serde::{Deserialize, Serialize};

use crate::process::{self, Variables};

/// Where the sandbox looks for programs, toolchains aside.
pub(super) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A program that does not tell its version in this time is recorded without.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(20);
const RUST_TARGET: &str = "/opt/toolchains/rust";

/// What the declared programs need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Toolchains {
    /// Directories of the host by their read-only places inside.
    pub mounts: BTreeMap<String, PathBuf>,
    /// Directories that go before [`SYSTEM_PATH`].
    pub path: Vec<String>,
    /// First line of each program's version.
    pub versions: BTreeMap<String, String>,
}

/// Finds every declared program, or says which one is missing and what to install.
pub(super) async fn find(
    declared: &[String],
    variables: &Variables,
) -> Result<Toolchains, SandboxFault> {
    let mut found = Toolchains::default();
    let mut missing = Vec::new();
    for name in declared {
        let place = match name.as_str() {
            "cargo" | "rustc" | "rust" => find_rust(name, variables, &mut found).await,
            _ => find_program(name, variables, &mut found).await,
        };
        missing.extend(place.err());
    }
    if missing.is_empty() { Ok(found) } else { Err(SandboxFault::Unsupported(missing.join("; "))) }
}

/// The toolchain of `rustc`, whose installation lies in a home that stays invisible.
async fn find_rust(
    name: &str,
    variables: &Variables,
    found: &mut Toolchains,
) -> Result<(), String> {
    let install = || format!("`{name}` is needed: install Rust, for instance with rustup");
    let rustc = Path::new("rustc");
    let sysroot =
        process::output(rustc, &["--print", "sysroot"], variables, QUESTION_TIMEOUT).await;
    let sysroot = sysroot.ok().filter(|output| output.is_success).ok_or_else(install)?;
    let sysroot = PathBuf::from(sysroot.stdout.trim());
    let program = sysroot.join("bin").join(if name == "rust" { "rustc" } else { name });
    if !program.is_file() {
        return Err(install());
    }
    found.versions.insert(name.to_owned(), version(&program, variables).await);
    if sysroot.starts_with("/usr") {
        return Ok(());
    }
    if found.mounts.insert(RUST_TARGET.to_owned(), sysroot).is_none() {
        found.path.push(format!("{RUST_TARGET}/bin"));
    }
    Ok(())
}

async fn find_program(
    name: &str,
    variables: &Variables,
    found: &mut Toolchains,
) -> Result<(), String> {
    let places = SYSTEM_PATH.split(':').map(|directory| Path::new(directory).join(name));
    let Some(program) = places.into_iter().find(|place| place.is_file()) else {
        return Err(format!(
            "`{name}` is needed: install it under /usr (one in a home is not seen)"
        ));
    };
    found.versions.insert(name.to_owned(), version(&program, variables).await);
    Ok(())
}

/// The first line that a program prints when asked for its version.
async fn version(program: &Path, variables: &Variables) -> String {
    let printed = match process::output(program, &["--version"], variables, QUESTION_TIMEOUT).await
    {
        Ok(output) if output.is_success => output.stdout + &output.stderr,
        // Some programs, `dash` among them, have no such option.
        Ok(_) | Err(_) => String::new(),
    };
    match printed.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => line.trim().to_owned(),
        None => "present".to_owned(),
    }
}
