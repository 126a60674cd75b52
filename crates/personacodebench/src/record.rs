//! The journal of a session as the engine wants it, over the files of the store ([`Recorder`]).

use std::{
    sync::{Arc, Weak},
    time::SystemTime,
};

use domain::evidence::{AgentMessage, Change, Manifest, NetAttempt, ProcessEvent};
use domain::{
    ids::Hash,
    session::{Answer, Entry, Event},
};
use engine::ports::record::{Archive, Blob, Record, RecordError};
use store::{
    claim::HEARTBEAT,
    payload::{Payload, Payloads},
    seal::Seal,
    writer::SessionWriter,
};

/// Writes one attempt and says that its owner lives while it does.
pub struct Recorder {
    writer: Arc<SessionWriter>,
}

impl Recorder {
    /// Takes over an attempt that was claimed; must be called inside the runtime.
    pub fn new(writer: SessionWriter) -> Self {
        let writer = Arc::new(writer);
        tokio::spawn(beat(Arc::downgrade(&writer)));
        Self { writer }
    }
}

/// Ends with the recorder. A beat that fails is no fault of its own: a full disk shows at the next entry.
async fn beat(writer: Weak<SessionWriter>) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        let Some(writer) = writer.upgrade() else { return };
        let _ = writer.beat();
    }
}

impl Record for Recorder {
    fn append(&self, entry: &Entry) -> Result<(), RecordError> {
        self.writer.append(entry).map_err(refused)?;
        if matches!(entry.event, Event::Answered(_, Answer::Closed)) {
            // The log is whole and tells its end; without the note of its hash it is only proved less.
            let _ = self.writer.finish(SystemTime::now());
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), RecordError> {
        self.writer.sync().map_err(refused)
    }

    fn put(&self, blob: Blob<'_>) -> Result<Hash, RecordError> {
        let payload = match blob {
            Blob::Manifest(manifest) => Payload::Manifest(manifest),
            Blob::Changes(changes) => Payload::Changes(changes),
            Blob::Diffs(diffs) => Payload::Diffs(diffs),
            Blob::Processes(processes) => Payload::Processes(processes),
            Blob::Network(attempts) => Payload::Network(attempts),
            Blob::Calls(calls) => Payload::Calls(calls),
            Blob::Messages(messages) => Payload::Messages(messages),
            Blob::UserWords(words) => Payload::UserWords(words),
            Blob::Artifacts(collected) => Payload::Artifacts(collected),
            Blob::Bytes(bytes) => Payload::Bytes(bytes),
            Blob::Seal(seal) => {
                let seal = Seal {
                    base: seal.base.clone(),
                    manifest: seal.manifest.clone(),
                    unkept: seal.unkept.clone(),
                };
                return self.writer.put_seal(&seal).map_err(refused);
            }
        };
        self.writer.put(payload).map_err(refused)
    }
}

/// The payloads of a run, for a later grading.
pub struct Kept(pub Payloads);

impl Archive for Kept {
    fn manifest(&self, hash: &Hash) -> Result<Manifest, RecordError> {
        self.0.manifest(hash).map_err(refused)
    }

    fn changes(&self, hash: &Hash) -> Result<Vec<Change>, RecordError> {
        self.0.changes(hash).map_err(refused)
    }

    fn processes(&self, hash: &Hash) -> Result<Vec<ProcessEvent>, RecordError> {
        self.0.processes(hash).map_err(refused)
    }

    fn network(&self, hash: &Hash) -> Result<Vec<NetAttempt>, RecordError> {
        self.0.network(hash).map_err(refused)
    }

    fn messages(&self, hash: &Hash) -> Result<Vec<AgentMessage>, RecordError> {
        self.0.messages(hash).map_err(refused)
    }

    fn bytes(&self, hash: &Hash) -> Result<Vec<u8>, RecordError> {
        self.0.bytes(hash).map_err(refused)
    }
}

fn refused(error: impl std::error::Error) -> RecordError {
    let mut message = error.to_string();
    if let Some(source) = error.source() {
        message.push_str(&format!(": {source}"));
    }
    RecordError(message)
}
