//! Releases that come with the binary: found in a checkout that it was built in, else unpacked once from itself.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use store::layout;

/// The releases as packed by the build.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/releases.tar"));

/// Names of the bundled releases, in order.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in tar::Archive::new(PACKED).entries()? {
        let path = entry?.path()?.into_owned();
        let first =
            path.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        if let Some(name) =
            first.filter(|name| path.ends_with("release.toml") && !names.contains(name))
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The folder of a release: a path that exists, or a bundled name.
///
/// # Errors
/// `NotFound` with what is bundled if it is neither.
pub fn folder(release: &str, state: &Path) -> io::Result<PathBuf> {
    let path = Path::new(release);
    if layout::is_release(path) {
        return Ok(path.to_owned());
    }
    let names = names()?;
    if !names.iter().any(|name| name == release) {
        let bundled = names.join(", ");
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "no release `{release}`: it is neither a folder with a release.toml nor bundled \
                 (bundled: {bundled})"
            ),
        ));
    }
    if let Some(checkout) = checkout_folder(release) {
        return Ok(checkout);
    }
    unpacked(release, state)
}

/// In a checkout the files themselves are used, so that what an author changes is what runs.
fn checkout_folder(release: &str) -> Option<PathBuf> {
    let binary = std::env::current_exe().ok()?;
    let target =
        binary.ancestors().find(|folder| folder.file_name().is_some_and(|n| n == "target"))?;
    let folder = target.parent()?.join("releases").join(release);
    layout::is_release(&folder).then_some(folder)
}

fn unpacked(release: &str, state: &Path) -> io::Result<PathBuf> {
    let version = format!("{}-{}", env!("CARGO_PKG_VERSION"), fingerprint());
    let home = state.join("releases").join(version);
    if !home.is_dir() {
        // Unpacked aside and renamed, so that nobody sees half a release.
        let aside = state.join("releases").join(format!(".unpacking-{}", std::process::id()));
        fs::create_dir_all(&aside)?;
        tar::Archive::new(PACKED).unpack(&aside)?;
        if let Err(error) = fs::rename(&aside, &home) {
            fs::remove_dir_all(&aside)?;
            if !home.is_dir() {
                return Err(error);
            }
        }
    }
    Ok(home.join(release))
}

/// Tells packed releases apart; no security rests on it (the release digest is computed from the files).
fn fingerprint() -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in PACKED.bytes().map_while(Result::ok) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{sum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starter_and_tiny_are_bundled_and_unpack() {
        let state = tempfile::tempdir().expect("a folder");
        assert_eq!(names().expect("an archive"), ["starter", "tiny"]);
        for name in ["starter", "tiny"] {
            let folder = unpacked(name, state.path()).expect("unpacks");
            assert!(folder.join("release.toml").is_file());
        }
        let setup = unpacked("tiny", state.path()).expect("unpacked once");
        assert!(setup.join("tasks").is_dir());
    }

    #[test]
    fn unknown_names_say_what_is_bundled() {
        let state = tempfile::tempdir().expect("a folder");
        let error = folder("nothing-of-the-kind", state.path()).expect_err("unknown");
        assert!(error.to_string().contains("starter, tiny"), "{error}");
    }
}
