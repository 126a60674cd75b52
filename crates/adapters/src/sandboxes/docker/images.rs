//! Images that sandboxes stand on: built from a Dockerfile, or named, each made once for all that share it
//! ([`make`], [`Root`]).

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use bollard::{
    body_full,
    models::{ContainerCreateBody, ImageInspect},
    query_parameters::{
        CommitContainerOptions, CreateContainerOptions, CreateImageOptions, RemoveContainerOptions,
        UploadToContainerOptionsBuilder,
    },
};
use engine::ports::sandbox::{BaseSpec, FileEntry, FileNode, Image, SandboxFault};
use futures_util::TryStreamExt;

use super::{
    build::{Building, archive, build, first_image},
    engine::{Engine, LABEL_BASE, fault, is_absent},
    services::{Dockerfile, Plan, Project, Recipe, Service, Source, health_test},
};

/// Images that were made here are tags of this name.
pub(super) const REPOSITORY: &str = "personacodebench-base";

const DOCKERFILE: &str = "Dockerfile";

/// What engines give a container whose image sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A pull that has not ended by then is given up.
const PULL_TIMEOUT: Duration = Duration::from_secs(1800);

/// An image with what its containers start from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Root {
    /// The digest of the base.
    pub(super) digest: String,
    /// The image's id.
    pub(super) image: String,
    /// Who runs commands; none is root.
    pub(super) user: Option<String>,
    /// Where the image's own command starts.
    pub(super) image_workdir: String,
    /// Where commands start.
    pub(super) workdir: String,
    /// Variables of image and task.
    pub(super) env: BTreeMap<String, String>,
    /// What runs as the first process; none is our own program.
    pub(super) first: Option<Vec<String>>,
    /// Paths that lie on volumes, which the engine leaves out of changes.
    pub(super) volumes: Vec<String>,
    /// The image that the last stage of the Dockerfile begins with, if it is known.
    pub(super) from: Option<String>,
    /// The services beside it.
    pub(super) plan: Option<Arc<Plan>>,
}

/// As Harbor does: the image's entrypoint stays in front, its command gives way to one that waits.
const WAITING: [&str; 3] = ["sh", "-c", "sleep infinity"];

/// Makes the image of a base, or finds the one that was made of the same.
pub(super) async fn make(engine: &Engine, spec: &BaseSpec) -> Result<Root, SandboxFault> {
    let tag = format!("{REPOSITORY}:{}", spec.digest.as_str());
    let (found, from) = match &spec.image {
        Image::None => {
            return Err(SandboxFault::Setup(
                "the task has neither a Dockerfile nor the name of an image: add environment/Dockerfile, or run it \
                 with --sandbox local"
                    .to_owned(),
            ));
        }
        Image::Dockerfile(text) => {
            let found = match look_up(engine, &tag).await? {
                Some(found) => found,
                None => {
                    let context = with_dockerfile(spec);
                    let building = Building {
                        context: &context,
                        dockerfile: DOCKERFILE,
                        args: &BTreeMap::new(),
                        target: None,
                        digest: spec.digest.as_str(),
                        timeout: spec.setup_timeout,
                    };
                    build(engine, &building, &tag).await?;
                    expect(engine, &tag).await?
                }
            };
            (found, first_image(&String::from_utf8_lossy(text)))
        }
        Image::Named(name) if spec.environment.is_empty() => (named(engine, name).await?, None),
        Image::Named(name) => {
            let found = match look_up(engine, &tag).await? {
                Some(found) => found,
                None => {
                    let original = named(engine, name).await?;
                    add_files(engine, spec, &original, &tag).await?;
                    expect(engine, &tag).await?
                }
            };
            (found, Some(name.clone()))
        }
    };
    Ok(root(spec, found, from))
}

