//! Takes away what dead runs left on an engine ([`sweep`]); nothing whose owner may be alive is touched unasked.

use std::{collections::HashMap, time::Duration};

use bollard::{
    errors::Error,
    models::ContainerSummary,
    query_parameters::{
        ListContainersOptions, ListImagesOptions, ListVolumesOptions, RemoveImageOptions,
        RemoveVolumeOptions,
    },
};
use engine::ports::sandbox::SandboxFault;

use super::{
    engine::{
        Engine, LABEL_ATTEMPT, LABEL_BASE, LABEL_OWNER, LABEL_PROGRAM, LABEL_RUN, LABEL_SESSION,
        fault, is_absent,
    },
    owner::Owner,
    remover::remove,
};

/// How often a list that cannot be read is asked for again, and how long after.
const STATE_LOOKS: u32 = 20;
const STATE_PAUSE: Duration = Duration::from_millis(100);

/// States of containers that the API and Podman both have.
const KNOWN_STATES: [&str; 4] = ["created", "running", "paused", "exited"];

/// What a leftover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftoverKind {
    /// A container of a session.
    Container,
    /// The program's volume with the container that holds it.
    Program,
    /// A volume that services of a session shared.
    Volume,
    /// An image that a base was built as.
    Image,
}

/// Something of ours on the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// What it is.
    pub kind: LeftoverKind,
    /// Its id or name.
    pub id: String,
    /// Run, session and attempt as its labels say; empty where it belongs to none.
    pub of: String,
}

/// How far a sweep goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Swept {
    /// Containers whose owner is provably dead.
    Dead,
    /// Every container of ours, also of runs that go on or of other machines.
    Containers,
    /// Everything: the program's volumes and built images too.
    Everything,
}

/// Takes away leftovers and answers what went.
///
/// # Errors
/// The engine does not answer, or one of them cannot be removed.
pub async fn sweep(address: &str, swept: Swept) -> Result<Vec<Leftover>, SandboxFault> {
    let engine = Engine::connect(address, Owner::current()).await?;
    sweep_engine(&engine, swept).await
}

pub(super) async fn sweep_engine(
    engine: &Engine,
    swept: Swept,
) -> Result<Vec<Leftover>, SandboxFault> {
    let mut gone = Vec::new();
    for (leftover, owner) in containers(engine).await? {
        let is_wanted = match (leftover.kind, swept) {
            (LeftoverKind::Program, Swept::Everything) => true,
            (LeftoverKind::Program, _) => false,
            (_, Swept::Dead) => owner.as_ref().is_some_and(Owner::is_provably_dead),
            _ => true,
        };
        if is_wanted {
            let removed = remove(engine, &leftover.id).await;
            removed.map_err(|why| SandboxFault::Lost(format!("{}: {why}", leftover.id)))?;
            gone.push(leftover);
        }
    }
    gone.extend(volumes(engine, swept).await?);
    if swept == Swept::Everything {
        gone.extend(images(engine).await?);
    }
    Ok(gone)
}

async fn containers(engine: &Engine) -> Result<Vec<(Leftover, Option<Owner>)>, SandboxFault> {
    let found = listed(engine).await?.into_iter().filter_map(|container| {
        let labels = container.labels.unwrap_or_default();
        let is_program = labels.contains_key(LABEL_PROGRAM);
        let kind = if is_program { LeftoverKind::Program } else { LeftoverKind::Container };
        let leftover = Leftover { kind, id: container.id?, of: of(&labels) };
        Some((leftover, labels.get(LABEL_OWNER).and_then(|text| Owner::parse(text))))
    });
    Ok(found.collect())
}

/// Containers of ours. Podman calls one that has just ended `stopped`, a state that the API does not have, and the whole
/// list cannot be read until that one is `exited`. One that stays so is left to a later sweep.
async fn listed(engine: &Engine) -> Result<Vec<ContainerSummary>, SandboxFault> {
    let list = async |filters| {
        let options = ListContainersOptions { all: true, filters, ..Default::default() };
        engine.docker.list_containers(Some(options)).await
    };
    for _ in 0..STATE_LOOKS {
        match list(ours()).await {
            Err(Error::JsonDataError { .. }) => tokio::time::sleep(STATE_PAUSE).await,
            listed => return listed.map_err(|error| fault("list containers", &error)),
        }
    }
    let mut known = ours().unwrap_or_default();
    known.insert("status".to_owned(), KNOWN_STATES.map(str::to_owned).to_vec());
    list(Some(known)).await.map_err(|error| fault("list containers", &error))
}

/// Run, session and attempt.
fn of(labels: &HashMap<String, String>) -> String {
    let of = [LABEL_RUN, LABEL_SESSION, LABEL_ATTEMPT].map(|name| labels.get(name));
    let of: Vec<&str> =
        of.into_iter().flatten().map(String::as_str).filter(|word| !word.is_empty()).collect();
    of.join(" ")
}

/// Removes volumes: the program's only with everything, for its container tells of it.
async fn volumes(engine: &Engine, swept: Swept) -> Result<Vec<Leftover>, SandboxFault> {
    let options = ListVolumesOptions { filters: ours() };
    let listed = engine.docker.list_volumes(Some(options)).await;
    let listed = listed.map_err(|error| fault("list volumes", &error))?.volumes;
    let mut gone = Vec::new();
    for volume in listed.unwrap_or_default() {
        let is_program = volume.labels.contains_key(LABEL_PROGRAM);
        let owner = volume.labels.get(LABEL_OWNER).and_then(|text| Owner::parse(text));
        let is_wanted = match swept {
            Swept::Everything => true,
            Swept::Containers => !is_program,
            Swept::Dead => !is_program && owner.as_ref().is_some_and(Owner::is_provably_dead),
        };
        if !is_wanted {
            continue;
        }
        let options = RemoveVolumeOptions { force: true };
        match engine.docker.remove_volume(&volume.name, Some(options)).await {
            Ok(()) => {}
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(fault("remove a volume", &error)),
        }
        if !is_program {
            let kind = LeftoverKind::Volume;
            gone.push(Leftover { kind, id: volume.name, of: of(&volume.labels) });
        }
    }
    Ok(gone)
}

async fn images(engine: &Engine) -> Result<Vec<Leftover>, SandboxFault> {
    let filters = HashMap::from([("label".to_owned(), vec![LABEL_BASE.to_owned()])]);
    let options = ListImagesOptions { filters: Some(filters), ..Default::default() };
    let listed = engine.docker.list_images(Some(options)).await;
    let mut gone = Vec::new();
    for image in listed.map_err(|error| fault("list images", &error))? {
        for name in image.repo_tags {
            let options = RemoveImageOptions { force: true, ..Default::default() };
            match engine.docker.remove_image(&name, Some(options), None).await {
                Ok(_) => {}
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(fault("remove an image", &error)),
            }
            gone.push(Leftover { kind: LeftoverKind::Image, id: name, of: String::new() });
        }
    }
    Ok(gone)
}

fn ours() -> Option<HashMap<String, Vec<String>>> {
    Some(HashMap::from([("label".to_owned(), vec![LABEL_OWNER.to_owned()])]))
}
