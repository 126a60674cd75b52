//! Captures, transcript and derived evidence of one session: [`Gathered`] answers what checks may see.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    controller::Grant,
    evidence::{
        Change, Channel, ChannelSet, FileDiff, FileKind, Manifest, ManifestEntry, NetAttempt,
        ProcessEvent, Recorded,
    },
    ids::{Hash, Turn},
    session::Observation,
};

use super::{base::BaseFiles, transcript::Transcript, tree_diff::changed_files};
use crate::ports::{
    record::{Archive, RecordError},
    sandbox::{Capture, FileNode, Sandbox, SandboxFault},
};

/// Events of one channel that a turn may have; what is beyond is dropped and flagged.
pub const EVENTS_PER_TURN_MAX: usize = 200_000;

/// A file above this size is not compared line by line.
const TEXT_MAX: u64 = 4 << 20;

/// Evidence of a session so far.
#[derive(Debug)]
pub struct Gathered {
    channels: ChannelSet,
    workdir: String,
    /// Whether a check counts from a telling, so that contents of earlier turns are needed later.
    keeps_contents: bool,
    base: BaseFiles,
    latest: Manifest,
    at_turn: BTreeMap<Turn, Manifest>,
    contents: BTreeMap<Hash, Arc<[u8]>>,
    changes: Vec<Change>,
    processes: Vec<ProcessEvent>,
    network: Vec<NetAttempt>,
    transcript: Transcript,
    turn_times_ms: Vec<(Turn, u64)>,
    captured_ms: i64,
}

/// What a capture added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedTurn {
    /// File changes since the capture before.
    pub changes: Vec<Change>,
    /// Programs started since, and earlier ones whose end was seen.
    pub processes: Vec<ProcessEvent>,
    /// How many of those were started since.
    pub started: usize,
    /// More events than the cap.
    pub overflow: bool,
}

impl Gathered {
    /// Evidence of a session that has not begun.
    pub fn new(channels: ChannelSet, workdir: String, keeps_contents: bool) -> Self {
        Self {
            channels,
            workdir,
            keeps_contents,
            base: BaseFiles::default(),
            latest: Manifest::default(),
            at_turn: BTreeMap::from([(Turn::BASE, Manifest::default())]),
            contents: BTreeMap::new(),
            changes: Vec::new(),
            processes: Vec::new(),
            network: Vec::new(),
            transcript: Transcript::default(),
            turn_times_ms: Vec::new(),
            captured_ms: 0,
        }
    }

    /// A message is about to be delivered.
    pub fn prompted(&mut self, turn: Turn, message: &str) {
        self.transcript.prompted(turn, message);
    }

    /// Something was seen.
    pub fn observe(&mut self, observation: &Observation) {
        self.transcript.observe(observation);
    }

    /// The agent returned control.
    pub fn turn_ended(&mut self, turn: Turn, agent_ms: u64) {
        self.turn_times_ms.push((turn, agent_ms));
    }

    /// Takes in a capture of a frozen sandbox.
    pub async fn capture(
        &mut self,
        sandbox: &dyn Sandbox,
        turn: Turn,
        capture: &Capture,
    ) -> Result<CapturedTurn, SandboxFault> {
        let end_ms = sandbox.now_ms();
        let delivered = self.transcript.user.iter().rev().find(|words| words.turn == turn);
        let start_ms = delivered.map_or(self.captured_ms, |w| w.delivered_ms.max(self.captured_ms));
        let (before, after) = (&self.latest.entries, &capture.manifest.entries);
        let came = after.keys().filter(|path| !before.contains_key(*path));
        let went = before.keys().filter(|path| !after.contains_key(*path));
        let unknown: Vec<String> = came.chain(went).cloned().collect();
        self.base.learn(sandbox, unknown).await?;
        let in_base = |path: &str| self.base.get(path).is_some();
        // What was never listed is as the base has it: a touched file is no change, a mode is told from content.
        let mut before = self.latest.clone();
        for path in capture.manifest.entries.keys() {
            if let (false, Some(file)) = (before.entries.contains_key(path), self.base.get(path)) {
                before.entries.insert(path.clone(), file.entry());
            }
        }
        let mut changes = before.changes_to(&capture.manifest, turn, start_ms, end_ms, in_base);
        let (processes, started) = self.take_processes(capture);
        let overflow = capture.overflow || changes.len() > EVENTS_PER_TURN_MAX;
        changes.truncate(EVENTS_PER_TURN_MAX);
        self.changes.extend(changes.iter().cloned());
        self.latest = capture.manifest.clone();
        self.at_turn.insert(turn, capture.manifest.clone());
        self.captured_ms = end_ms;
        let of_turn = self.processes.iter().filter(|process| process.turn == turn);
        let last_start_ms = of_turn.map(|process| process.started_ms).max();
        self.transcript.turn_ended(turn, last_start_ms);
        if self.keeps_contents {
            self.fetch_contents(sandbox).await?;
        }
        Ok(CapturedTurn { changes, processes, started, overflow })
    }

