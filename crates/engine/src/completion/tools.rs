//! Which changed paths would let an agent bend a verifier that runs on its whole root ([`verifier_tools`]).

use domain::evidence::{FileKind, Manifest};

/// Directories whose programs and libraries every run of a verifier starts from.
const PROGRAM_DIRS: [&str; 8] = [
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/root/.local/bin/",
    "/root/.cargo/bin/",
];

/// Beginnings of names of interpreters, runners and tools that verifiers are made of.
const PROGRAMS: [&str; 34] = [
    "sh", "bash", "dash", "env", "python", "pypy", "perl", "ruby", "node", "npm", "npx", "deno",
    "bun", "java", "mvn", "gradle", "go", "cargo", "rustc", "make", "cmake", "ctest", "gcc", "cc",
    "clang", "git", "pytest", "py.test", "tox", "nox", "uv", "jest", "bats", "prove",
];

/// Names of the loader, of what it loads into everything, and of its settings.
const LOADER: [&str; 8] =
    ["ld-linux", "ld.so", "ld-musl", "libc.so", "libc-", "libpthread", "libdl.so", "libm.so"];

/// Files that an interpreter or a runner reads by itself.
const CONFIGURATION: [&str; 19] = [
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "jest.config.js",
    "jest.config.ts",
    "jest.config.json",
    "vitest.config.ts",
    "vitest.config.js",
    ".mocharc.json",
    ".mocharc.yml",
    ".mocharc.js",
    "phpunit.xml",
    ".rspec",
    ".bashrc",
    ".bash_profile",
    ".profile",
];

/// Paths of interpreter, loader, test runner and test configuration that differ from the base, in order.
///
/// Asked only when a whole root is verified: declared paths alone are laid over a pristine base otherwise.
pub fn verifier_tools(manifest: &Manifest) -> Vec<String> {
    manifest
        .entries
        .iter()
        .filter(|(path, entry)| entry.kind != FileKind::Directory && bends_a_verifier(path))
        .map(|(path, _)| path.clone())
        .collect()
}

fn bends_a_verifier(path: &str) -> bool {
    let Some((_, name)) = path.rsplit_once('/') else { return false };
    let in_programs =
        PROGRAM_DIRS.iter().any(|dir| path.strip_prefix(dir).is_some_and(|rest| rest == name));
    if in_programs && PROGRAMS.iter().any(|program| is_version_of(name, program)) {
        return true;
    }
    let in_system = ["/lib", "/usr/lib", "/usr/local/lib", "/etc/ld."]
        .iter()
        .any(|beginning| path.starts_with(beginning));
    if in_system && (path.starts_with("/etc/ld.") || LOADER.iter().any(|l| name.starts_with(l))) {
        return true;
    }
    let is_import_hook = name.ends_with(".pth")
        && (path.contains("/site-packages/") || path.contains("/dist-packages/"));
    is_import_hook
        || CONFIGURATION.contains(&name)
        || ["/etc/profile", "/etc/environment", "/etc/bash.bashrc", "/etc/hosts"].contains(&path)
        || path.starts_with("/etc/profile.d/")
}

/// `python3.11` is a version of `python`; `shuf` is none of `sh`.
fn is_version_of(name: &str, program: &str) -> bool {
    name.strip_prefix(program)
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}

#[cfg(test)]
mod tests {
    use domain::evidence::ManifestEntry;

    use super::*;

    #[test]
    fn tools_are_told_from_work() {
        let check = |path: &str, expect: bool| {
            let entry = ManifestEntry {
                kind: FileKind::File,
                mode: 0o644,
                size: 1,
                ctime_ms: 0,
                hash: None,
                link_target: None,
            };
            let mut manifest = Manifest::default();
            manifest.entries.insert(path.to_owned(), entry);
            assert_eq!(!verifier_tools(&manifest).is_empty(), expect, "{path}");
        };
        check("/usr/bin/python3.11", true);
        check("/usr/bin/python3", true);
        check("/bin/sh", true);
        check("/usr/bin/shuf", false);
        check("/usr/local/bin/pytest", true);
        check("/usr/bin/sub/sh", false);
        check("/lib64/ld-linux-x86-64.so.2", true);
        check("/usr/lib/x86_64-linux-gnu/libc.so.6", true);
        check("/etc/ld.so.preload", true);
        check("/usr/lib/python3/dist-packages/sitecustomize.py", true);
        check("/usr/lib/python3/dist-packages/evil.pth", true);
        check("/app/conftest.py", true);
        check("/app/tests/test_app.py", false);
        check("/app/src/main.py", false);
        check("/app/model.pth", false);
        check("/root/.bashrc", true);
        check("/etc/hosts", true);
    }
}