/// Makes the images of a project: main's, with those of the services beside it.
pub(super) async fn make_project(
    engine: &Engine,
    spec: &BaseSpec,
    project: Project,
) -> Result<Root, SandboxFault> {
    let (found, from) = of_service(engine, spec, &project.main).await?;
    let mut images = BTreeMap::new();
    let mut tests = BTreeMap::new();
    tests.extend(health_test(&project.main, &found));
    for service in &project.others {
        let (found, _) = of_service(engine, spec, service).await?;
        tests.extend(health_test(service, &found));
        images.insert(service.name.clone(), found.id.unwrap_or_default());
    }
    let mut root = root(spec, found, from);
    let main = &project.main;
    root.user = main.user.clone().or(root.user);
    if let (Some(workdir), true) = (&main.workdir, spec.workdir.is_empty()) {
        root.workdir.clone_from(workdir);
    }
    if let Some(workdir) = &main.workdir {
        root.image_workdir.clone_from(workdir);
    }
    for (name, value) in &main.env {
        // What the task itself sets goes over it.
        if !spec.env.contains_key(name) {
            root.env.insert(name.clone(), value.clone());
        }
    }
    root.first = first_process(root.first, main);
    root.volumes.extend(main.mounted().map(str::to_owned));
    root.plan = Some(Arc::new(Plan { project, images, tests, timeout: spec.setup_timeout }));
    Ok(root)
}

/// What main runs as its first process; none if it does nothing but wait.
fn first_process(of_image: Option<Vec<String>>, main: &Service) -> Option<Vec<String>> {
    let own = of_image.map(|words| words[..words.len() - WAITING.len()].to_vec());
    let entrypoint = main.entrypoint.clone().or(own).unwrap_or_default();
    let waiting = || WAITING.map(str::to_owned).to_vec();
    let command = main.command.clone().unwrap_or_else(waiting);
    let is_idle = entrypoint.is_empty() && command == WAITING;
    (!is_idle).then(|| [entrypoint, command].concat())
}

/// The image of a service, and the one that it was built on.
async fn of_service(
    engine: &Engine,
    spec: &BaseSpec,
    service: &Service,
) -> Result<(ImageInspect, Option<String>), SandboxFault> {
    let said = |fault: SandboxFault| match fault {
        SandboxFault::Setup(why) => {
            SandboxFault::Setup(format!("service `{}`: {why}", service.name))
        }
        other => other,
    };
    match &service.source {
        Source::Nowhere => Err(said(SandboxFault::Setup("it has no image".to_owned()))),
        Source::Named(name) => Ok((named(engine, name).await.map_err(said)?, None)),
        Source::Built(recipe) => built(engine, spec, recipe).await.map_err(said),
    }
}

async fn built(
    engine: &Engine,
    spec: &BaseSpec,
    recipe: &Recipe,
) -> Result<(ImageInspect, Option<String>), SandboxFault> {
    let mut context: Vec<FileEntry> = with_dockerfile(spec)
        .into_iter()
        .filter_map(|file| {
            let path = Path::new(&file.path).strip_prefix(&recipe.context).ok()?;
            Some(FileEntry { path: path.to_string_lossy().into_owned(), ..file })
        })
        .collect();
    let dockerfile = match &recipe.dockerfile {
        Dockerfile::Path(path) => path.trim_start_matches("./").to_owned(),
        Dockerfile::Text(text) => {
            let path = ".dockerfile-of-the-compose-file".to_owned();
            let node = FileNode::File(text.clone().into_bytes());
            context.push(FileEntry { path: path.clone(), node, mode: 0o644 });
            path
        }
    };
    let packed = archive(&context).map_err(|error| SandboxFault::Lost(error.to_string()))?;
    let mut hasher = blake3::Hasher::new();
    for part in [&packed, dockerfile.as_bytes(), format!("{recipe:?}").as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let digest = hasher.finalize().to_hex();
    let tag = format!("{REPOSITORY}:{digest}");
    let text = context.iter().find(|file| file.path == dockerfile).map(|file| &file.node);
    let from = match text {
        Some(FileNode::File(bytes)) => first_image(&String::from_utf8_lossy(bytes)),
        _ => None,
    };
    if let Some(found) = look_up(engine, &tag).await? {
        return Ok((found, from));
    }
    let building = Building {
        context: &context,
        dockerfile: &dockerfile,
        args: &recipe.args,
        target: recipe.target.as_deref(),
        digest: &digest,
        timeout: spec.setup_timeout,
    };
    build(engine, &building, &tag).await?;
    Ok((expect(engine, &tag).await?, from))
}

/// The environment's folder as it lies on disk.
fn with_dockerfile(spec: &BaseSpec) -> Vec<FileEntry> {
    let mut files = spec.environment.clone();
    if let Image::Dockerfile(text) = &spec.image {
        let node = FileNode::File(text.clone());
        files.push(FileEntry { path: DOCKERFILE.to_owned(), node, mode: 0o644 });
    }
    files
}

fn root(spec: &BaseSpec, found: ImageInspect, from: Option<String>) -> Root {
    let config = found.config.unwrap_or_default();
    let variables = config.env.unwrap_or_default();
    let mut env: BTreeMap<String, String> = variables
        .iter()
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    env.extend(spec.env.clone());
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let image_workdir = filled(config.working_dir).unwrap_or_else(|| "/".to_owned());
    let workdir =
        if spec.workdir.is_empty() { image_workdir.clone() } else { spec.workdir.clone() };
    let entrypoint = config.entrypoint.filter(|words| !words.is_empty());
    let waiting = WAITING.map(str::to_owned);
    Root {
        digest: spec.digest.as_str().to_owned(),
        image: found.id.unwrap_or_default(),
        user: filled(config.user),
        image_workdir,
        workdir,
        env,
        first: entrypoint.map(|words| words.into_iter().chain(waiting).collect()),
        volumes: config.volumes.unwrap_or_default(),
        from,
        plan: None,
    }
}

async fn look_up(engine: &Engine, name: &str) -> Result<Option<ImageInspect>, SandboxFault> {
    match engine.docker.inspect_image(name).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(fault("look for an image", &error)),
    }
}

