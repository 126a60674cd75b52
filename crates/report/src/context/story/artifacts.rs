//! What a task kept beside its result ([`ArtifactStory`]), and the commands that were run before ([`HookStory`]).

use domain::{
    evidence::{Collected, HookRun, KeptArtifact, KeptNode, KeptState},
    session::CompletionReport,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::StorySources;

/// A declared path and what was taken of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArtifactStory {
    /// The path inside, as declared.
    pub source: String,
    /// What became of it, in words.
    pub state: String,
    /// Its files that are kept.
    pub files: Vec<ArtifactFile>,
    /// Links and special files that mean nothing elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A file that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArtifactFile {
    /// Where it is kept, below the artifacts' folder of an export.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it lies, as a path within the run's folder; absent if it is gone.
    pub place: Option<String>,
}

/// A command that was run before artifacts were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookStory {
    /// The shell's command line.
    pub command: String,
    /// How it ended.
    pub ended: String,
    /// The end of what it printed.
    pub output: String,
}

impl ArtifactStory {
    /// In one line.
    pub fn line(&self) -> String {
        let count = self.files.len();
        let kept = match count {
            0 => String::new(),
            1 => ", 1 file kept".to_owned(),
            _ => format!(", {count} files kept"),
        };
        format!("artifact {}: {}{kept}", self.source, self.state)
    }
}

/// What was kept with a report.
pub(super) fn artifacts(
    report: &CompletionReport,
    sources: &StorySources<'_>,
) -> Vec<ArtifactStory> {
    let told = |artifact: &KeptArtifact| ArtifactStory {
        source: artifact.source.clone(),
        state: match &artifact.state {
            KeptState::File => "a file".to_owned(),
            KeptState::Directory => "a directory".to_owned(),
            KeptState::Empty => "an empty directory".to_owned(),
            KeptState::Skipped => "not kept, its place was taken by one before".to_owned(),
            KeptState::Failed(why) => format!("not taken, {why}"),
        },
        files: files(artifact, sources),
        left_out: artifact.left_out.clone(),
    };
    collected(report, sources).artifacts.iter().map(told).collect()
}

/// What was run before.
pub(super) fn hooks(report: &CompletionReport, sources: &StorySources<'_>) -> Vec<HookStory> {
    let told = |HookRun { command, ended, output }| HookStory { command, ended, output };
    collected(report, sources).hooks.into_iter().map(told).collect()
}

fn collected(report: &CompletionReport, sources: &StorySources<'_>) -> Collected {
    let kept = report.artifacts.as_ref();
    kept.and_then(|hash| sources.payloads.artifacts(hash)).unwrap_or_default()
}

fn files(artifact: &KeptArtifact, sources: &StorySources<'_>) -> Vec<ArtifactFile> {
    let mut files = Vec::new();
    for file in &artifact.files {
        if let KeptNode::File(hash, bytes) = &file.node {
            let path = [artifact.destination.as_str(), file.path.as_str()].join("/");
            let place = sources.payloads.place(hash);
            files.push(ArtifactFile {
                path: path.trim_matches('/').to_owned(),
                bytes: *bytes,
                place,
            });
        }
    }
    files
}
