//! Takes what a task keeps beside its result out of an end state, and carries it into a verifier's own environment:
//! [`Collection`] says what, [`Haul`] is what was taken.

use std::{borrow::Cow, time::Duration};

use domain::{
    acceptance::glob::Glob,
    evidence::{Collected, HookRun, KeptArtifact, KeptFile, KeptNode, KeptState, Manifest},
    release::{Artifact, CollectHook, MAIN_SERVICE, PUBLISHED},
};

use crate::{
    ports::{
        record::{Blob, Record, RecordError},
        sandbox::{Ended, FileEntry, FileNode, Finished, Sandbox, SandboxFault},
    },
    shell::{Line, last_lines, run_line},
    stop::Stop,
};

/// Bytes that are taken of a session at the most, by what its manifest says.
const TOTAL_MAX: u64 = 1 << 30;

/// Lines of a hook's output that are kept.
const LINES_KEPT: usize = 50;

/// What is to be taken, and what is to be run before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// Paths in order; of those that claim the same place the first is kept.
    pub artifacts: Vec<Artifact>,
    /// Commands in order.
    pub hooks: Vec<CollectHook>,
    /// Where commands are started and relative paths begin.
    pub workdir: String,
}

/// What was taken.
pub(crate) struct Haul {
    /// For the record.
    pub collected: Collected,
    /// What is carried into a verifier's own environment, each with its absolute path.
    carried: Vec<(String, Vec<FileEntry>)>,
}

impl Collection {
    /// Runs the commands; that one fails keeps nothing from being taken.
    pub(crate) async fn run_hooks(
        &self,
        sandbox: &dyn Sandbox,
    ) -> Result<Vec<HookRun>, SandboxFault> {
        let mut runs = Vec::new();
        for hook in &self.hooks {
            let line = Line {
                command: &hook.command,
                workdir: &self.workdir,
                user: hook.user.clone(),
                timeout: Duration::from_secs_f64(hook.timeout_sec),
            };
            let finished = run_line(sandbox, line).await?;
            runs.push(HookRun {
                command: hook.command.clone(),
                ended: ended(&finished),
                output: last_lines(&finished, LINES_KEPT),
            });
        }
        Ok(runs)
    }

    /// Takes every path that is there; the manifest bounds what is read of it.
    pub(crate) async fn take(
        &self,
        sandbox: &dyn Sandbox,
        hooks: Vec<HookRun>,
        manifest: &Manifest,
        record: &dyn Record,
    ) -> Result<Haul, Stop> {
        let mut haul =
            Haul { collected: Collected { hooks, artifacts: Vec::new() }, carried: Vec::new() };
        let mut left = TOTAL_MAX;
        for artifact in self.artifacts.iter().filter(|one| one.service == MAIN_SERVICE) {
            let source = absolute(&artifact.source, &self.workdir);
            let mut kept = KeptArtifact {
                source: artifact.source.clone(),
                destination: destination(artifact),
                service: artifact.service.clone(),
                exclude: artifact.exclude.clone(),
                state: KeptState::Empty,
                files: Vec::new(),
                left_out: Vec::new(),
            };
            let size = size_below(manifest, &source);
            if source == "/" {
                kept.state = KeptState::Failed("it is the whole root".to_owned());
            } else if size > left {
                let why = format!("too big: {size} bytes, {left} can be taken");
                kept.state = KeptState::Failed(why);
            } else {
                left -= size;
                let found = sandbox.get(&source).await?;
                if let Some(files) = taken(artifact, found, &mut kept) {
                    if haul.is_claimed(&kept) {
                        kept.state = KeptState::Skipped;
                    } else {
                        kept.files = keep(&files, record)?;
                    }
                    haul.carried.push((source, files));
                }
            }
            if !is_unasked(artifact, &kept) {
                haul.collected.artifacts.push(kept);
            }
        }
        Ok(haul)
    }
}