async fn expect(engine: &Engine, name: &str) -> Result<ImageInspect, SandboxFault> {
    let gone = || SandboxFault::Lost(format!("the image {name} is gone right after it was made"));
    look_up(engine, name).await?.ok_or_else(gone)
}

/// An image of somebody else's, fetched if the engine lacks it.
async fn named(engine: &Engine, name: &str) -> Result<ImageInspect, SandboxFault> {
    if let Some(found) = look_up(engine, name).await? {
        return Ok(found);
    }
    let options = CreateImageOptions { from_image: Some(name.to_owned()), ..Default::default() };
    let pull = engine.docker.create_image(Some(options), None, None).try_collect::<Vec<_>>();
    match tokio::time::timeout(PULL_TIMEOUT, pull).await {
        Ok(Ok(_)) => expect(engine, name).await,
        Ok(Err(error)) => Err(SandboxFault::Setup(format!(
            "the image {name} is neither here nor can it be fetched: {error}; build or load it under that name"
        ))),
        Err(_) => Err(SandboxFault::Setup(format!("fetching the image {name} takes too long"))),
    }
}

/// As Harbor does with a named image: what stands in `environment/` is laid into the working directory.
async fn add_files(
    engine: &Engine,
    spec: &BaseSpec,
    original: &ImageInspect,
    tag: &str,
) -> Result<(), SandboxFault> {
    let said = |what: &'static str| move |error| fault(what, &error);
    let root = root(spec, original.clone(), None);
    let body = ContainerCreateBody {
        image: Some(root.image),
        // It is never started.
        cmd: Some(vec!["true".to_owned()]),
        working_dir: Some(root.workdir.clone()),
        labels: Some(engine.labels([(LABEL_BASE, spec.digest.as_str())])),
        ..Default::default()
    };
    let made = engine.docker.create_container(None::<CreateContainerOptions>, body).await;
    let made = made.map_err(said("make a container"))?;
    let filled = async {
        let archive =
            archive(&spec.environment).map_err(|error| SandboxFault::Lost(error.to_string()))?;
        let options = UploadToContainerOptionsBuilder::default().path(&root.workdir).build();
        let body = body_full(archive.into());
        let placed = engine.docker.upload_to_container(&made.id, Some(options), body).await;
        placed.map_err(said("place files in a container"))?;
        let (repo, tag) = tag.split_once(':').unwrap_or((tag, "latest"));
        let options = CommitContainerOptions {
            container: Some(made.id.clone()),
            repo: Some(repo.to_owned()),
            tag: Some(tag.to_owned()),
            ..Default::default()
        };
        let config = bollard::models::ContainerConfig::default();
        let kept = engine.docker.commit_container(options, config).await;
        kept.map(drop).map_err(said("keep an image"))
    };
    let filled = filled.await;
    let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
    let removed = engine.docker.remove_container(&made.id, Some(options)).await;
    filled?;
    removed.map_err(said("remove a container"))
}
