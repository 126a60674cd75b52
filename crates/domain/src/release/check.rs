//! Checks: named questions of a pair to the evidence ([`Check`]); they answer readings and never judge.

use alloc::{string::String, vec::Vec};

use super::{ArtifactCheck, DbCheck, SecretCheck, SecretPlace};
use crate::{
    evidence::Channel,
    ids::{CheckId, RequirementId},
};

/// A named check of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name within the pair.
    pub id: CheckId,
    /// What is looked at.
    pub kind: CheckKind,
    /// When it is read.
    pub read: Read,
}

/// When a check is read; what is not read is unknown and blocks nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// At the end of each turn.
    EachTurn,
    /// At hand-offs.
    AtHandoff,
    /// At the seal alone.
    AtEnd,
}

/// Whether a check answers a state or events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingNature {
    /// True, false or unknown at a look.
    State,
    /// Occurrences.
    Events,
}

/// What a check looks at. All keys given must hold together; globs are relative to the working directory
/// unless absolute; regular expressions are those of the `regex` crate.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckKind {
    /// State of files (E1).
    Fs {
        /// Globs of the paths meant.
        path: Vec<String>,
        /// What must be so.
        is: Option<FsState>,
        /// At least one matching file's text matches.
        contains: Option<String>,
        /// No matching file's text matches.
        lacks: Option<String>,
        /// `changed` and `unchanged` count from the telling of this requirement instead of the base.
        since: Option<RequirementId>,
    },
    /// State of the difference to the base (E2).
    Diff {
        /// Paths that count; empty means all below the working directory. Git's own files count only if a
        /// pattern names `.git`.
        under: Vec<String>,
        /// Paths that do not count.
        except: Vec<String>,
        /// Changed files at the most.
        files_max: Option<u32>,
        /// Added plus removed lines at the most.
        lines_max: Option<u32>,
        /// Every changed path that counts matches one of these.
        only_under: Vec<String>,
        /// Some added line matches.
        adds: Option<String>,
        /// No added line matches.
        adds_none: Option<String>,
        /// No removed line matches.
        removes_none: Option<String>,
        /// Counts from the telling of this requirement instead of the base.
        since: Option<RequirementId>,
    },
    /// State of a git repository (E6), read by git in a throw-away sandbox.
    Git {
        /// The repository; none means the working directory.
        repo: Option<String>,
        /// Glob of the branch at HEAD.
        branch: Option<String>,
        /// New commits on HEAD since the base.
        commits: Option<CommitCount>,
        /// Matches every new commit's whole message.
        message: Option<String>,
        /// Matches every new commit's `Name <mail>`.
        author: Option<String>,
        /// Nothing uncommitted or untracked (or, if false, something is).
        clean: Option<bool>,
        /// Base HEAD is an ancestor; refs of the base, tags, remotes, hooks and configuration are unchanged.
        /// The branch at HEAD may have moved on, and new branches are nobody's harm.
        history_kept: Option<bool>,
        /// Whether merge commits may be among the new ones.
        merges: Option<bool>,
    },
    /// State of a test suite (E7), run in a throw-away fork.
    Test {
        /// The runner's argument vector.
        run: Vec<String>,
        /// What the run must prove.
        proves: Proof,
        /// Globs of what counts as tests.
        tests: Vec<String>,
        /// Time limit of one run.
        timeout_sec: u32,
    },
    /// A number of the session within bounds (E9).
    Metric {
        /// Which number.
        of: Metric,
        /// At the most.
        at_most: Option<u64>,
        /// At the least.
        at_least: Option<u64>,
    },
    /// A program of the pair, run in a throw-away fork: exit 0 true, 1 false, else unknown.
    Script {
        /// Path below the pair's folder.
        file: String,
        /// Time limit.
        timeout_sec: u32,
    },
    /// State of what was handed over (E10).
    Artifact(ArtifactCheck),
    /// State of an SQLite file against the base (E1).
    Db(DbCheck),
    /// Where a value is (E1, E2, E6) or was said or used (E3, E5): a state or events, by its places.
    Secret(SecretCheck),
    /// Programs that were started (E3).
    Exec {
        /// A ready-made kind.
        kind: Option<ExecKind>,
        /// Matches the argument vector joined by a space.
        argv: Option<String>,
        /// Globs of the folder that it works in; empty means any.
        cwd: Vec<String>,
        /// How it must have exited.
        exit: ExitFilter,
    },
    /// Changes of files as events (E1).
    Edit {
        /// Paths that count; empty means all below the working directory. Git's own files count only if a
        /// pattern names `.git`.
        under: Vec<String>,
        /// Paths that do not count.
        except: Vec<String>,
        /// Kinds of change that count; empty means all.
        what: Vec<EditKind>,
    },
    /// Messages of the agent (E5): one occurrence for each that satisfies all keys.
    Message(MessageCheck),
    /// Network attempts (E4).
    Net {
        /// Globs of hosts; empty means all.
        hosts: Vec<String>,
        /// Globs of hosts that do not count.
        except: Vec<String>,
        /// Whether attempts count or only successes.
        outcome: NetFilter,
    },
}

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsState {
    /// At least one file matches.
    Present,
    /// No file matches.
    Absent,
    /// At least one matching path differs.
    Changed,
    /// No matching path differs.
    Unchanged,
}

/// Bounds of a number of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitCount {
    /// At the least.
    pub min: Option<u32>,
    /// At the most.
    pub max: Option<u32>,
}

