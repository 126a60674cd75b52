//! Written forms of evidence blobs: manifests, changes, differences, processes, network attempts, words.

use std::collections::BTreeMap;

use super::{
    wire::wire,
    words::{ActionClass, EventTime},
};

wire! {
    struct Manifest = domain::evidence::Manifest { entries: BTreeMap<String, ManifestEntry> }

    struct ManifestEntry = domain::evidence::ManifestEntry {
        kind: FileKind,
        mode: u32,
        size: u64,
        ctime_ms: i64,
        hash: Option<String>,
        link_target: Option<String>,
    }

    enum FileKind = domain::evidence::FileKind { File, Directory, Link, Special, Gone }

    struct Change = domain::evidence::Change {
        turn: u32,
        path: String,
        kind: ChangeKind,
        time: EventTime,
    }

    enum ChangeKind = domain::evidence::ChangeKind {
        Created, Modified, ModeChanged, KindChanged, Deleted,
    }

    struct FileDiff = domain::evidence::FileDiff {
        path: String,
        renamed_from: Option<String>,
        kind: ChangeKind,
        binary: bool,
        added: Vec<String>,
        removed: Vec<String>,
    }

    struct ProcessEvent = domain::evidence::ProcessEvent {
        turn: u32,
        started_ms: i64,
        ended_ms: Option<i64>,
        pid: u32,
        parent: u32,
        uid: u32,
        program: String,
        argv: Vec<String>,
        cwd: String,
        exit_code: Option<i32>,
    }

    struct NetAttempt = domain::evidence::NetAttempt {
        turn: u32,
        at_ms: i64,
        host: String,
        port: u16,
        outcome: NetOutcome,
    }

    enum NetOutcome = domain::evidence::NetOutcome { Refused, Failed, Succeeded }

    struct AgentMessage = domain::evidence::AgentMessage {
        turn: u32,
        at_ms: i64,
        text: String,
        is_turn_message: bool,
    }

    struct UserWords = domain::evidence::UserWords { turn: u32, delivered_ms: i64, text: String }

    struct Permission = domain::evidence::Permission {
        request: u32,
        turn: u32,
        at_ms: i64,
        class: Option<ActionClass>,
        subject: Option<String>,
    }
}