    /// Takes in what the wire has seen of a turn.
    pub fn reached(&mut self, attempts: &[NetAttempt]) {
        self.network.extend_from_slice(attempts);
    }

    /// Takes in what a step of the task brought along; answers the paths that it changed, as they are now. None of
    /// it is the agent's doing, so changes and programs that were seen meanwhile are not kept.
    pub fn placed(
        &mut self,
        sandbox: &dyn Sandbox,
        capture: &Capture,
    ) -> BTreeMap<String, ManifestEntry> {
        self.take_processes(&Capture { processes: Vec::new(), ..capture.clone() });
        let before = &self.latest.entries;
        let entries = capture.manifest.entries.iter();
        let brought = entries
            .filter(|(path, entry)| before.get(*path) != Some(entry))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        self.latest = capture.manifest.clone();
        self.captured_ms = sandbox.now_ms();
        brought
    }

    fn take_processes(&mut self, capture: &Capture) -> (Vec<ProcessEvent>, usize) {
        let mut ended = Vec::new();
        for end in &capture.ended {
            let known = self
                .processes
                .iter_mut()
                .rev()
                .find(|process| process.pid == end.pid && process.started_ms == end.started_ms);
            if let Some(process) = known {
                process.ended_ms = Some(end.ended_ms);
                process.exit_code = end.exit_code;
                ended.push(process.clone());
            }
        }
        let started = capture.processes.len().min(EVENTS_PER_TURN_MAX);
        let new = &capture.processes[..started];
        self.processes.extend_from_slice(new);
        let mut events = new.to_vec();
        events.extend(ended);
        (events, started)
    }

    /// Programs that were started and whose end was not seen, as they would be listed.
    pub fn alive(&self) -> Vec<String> {
        let alive = self.processes.iter().filter(|process| process.ended_ms.is_none());
        alive.map(|process| format!("{} {}", process.pid, process.argv.join(" "))).collect()
    }

    /// Contents that a later grading needs beside the seal's.
    pub fn kept_contents(&self) -> impl Iterator<Item = &[u8]> {
        let kept = self.keeps_contents.then_some(&self.contents);
        kept.into_iter().flatten().map(|(_, content)| &**content)
    }

    /// Takes in what a channel was cut to in an earlier record.
    pub fn read_cut(
        &mut self,
        observation: &Observation,
        archive: &dyn Archive,
    ) -> Result<(), RecordError> {
        let Observation::Cut { channel, turn, blob, .. } = observation else { return Ok(()) };
        match channel {
            Channel::Manifest => self.changes.extend(archive.changes(blob)?),
            Channel::Processes => {
                for process in archive.processes(blob)? {
                    let known = self.processes.iter_mut().rev().find(|known| {
                        known.pid == process.pid && known.started_ms == process.started_ms
                    });
                    match known {
                        Some(known) => *known = process,
                        None => self.processes.push(process),
                    }
                }
            }
            Channel::Network => self.network.extend(archive.network(blob)?),
            Channel::Transcript => self.transcript.told(*turn, archive.messages(blob)?),
            _ => {}
        }
        Ok(())
    }

    /// The state after a turn of an earlier record.
    pub fn captured_before(&mut self, turn: Turn, manifest: Manifest) {
        self.latest = manifest.clone();
        self.at_turn.insert(turn, manifest);
    }

