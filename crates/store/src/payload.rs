//! Payloads that enter a log by their hash: [`Payload`] as it is put, and how each is read back.

use std::collections::BTreeMap;

use domain::{
    evidence::{
        AgentMessage, Change, Collected, FileDiff, Manifest, ModelCall, NetAttempt, ProcessEvent,
        UserWords,
    },
    ids::{Hash, Turn},
};
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::{
    blobs::{BlobError, Blobs},
    format::{
        FormatError,
        v1::{self, Wire},
    },
};

/// A payload. Lists are kept as one line of JSON for each element, so that line tools work on them.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// The paths that differ from the base.
    Manifest(&'a Manifest),
    /// File changes of a turn.
    Changes(&'a [Change]),
    /// Line differences by the turn that they count from.
    Diffs(&'a BTreeMap<Turn, Vec<FileDiff>>),
    /// Programs of a turn.
    Processes(&'a [ProcessEvent]),
    /// Network attempts of a turn.
    Network(&'a [NetAttempt]),
    /// Calls of the agent's model since the capture before.
    Calls(&'a [ModelCall]),
    /// What the agent said in a turn.
    Messages(&'a [AgentMessage]),
    /// What the user said.
    UserWords(&'a [UserWords]),
    /// What was kept beside the result.
    Artifacts(&'a Collected),
    /// Plain bytes.
    Bytes(&'a [u8]),
}

/// Why a payload cannot be read back.
#[derive(Debug, Error)]
pub enum PayloadError {
    /// Its blob cannot be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Its blob is something else.
    #[error("blob {hash} is not what the log says")]
    Format {
        /// Which.
        hash: Hash,
        /// Why.
        source: FormatError,
    },
}

impl Payload<'_> {
    /// The bytes that are kept.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, FormatError> {
        Ok(match self {
            Payload::Manifest(manifest) => {
                serde_json::to_vec(&v1::Manifest::from_domain(manifest))?
            }
            Payload::Artifacts(collected) => {
                serde_json::to_vec(&v1::Collected::from_domain(collected))?
            }
            Payload::Diffs(diffs) => {
                let written: BTreeMap<u32, Vec<v1::FileDiff>> = Wire::from_domain(*diffs);
                serde_json::to_vec(&written)?
            }
            Payload::Changes(list) => lines::<_, v1::Change>(list)?,
            Payload::Processes(list) => lines::<_, v1::ProcessEvent>(list)?,
            Payload::Network(list) => lines::<_, v1::NetAttempt>(list)?,
            Payload::Calls(list) => lines::<_, v1::ModelCall>(list)?,
            Payload::Messages(list) => lines::<_, v1::AgentMessage>(list)?,
            Payload::UserWords(list) => lines::<_, v1::UserWords>(list)?,
            Payload::Bytes(bytes) => bytes.to_vec(),
        })
    }
}

fn lines<D, W: Wire<D> + Serialize>(list: &[D]) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    for element in list {
        serde_json::to_writer(&mut bytes, &W::from_domain(element))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Payloads of a run, read back by their hashes.
#[derive(Clone, Debug)]
pub struct Payloads {
    blobs: Blobs,
}

impl Payloads {
    /// Over a store of content.
    pub fn new(blobs: Blobs) -> Self {
        Self { blobs }
    }

    /// Where a payload lies, as a path within the run's folder; none if the hash is not one.
    pub fn place(&self, hash: &Hash) -> Option<String> {
        let path = self.blobs.path(hash)?;
        let shown: Vec<_> = path.iter().rev().take(3).map(|part| part.to_string_lossy()).collect();
        Some(shown.into_iter().rev().collect::<Vec<_>>().join("/"))
    }

    /// Plain bytes.
    pub fn bytes(&self, hash: &Hash) -> Result<Vec<u8>, PayloadError> {
        Ok(self.blobs.get(hash)?)
    }

    /// A manifest.
    pub fn manifest(&self, hash: &Hash) -> Result<Manifest, PayloadError> {
        self.document::<_, v1::Manifest>(hash)
    }

    /// What was kept beside the result.
    pub fn artifacts(&self, hash: &Hash) -> Result<Collected, PayloadError> {
        self.document::<_, v1::Collected>(hash)
    }

    /// Line differences by the turn that they count from.
    pub fn diffs(&self, hash: &Hash) -> Result<BTreeMap<Turn, Vec<FileDiff>>, PayloadError> {
        self.document::<_, BTreeMap<u32, Vec<v1::FileDiff>>>(hash)
    }

    /// File changes.
    pub fn changes(&self, hash: &Hash) -> Result<Vec<Change>, PayloadError> {
        self.list::<_, v1::Change>(hash)
    }

    /// Programs.
    pub fn processes(&self, hash: &Hash) -> Result<Vec<ProcessEvent>, PayloadError> {
        self.list::<_, v1::ProcessEvent>(hash)
    }

    /// Network attempts.
    pub fn network(&self, hash: &Hash) -> Result<Vec<NetAttempt>, PayloadError> {
        self.list::<_, v1::NetAttempt>(hash)
    }

    /// Calls of a model.
    pub fn calls(&self, hash: &Hash) -> Result<Vec<ModelCall>, PayloadError> {
        self.list::<_, v1::ModelCall>(hash)
    }

    /// What the agent said.
    pub fn messages(&self, hash: &Hash) -> Result<Vec<AgentMessage>, PayloadError> {
        self.list::<_, v1::AgentMessage>(hash)
    }

    /// What the user said.
    pub fn user_words(&self, hash: &Hash) -> Result<Vec<UserWords>, PayloadError> {
        self.list::<_, v1::UserWords>(hash)
    }

    fn document<D, W: Wire<D> + DeserializeOwned>(&self, hash: &Hash) -> Result<D, PayloadError> {
        let bytes = self.blobs.get(hash)?;
        let read: W = serde_json::from_slice(&bytes).map_err(|error| misread(hash, error))?;
        Ok(read.into_domain())
    }

    fn list<D, W: Wire<D> + DeserializeOwned>(&self, hash: &Hash) -> Result<Vec<D>, PayloadError> {
        let bytes = self.blobs.get(hash)?;
        let mut list = Vec::new();
        for element in serde_json::Deserializer::from_slice(&bytes).into_iter::<W>() {
            list.push(element.map_err(|error| misread(hash, error))?.into_domain());
        }
        Ok(list)
    }
}

fn misread(hash: &Hash, error: serde_json::Error) -> PayloadError {
    PayloadError::Format { hash: hash.clone(), source: error.into() }
}