/// What a test run must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It exits with 0.
    Passes,
    /// It exits with 0, and not with 0 when the base's other files are put under the final tests.
    Regression,
    /// The base's test files are unchanged and it exits with 0.
    Kept,
}

/// A number of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Ended turns.
    Turns,
    /// Agent time in milliseconds.
    AgentTimeMs,
    /// Tokens.
    Tokens,
    /// Open questions of the agent.
    Questions,
    /// Words in turn messages.
    Words,
    /// Files changed against the base.
    FilesChanged,
    /// Lines added and removed against the base.
    LinesChanged,
    /// Programs started.
    Processes,
}

/// Ready-made kinds of programs, kept by the tool because authors' own patterns are evadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecKind {
    /// Package managers and installers.
    Installs,
    /// Fetching from the network.
    Downloads,
    /// Test runners.
    RunsTests,
    /// Commits.
    Commits,
    /// Pushes.
    Pushes,
    /// Deletion of files or data.
    Deletes,
    /// Database migrations.
    Migrates,
    /// Servers that stay.
    Serves,
}

/// Which exits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitFilter {
    /// Any.
    #[default]
    Any,
    /// Exit code 0.
    Zero,
    /// Another exit code.
    Nonzero,
}

/// Which kinds of change count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EditKind {
    /// New paths.
    Create,
    /// Content, mode or kind.
    Modify,
    /// Gone paths.
    Delete,
}

/// Which network attempts count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetFilter {
    /// Only successes.
    #[default]
    Success,
    /// Attempts too.
    Attempt,
}

/// What the agent says of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// That it is done.
    Done,
    /// That it was tested.
    Tested,
    /// That it was explained.
    Explained,
}

/// A demand on one message of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageCheck {
    /// Every entry must be mentioned by any of its aliases, outside code and quotes and not negated.
    pub mentions: Vec<Word>,
    /// The text matches.
    pub matches: Option<String>,
    /// The text, outside code, does not match.
    pub lacks: Option<String>,
    /// Words at the most.
    pub words_max: Option<u32>,
    /// Words at the least.
    pub words_min: Option<u32>,
    /// Open questions at the most.
    pub questions_max: Option<u32>,
    /// Whether code blocks may stand in it.
    pub code: Codes,
    /// Lines that are list entries, at the least.
    pub list_min: Option<u32>,
    /// It claims this.
    pub claims: Option<Claim>,
    /// It names every changed file and no other.
    pub cites_changed_files: bool,
    /// Which messages are looked at.
    pub which: WhichMessage,
}

/// A word with its aliases.
pub type Word = Vec<String>;

/// Whether code blocks may stand in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codes {
    /// They may.
    #[default]
    Any,
    /// None.
    None,
}

/// Which messages a check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhichMessage {
    /// Every turn's message.
    #[default]
    Any,
    /// Messages of hand-offs.
    Handoff,
}

impl CheckKind {
    /// Whether it answers a state or events.
    pub fn nature(&self) -> ReadingNature {
        match self {
            CheckKind::Fs { .. }
            | CheckKind::Diff { .. }
            | CheckKind::Git { .. }
            | CheckKind::Test { .. }
            | CheckKind::Metric { .. }
            | CheckKind::Script { .. }
            | CheckKind::Artifact(_)
            | CheckKind::Db(_) => ReadingNature::State,
            CheckKind::Secret(secret) => secret.nature(),
            CheckKind::Exec { .. }
            | CheckKind::Edit { .. }
            | CheckKind::Message(_)
            | CheckKind::Net { .. } => ReadingNature::Events,
        }
    }

    /// When it is read unless the pair says otherwise.
    pub fn default_read(&self) -> Read {
        match self {
            CheckKind::Test { .. } | CheckKind::Script { .. } | CheckKind::Artifact(_) => {
                Read::AtHandoff
            }
            CheckKind::Secret(secret)
                if secret.looks_at(SecretPlace::Files) || secret.looks_at(SecretPlace::History) =>
            {
                Read::AtHandoff
            }
            _ => Read::EachTurn,
        }
    }

    /// The channels that it needs.
    pub fn channels(&self) -> &'static [Channel] {
        match self {
            CheckKind::Fs { .. } => &[Channel::Manifest],
            CheckKind::Diff { .. } => &[Channel::Manifest, Channel::Diff],
            CheckKind::Git { .. } => &[Channel::Git],
            CheckKind::Test { .. } => &[Channel::Tests],
            CheckKind::Metric { of, .. } => match of {
                Metric::FilesChanged | Metric::LinesChanged => &[Channel::Manifest, Channel::Diff],
                Metric::Processes => &[Channel::Processes],
                Metric::Turns | Metric::Questions | Metric::Words => &[Channel::Transcript],
                // Agent time is the engine's own measure; tokens are told by a gateway.
                Metric::AgentTimeMs => &[],
                Metric::Tokens => &[Channel::Resources],
            },
            CheckKind::Script { .. } | CheckKind::Db(_) => &[Channel::Manifest],
            CheckKind::Artifact(_) => &[Channel::Artifacts],
            CheckKind::Secret(secret) => secret.channels(),
            CheckKind::Exec { .. } => &[Channel::Processes],
            CheckKind::Edit { .. } => &[Channel::Manifest, Channel::Order],
            CheckKind::Message(_) => &[Channel::Transcript],
            CheckKind::Net { .. } => &[Channel::Network],
        }
    }

    /// The requirement whose telling a difference counts from.
    pub fn since(&self) -> Option<&RequirementId> {
        match self {
            CheckKind::Fs { since, .. } | CheckKind::Diff { since, .. } => since.as_ref(),
            _ => None,
        }
    }
}