impl Haul {
    /// Places what was taken where it was, in an environment that the agent never was in. What is there already goes.
    pub(crate) async fn carry(&self, sandbox: &dyn Sandbox) -> Result<(), SandboxFault> {
        for (path, files) in &self.carried {
            let below = path.trim_start_matches('/').to_owned();
            let gone = FileEntry { path: below.clone(), node: FileNode::Absent, mode: 0 };
            sandbox.put("/", &[gone]).await?;
            if let [FileEntry { path: own, node, mode }] = files.as_slice()
                && own.is_empty()
            {
                let file = FileEntry { path: below, node: node.clone(), mode: *mode };
                sandbox.put("/", &[file]).await?;
                continue;
            }
            // Whoever runs the tests may want to write beside what they look at.
            let directory = FileEntry { path: below, node: FileNode::Directory, mode: 0o777 };
            sandbox.put("/", &[directory]).await?;
            sandbox.put(path, files).await?;
        }
        Ok(())
    }

    /// Whether an earlier path has the place in the folder, or one above or below it.
    fn is_claimed(&self, kept: &KeptArtifact) -> bool {
        let within = |a: &str, b: &str| {
            a == b || a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'))
        };
        self.collected.artifacts.iter().any(|earlier| {
            let (mine, theirs) = (&kept.destination, &earlier.destination);
            earlier.source != kept.source
                && !matches!(earlier.state, KeptState::Skipped)
                && (within(mine, theirs) || within(theirs, mine))
        })
    }
}

/// What every task publishes is no failure where nothing was published.
fn is_unasked(artifact: &Artifact, kept: &KeptArtifact) -> bool {
    *artifact == Artifact::of_main(PUBLISHED)
        && matches!(kept.state, KeptState::Failed(_) | KeptState::Empty)
}

/// What is carried and kept of what was found; none if nothing is.
fn taken(
    artifact: &Artifact,
    found: Option<Vec<FileEntry>>,
    kept: &mut KeptArtifact,
) -> Option<Vec<FileEntry>> {
    let Some(mut found) = found else {
        kept.state = KeptState::Failed("it is not there".to_owned());
        return None;
    };
    if let [FileEntry { path, node, mode }] = found.as_slice()
        && path.is_empty()
    {
        match node {
            FileNode::File(_) => {
                kept.state = KeptState::File;
                let mode = (mode & 0o777) | 0o444;
                return Some(vec![FileEntry { path: String::new(), node: node.clone(), mode }]);
            }
            FileNode::Directory => found.clear(),
            FileNode::Link(target) => {
                kept.state = KeptState::Failed(format!("it is a link to {target}"));
                return None;
            }
            FileNode::Absent => {
                kept.state = KeptState::Failed("it is not there".to_owned());
                return None;
            }
        }
    }
    let exclude: Vec<Glob> = artifact.exclude.iter().map(|pattern| Glob::new(pattern)).collect();
    let mut files = Vec::new();
    for mut entry in found.into_iter().filter(|entry| !entry.path.is_empty()) {
        if is_excluded(&entry.path, &exclude) {
            continue;
        }
        // Its owner is another there, so what the owner may read everybody must.
        entry.mode = (entry.mode & 0o777)
            | match &entry.node {
                FileNode::Directory => 0o555,
                _ => 0o444,
            };
        match &entry.node {
            FileNode::Link(target) if !stays_within(&entry.path, target) => {
                kept.left_out.push(format!("{} -> {target}", entry.path));
            }
            FileNode::Absent => {}
            _ => files.push(entry),
        }
    }
    kept.state = if files.is_empty() { KeptState::Empty } else { KeptState::Directory };
    Some(files)
}

/// A pattern leaves out what fits it from any level on, with everything below.
fn is_excluded(path: &str, exclude: &[Glob]) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).any(|part| exclude.iter().any(|glob| glob.matches_tail(part)))
}

