//! The model that a run's agents work with ([`AgentModel`]): an entry of a models file, or as the run's record tells it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    path::Path,
    sync::Arc,
};

use adapters::{
    models::{
        http::{BaseAddress, HttpProvider},
        patience::Patience,
        provider::Provider,
    },
    wire::gateway::{Bounds, Gateway, ModelGateways},
};
use domain::{
    evidence::{Channel, WireFormat},
    ids::PairId,
    plan::Plan,
    usage::PriceTable,
};
use engine::{
    materialise::reached,
    ports::{gateway::Gateways, sandbox::Network},
};
use store::{
    blobs::hash_of,
    models_file::{ModelEntry, ModelsFile},
    release_files::LoadedRelease,
    run::{ModelsRecord, RecordedModel},
};

use crate::{conduct::pair_and_task, failure::Failure, host::Host, options};

/// A model with everything that is needed to reach it.
#[derive(Clone)]
pub struct AgentModel {
    record: ModelsRecord,
    gateways: Arc<dyn Gateways>,
}

impl AgentModel {
    /// The entry of that name in a models file, with its key from the variable that the file names.
    ///
    /// # Errors
    /// The file cannot be read or used, has no such entry, or a variable that it names is not set.
    pub fn of_file(path: &Path, name: &str) -> Result<Self, Failure> {
        let bad = |problem: &dyn Display| Failure::input(format!("{}: {problem}", path.display()));
        let text = read(path)?;
        let file = ModelsFile::parse(&text).map_err(|problem| bad(&problem))?;
        let entry = entry(&file, path, name)?;
        // The same model may be reached in other forms too: agents mix those of one provider.
        let mut entries = vec![entry];
        for other in file.models.iter().filter(|other| other.model == entry.model) {
            if entries.iter().all(|known| known.format != other.format) {
                entries.push(other);
            }
        }
        let mut recorded = Vec::new();
        for entry in entries {
            recorded.push(RecordedModel {
                name: entry.name.clone(),
                model: entry.model.clone(),
                format: entry.format,
                base: entry.base.clone(),
                key_variable: entry.key.clone(),
                authorities: authorities(path, entry)?,
            });
        }
        Self::of_record(ModelsRecord {
            file: hash_of(text.as_bytes()),
            entries: recorded,
            prices: file.prices.prices,
        })
        .map_err(|failure| bad(&failure.message))
    }

    /// As an earlier invocation of the same run had it; keys are looked up anew.
    ///
    /// # Errors
    /// A variable that holds a key is not set.
    pub fn of_record(record: ModelsRecord) -> Result<Self, Failure> {
        let mut providers: BTreeMap<WireFormat, Arc<dyn Provider>> = BTreeMap::new();
        for entry in &record.entries {
            let provider = provider(
                &entry.name,
                &entry.base,
                entry.key_variable.as_deref(),
                entry.authorities.as_deref(),
            )?;
            providers.insert(entry.format, Arc::new(provider));
        }
        let gateway = Gateway {
            providers,
            patience: Patience::default(),
            bounds: Bounds::default(),
            prices: PriceTable { prices: record.prices.clone() },
        };
        let model = record.entries.first().map(|entry| entry.model.clone());
        Ok(Self { gateways: Arc::new(ModelGateways::new(gateway, model)), record })
    }

    /// What stands in the run.
    pub fn record(&self) -> &ModelsRecord {
        &self.record
    }

    /// Refuses a plan with sessions in which no gateway can be opened: it hangs on the sandbox's wire.
    ///
    /// # Errors
    /// Which pairs, and why.
    pub fn refuse_unreachable(
        &self,
        plan: &Plan,
        release: &LoadedRelease,
        host: &Host,
    ) -> Result<(), Failure> {
        if !host.channels().contains(&Channel::Network) {
            return Err(Failure::input(
                "--models: sandboxes of this kind have no wire here, so an agent inside reaches no gateway; \
                 `pcb doctor` says which have one",
            ));
        }
        let pairs: BTreeSet<&PairId> = plan.specs.iter().map(|spec| &spec.pair).collect();
        let public: Vec<String> = pairs
            .into_iter()
            .filter_map(|id| pair_and_task(release, id))
            .filter(|(_, task)| reached(task.agent_network()) == Network::Public)
            .map(|(pair, _)| pair.id.to_string())
            .collect();
        if public.is_empty() {
            return Ok(());
        }
        Err(Failure::input(format!(
            "--models: the task of {} is `public`: its network is its own and has no wire, so an agent inside reaches no \
             gateway; leave such pairs out with --pairs",
            public.join(", ")
        )))
    }

    /// Opens the gateways of sessions.
    pub fn gateways(&self) -> Arc<dyn Gateways> {
        self.gateways.clone()
    }
}

/// The text of a file that the user names.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

/// The entry of that name.
///
/// # Errors
/// There is none; the message names those that there are.
pub fn entry<'a>(file: &'a ModelsFile, path: &Path, name: &str) -> Result<&'a ModelEntry, Failure> {
    file.model(name).ok_or_else(|| {
        let known: Vec<&str> = file.models.iter().map(|entry| entry.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::input(format!("{}: no [[model]] `{name}`; there are: {known}", path.display()))
    })
}

/// Who answers for an entry.
///
/// # Errors
/// Its address or its authorities cannot be used, or the variable of its key is not set.
pub fn provider(
    name: &str,
    base: &str,
    key_variable: Option<&str>,
    authorities: Option<&str>,
) -> Result<HttpProvider, Failure> {
    let bad = |why: &dyn Display| Failure::input(format!("[[model]] `{name}`: {why}"));
    let base = BaseAddress::parse(base).map_err(|why| bad(&why))?;
    let key = key_variable.map(options::model_key).transpose()?;
    let provider = HttpProvider::new(base, key);
    match authorities {
        None => Ok(provider),
        Some(pem) => provider.trusting(pem).map_err(|why| bad(&format!("ca: {why}"))),
    }
}

/// The certificates that an entry names, by a path from the folder of its file.
///
/// # Errors
/// They cannot be read.
pub fn authorities(file: &Path, entry: &ModelEntry) -> Result<Option<String>, Failure> {
    let Some(ca) = &entry.ca else { return Ok(None) };
    let path = file.parent().unwrap_or(Path::new("")).join(ca);
    read(&path).map(Some)
}
