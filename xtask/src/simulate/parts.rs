//! Parts that break as planned: a record in memory ([`MemoryRecord`]) and an agent whose provider fails ([`FaultyAgent`]).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use adapters::agents::ScriptedAgent;
use domain::{
    acceptance::{Reading, Truth, glob::Globs},
    evidence::Missing,
    ids::{Hash, RequestId, Turn},
    release::CheckKind,
    session::{Entry, TurnStop},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer},
    check::Checks,
    evidence::{Evidence, StateAt},
    record::{Blob, Record, RecordError},
    sandbox::{FileNode, Sandbox, SandboxFault},
};

/// What the journal does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordFault {
    /// One entry fails once.
    AppendOnce(u32),
    /// From this entry on nothing is written.
    AppendForever(u32),
    /// One blob fails.
    Put(u32),
    /// One sync fails.
    Sync(u32),
}

/// A journal and blobs in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryRecord {
    pub(super) entries: Mutex<Vec<Entry>>,
    pub(super) blobs: Mutex<BTreeMap<Hash, String>>,
    fault: Option<RecordFault>,
    appends: AtomicU32,
    puts: AtomicU32,
    syncs: AtomicU32,
    struck: AtomicBool,
}

impl MemoryRecord {
    pub(super) fn new(fault: Option<RecordFault>) -> Self {
        Self { fault, ..Self::default() }
    }

    pub(super) fn has_struck(&self) -> bool {
        self.struck.load(Ordering::Relaxed)
    }

    fn fails(&self) -> Result<(), RecordError> {
        self.struck.store(true, Ordering::Relaxed);
        Err(RecordError("planned".to_owned()))
    }
}

impl Record for MemoryRecord {
    fn append(&self, entry: &Entry) -> Result<(), RecordError> {
        let count = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Some(RecordFault::AppendOnce(nth)) if count == nth => return self.fails(),
            Some(RecordFault::AppendForever(nth)) if count >= nth => return self.fails(),
            _ => {}
        }
        self.entries.lock().expect("no holder panics").push(entry.clone());
        Ok(())
    }

    fn sync(&self) -> Result<(), RecordError> {
        let count = self.syncs.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Some(RecordFault::Sync(nth)) if count == nth => self.fails(),
            _ => Ok(()),
        }
    }

    fn put(&self, blob: Blob<'_>) -> Result<Hash, RecordError> {
        let count = self.puts.fetch_add(1, Ordering::Relaxed) + 1;
        if self.fault == Some(RecordFault::Put(count)) {
            self.fails()?;
        }
        let text = format!("{blob:?}");
        let hash = match blob {
            Blob::Bytes(bytes) => blake3::hash(bytes),
            _ => blake3::hash(text.as_bytes()),
        };
        let hash = Hash::new(hash.to_hex().as_str());
        self.blobs.lock().expect("no holder panics").insert(hash.clone(), text);
        Ok(hash)
    }
}

/// A scripted agent whose provider fails at the nth prompt.
pub(super) struct FaultyAgent {
    pub(super) inner: ScriptedAgent,
    pub(super) fails_at: Option<u32>,
    pub(super) struck: Arc<AtomicBool>,
}

#[async_trait::async_trait]
impl Agent for FaultyAgent {
    fn identify(&self) -> Identity {
        self.inner.identify()
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let inner = self.inner.open(sandbox, brief).await?;
        Ok(Box::new(FaultyConversation {
            inner,
            fails_at: self.fails_at,
            prompts: AtomicU32::new(0),
            struck: self.struck.clone(),
        }))
    }
}

struct FaultyConversation {
    inner: Box<dyn Conversation>,
    fails_at: Option<u32>,
    prompts: AtomicU32,
    struck: Arc<AtomicBool>,
}

#[async_trait::async_trait]
impl Conversation for FaultyConversation {
    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        let count = self.prompts.fetch_add(1, Ordering::Relaxed) + 1;
        if self.fails_at == Some(count) {
            self.struck.store(true, Ordering::Relaxed);
            observer.delivered();
            return Err(AgentFault::Provider("planned".to_owned()));
        }
        self.inner.prompt(message, observer).await
    }

    async fn answer_permission(&self, request: RequestId, allow: bool) -> Result<(), AgentFault> {
        self.inner.answer_permission(request, allow).await
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.inner.interrupt().await
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.inner.close().await
    }
}

/// Reads whether a file is there and holds a word; the simulated language has no more.
pub(super) struct SimulatedChecks;

#[async_trait::async_trait]
impl Checks for SimulatedChecks {
    async fn read(
        &self,
        kind: &CheckKind,
        _: Option<Turn>,
        evidence: &dyn Evidence,
    ) -> Result<Reading, SandboxFault> {
        let CheckKind::Fs { path, contains, .. } = kind else {
            return Ok(Reading::Missing(Missing::ChannelMissing));
        };
        let globs = Globs::below(&evidence.recorded().workdir, path);
        let mut holds = false;
        for path in evidence.list(StateAt::Look, &globs).await? {
            if let Some((FileNode::File(bytes), _)) = evidence.read(StateAt::Look, &path).await? {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                holds |= contains.as_ref().is_none_or(|word| text.contains(word.as_str()));
            }
        }
        let truth = if holds { Truth::True } else { Truth::False };
        Ok(Reading::State { truth, witness: String::new() })
    }
}