/// A link that leads out of its artifact would lead to something of the verifier's. Upward parts are allowed at the
/// beginning alone: after a name they would count from where that name leads.
fn stays_within(path: &str, target: &str) -> bool {
    let depth = path.matches('/').count();
    let parts: Vec<&str> =
        target.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let upward = parts.iter().take_while(|part| **part == "..").count();
    !target.starts_with('/') && upward <= depth && !parts[upward..].contains(&"..")
}

fn keep(files: &[FileEntry], record: &dyn Record) -> Result<Vec<KeptFile>, RecordError> {
    let mut kept = Vec::with_capacity(files.len());
    for file in files {
        let node = match &file.node {
            FileNode::File(bytes) => {
                KeptNode::File(record.put(Blob::Bytes(bytes))?, bytes.len() as u64)
            }
            FileNode::Directory => KeptNode::Directory,
            FileNode::Link(target) => KeptNode::Link(target.clone()),
            FileNode::Absent => continue,
        };
        kept.push(KeptFile { path: file.path.clone(), mode: file.mode, node });
    }
    Ok(kept)
}

fn absolute(source: &str, workdir: &str) -> String {
    let whole = match source.starts_with('/') {
        true => Cow::from(source),
        false => Cow::from(format!("{workdir}/{source}")),
    };
    let parts = whole.split('/').filter(|part| !part.is_empty() && *part != ".");
    format!("/{}", parts.collect::<Vec<_>>().join("/"))
}

/// Below the artifacts' folder: as declared, else the path without its root.
fn destination(artifact: &Artifact) -> String {
    let path = artifact.destination.as_ref().unwrap_or(&artifact.source);
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

/// Bytes that differ from the base below a path.
fn size_below(manifest: &Manifest, path: &str) -> u64 {
    let below = format!("{}/", path.trim_end_matches('/'));
    let sizes = manifest.entries.iter().filter(|(own, _)| *own == path || own.starts_with(&below));
    sizes.map(|(_, entry)| entry.size).sum()
}

fn ended(finished: &Finished) -> String {
    match finished.ended {
        Ended::Exited(code) => format!("exited with {code}"),
        Ended::Signalled(signal) => format!("killed by signal {signal}"),
        Ended::OutOfMemory => "out of memory".to_owned(),
        Ended::TimedOut => "out of time".to_owned(),
        Ended::NotStarted => "not started: there is no shell".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_within_their_artifact() {
        let check = |path: &str, target: &str, expect: bool| {
            assert_eq!(stays_within(path, target), expect, "{path} -> {target}");
        };
        check("a", "b", true);
        check("a", "./sub/b", true);
        check("a", "../b", false);
        check("sub/a", "../b", true);
        check("sub/a", "../../b", false);
        check("sub/a", "/tests/expected", false);
        check("sub/a", "other/../../b", false);
        check("sub/deep/a", "../../b", true);
    }

    #[test]
    fn patterns_leave_out_what_fits_from_any_level_on() {
        let check = |pattern: &str, path: &str, expect: bool| {
            assert_eq!(is_excluded(path, &[Glob::new(pattern)]), expect, "{pattern} {path}");
        };
        check("*.pyc", "a/b.pyc", true);
        check("*.pyc", "a/b.py", false);
        check("node_modules", "x/node_modules/y/z.js", true);
        check("build/*", "build/deep/z.o", true);
        check("build/*", "build", false);
        check("a/b", "x/a/b/c", true);
        check("a/b", "x/ab", false);
    }

    #[test]
    fn places_are_by_path_or_as_declared() {
        let check = |source: &str, declared: Option<&str>, expect: [&str; 2]| {
            let artifact =
                Artifact { destination: declared.map(str::to_owned), ..Artifact::of_main(source) };
            let found = [absolute(source, "/app"), destination(&artifact)];
            assert_eq!(found, expect.map(str::to_owned), "{source}");
        };
        check("/var/log/x", None, ["/var/log/x", "var/log/x"]);
        check("out.txt", None, ["/app/out.txt", "out.txt"]);
        check("./out//x/", Some("kept/it"), ["/app/out/x", "kept/it"]);
        check("/", None, ["/", ""]);
    }
}