    /// The sealed state of an earlier record, and whatever contents it kept of the states before.
    pub fn sealed_before(&mut self, manifest: Manifest, archive: &dyn Archive) {
        self.latest = manifest;
        let entries = self.at_turn.values().flat_map(|manifest| manifest.entries.values());
        for hash in entries.filter_map(|entry| entry.hash.as_ref()) {
            // Most states were kept for no check; what is needed and missing shows as content that cannot be told.
            if let (false, Ok(bytes)) = (self.contents.contains_key(hash), archive.bytes(hash)) {
                self.contents.insert(hash.clone(), bytes.into());
            }
        }
    }

    /// The manifest at the last capture.
    pub fn manifest(&self) -> &Manifest {
        &self.latest
    }

    /// The manifest at the end of a turn; the base's is empty.
    pub fn manifest_at(&self, turn: Turn) -> Option<&Manifest> {
        self.at_turn.get(&turn)
    }

    /// What the agent said in a turn.
    pub fn messages(&self, turn: Turn) -> Vec<domain::evidence::AgentMessage> {
        self.transcript.agent.iter().filter(|message| message.turn == turn).cloned().collect()
    }

    /// How many pieces the agent said in the whole session.
    pub fn messages_total(&self) -> usize {
        self.transcript.agent.len()
    }

    /// Differences from the end of each of these turns to the last capture; the base is always among them.
    pub async fn diffs(
        &mut self,
        sandbox: &dyn Sandbox,
        since: Vec<Turn>,
    ) -> Result<BTreeMap<Turn, Vec<FileDiff>>, SandboxFault> {
        self.fetch_contents(sandbox).await?;
        let mut found = BTreeMap::new();
        for turn in since.into_iter().chain([Turn::BASE]) {
            if found.contains_key(&turn) {
                continue;
            }
            let Some(before) = self.at_turn.get(&turn) else { continue };
            let paths = before.entries.keys().chain(self.latest.entries.keys());
            let paths: Vec<String> = paths.cloned().collect();
            self.base.learn(sandbox, paths.clone()).await?;
            for path in paths {
                let file = self.base.get(&path);
                if let Some((hash, content)) =
                    file.and_then(|f| f.hash.as_ref().zip(f.content.as_ref()))
                {
                    self.contents.entry(hash.clone()).or_insert_with(|| content.clone());
                }
            }
            let diffs = changed_files(before, &self.latest, &self.base, &self.contents);
            found.insert(turn, diffs);
        }
        Ok(found)
    }

    /// All recorded evidence with what the machine knows beside it.
    pub fn recorded(
        &self,
        diffs: BTreeMap<Turn, Vec<FileDiff>>,
        grants: Vec<Grant>,
        handoffs: Vec<Turn>,
    ) -> Recorded {
        Recorded {
            channels: self.channels.clone(),
            workdir: self.workdir.clone(),
            changes: self.changes.clone(),
            diffs,
            processes: self.processes.clone(),
            network: self.network.clone(),
            agent_messages: self.transcript.agent.clone(),
            user_words: self.transcript.user.clone(),
            permissions: self.transcript.permissions.clone(),
            turn_times_ms: self.turn_times_ms.clone(),
            tokens: self.transcript.tokens,
            grants,
            handoffs,
        }
    }

    /// Fetches what changed files contain now, unless it is known already or too big to compare.
    async fn fetch_contents(&mut self, sandbox: &dyn Sandbox) -> Result<(), SandboxFault> {
        for (path, entry) in &self.latest.entries {
            let (FileKind::File, Some(hash)) = (entry.kind, &entry.hash) else { continue };
            if entry.size > TEXT_MAX || self.contents.contains_key(hash) {
                continue;
            }
            let found = sandbox.get(path).await?.unwrap_or_default();
            let content = found.into_iter().find_map(|found| match found.node {
                FileNode::File(bytes) if found.path.is_empty() => Some(bytes),
                _ => None,
            });
            if let Some(bytes) = content {
                self.contents.insert(hash.clone(), bytes.into());
            }
        }
        Ok(())
    }
}
