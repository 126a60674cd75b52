//! Images that sandboxes stand on: built from a Dockerfile, or named, each made once for all that share it
//! ([`make`], [`Root`]).

use std::{
    collections::BTreeMap,
    io,
    time::{Duration, SystemTime},
};

use bollard::{
    body_full,
    errors::Error,
    models::{ContainerCreateBody, ImageInspect},
    query_parameters::{
        BuildImageOptions, CommitContainerOptions, CreateContainerOptions, CreateImageOptions,
        RemoveContainerOptions, UploadToContainerOptionsBuilder,
    },
};
use engine::ports::sandbox::{BaseSpec, FileEntry, FileNode, Image, SandboxFault};
use futures_util::{StreamExt, TryStreamExt};

use super::engine::{Engine, LABEL_BASE, fault, is_absent, is_host_limit};

/// Images that were made here are tags of this name.
pub(super) const REPOSITORY: &str = "personacodebench-base";

/// What engines give a container whose image sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Lines of a failed build that are told.
const LINES_TOLD: usize = 50;

/// A pull that has not ended by then is given up.
const PULL_TIMEOUT: Duration = Duration::from_secs(1800);

/// An image with what its containers start from.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The image's own entrypoint.
    pub(super) entrypoint: Option<Vec<String>>,
    /// Paths that the image keeps on volumes, which the engine leaves out of changes.
    pub(super) volumes: Vec<String>,
    /// The image that the last stage of the Dockerfile begins with, if it is known.
    pub(super) from: Option<String>,
}

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
                    build(engine, spec, text, &tag).await?;
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
    Root {
        digest: spec.digest.as_str().to_owned(),
        image: found.id.unwrap_or_default(),
        user: filled(config.user),
        image_workdir,
        workdir,
        env,
        entrypoint: config.entrypoint.filter(|words| !words.is_empty()),
        volumes: config.volumes.unwrap_or_default(),
        from,
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

async fn build(
    engine: &Engine,
    spec: &BaseSpec,
    dockerfile: &[u8],
    tag: &str,
) -> Result<(), SandboxFault> {
    let mut files = spec.environment.clone();
    files.push(FileEntry {
        path: "Dockerfile".to_owned(),
        node: FileNode::File(dockerfile.to_vec()),
        mode: 0o644,
    });
    let context = archive(&files).map_err(|error| SandboxFault::Lost(error.to_string()))?;
    let options = BuildImageOptions {
        dockerfile: "Dockerfile".to_owned(),
        t: Some(tag.to_owned()),
        rm: true,
        forcerm: true,
        labels: Some(engine.labels([(LABEL_BASE, spec.digest.as_str())])),
        ..Default::default()
    };
    let mut steps =
        Box::pin(engine.docker.build_image(options, None, Some(body_full(context.into()))));
    let mut said = Said::default();
    let building = async {
        while let Some(step) = steps.next().await {
            let step = step?;
            let told = [step.stream, step.error_detail.and_then(|detail| detail.message)];
            for text in told.into_iter().flatten() {
                said.add(&text);
            }
        }
        Ok::<(), Error>(())
    };
    let ended = tokio::time::timeout(spec.setup_timeout, building).await;
    let told = |why: String| said.last_lines(&why);
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let text = told(error.to_string());
            match error {
                _ if is_host_limit(&text) => Err(SandboxFault::HostLimit(text)),
                Error::DockerStreamError { .. } | Error::DockerResponseServerError { .. } => {
                    Err(SandboxFault::Setup(format!("the image cannot be built:\n{text}")))
                }
                _ => Err(fault("build an image", &error)),
            }
        }
        Err(_) => {
            let seconds = spec.setup_timeout.as_secs();
            let text = told(format!("the build did not end within {seconds} s"));
            Err(SandboxFault::Setup(format!("the image cannot be built:\n{text}")))
        }
    }
}

/// What a build has said. The engine passes its two streams on in no fixed order, so what came on the error stream is
/// kept apart: the reason would be lost behind a long output.
#[derive(Default)]
struct Said {
    output: Vec<String>,
    errors: Vec<String>,
}

impl Said {
    fn add(&mut self, text: &str) {
        // The builder shows what came on the error stream in red.
        let lines = if text.contains("\u{1b}[91m") { &mut self.errors } else { &mut self.output };
        lines.extend(plain_lines(text));
        lines.drain(..lines.len().saturating_sub(LINES_TOLD));
    }

    fn last_lines(&self, why: &str) -> String {
        let errors = &self.errors[self.errors.len().saturating_sub(LINES_TOLD / 2)..];
        let mut lines = self.output.clone();
        lines.extend_from_slice(errors);
        let last = self.output.last();
        if last.is_none_or(|last| !why.contains(last.as_str())) {
            lines.extend(plain_lines(why));
        }
        lines.drain(..lines.len().saturating_sub(LINES_TOLD));
        lines.join("\n")
    }
}

/// Lines with something on them, without the colours of terminals.
fn plain_lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix('m').unwrap_or(rest);
    }
    plain.push_str(rest);
    plain.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
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

/// A tar of files as root owns them.
fn archive(files: &[FileEntry]) -> io::Result<Vec<u8>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut builder = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mode(file.mode);
        header.set_mtime(now.as_secs());
        match &file.node {
            FileNode::File(bytes) => {
                header.set_size(bytes.len() as u64);
                builder.append_data(&mut header, &file.path, bytes.as_slice())?;
            }
            FileNode::Directory => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_size(0);
                builder.append_data(&mut header, &file.path, io::empty())?;
            }
            FileNode::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, &file.path, target)?;
            }
            FileNode::Absent => {}
        }
    }
    builder.into_inner()
}

/// The image that the last stage stands on, through earlier stages of the same file.
fn first_image(dockerfile: &str) -> Option<String> {
    let mut stages: BTreeMap<String, String> = BTreeMap::new();
    let mut last = None;
    for line in dockerfile.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("from")) {
            continue;
        }
        let mut words = words.filter(|word| !word.starts_with("--"));
        let named = words.next()?.to_owned();
        let image = stages.get(&named.to_lowercase()).cloned().unwrap_or(named);
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("as"))
            && let Some(alias) = words.next()
        {
            stages.insert(alias.to_lowercase(), image.clone());
        }
        last = Some(image);
    }
    last.filter(|image| !image.contains('$') && image != "scratch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_image_is_found_through_stages() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(first_image(text).as_deref(), expect, "{text}");
        };
        check("FROM debian:12\nRUN true\n", Some("debian:12"));
        check("from --platform=linux/amd64 a AS Build\nFROM b\nCOPY --from=build /x /x", Some("b"));
        check("FROM a AS one\nFROM one AS two\nFROM two\n", Some("a"));
        check("ARG X=1\nFROM a:$X\n", None);
        check("FROM scratch\n", None);
        check("RUN true\n", None);
    }

    #[test]
    fn a_context_holds_what_it_is_given() {
        let entry = |path: &str, node, mode| FileEntry { path: path.to_owned(), node, mode };
        let files = [
            entry("a/b", FileNode::File(b"text".to_vec()), 0o755),
            entry("c", FileNode::Link("a/b".to_owned()), 0o777),
            entry("d", FileNode::Directory, 0o700),
            entry("e", FileNode::Absent, 0),
        ];
        let bytes = archive(&files).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<(String, u32, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.uid().unwrap())
            })
            .collect();
        let expect = [("a/b", 0o755, 0), ("c", 0o777, 0), ("d", 0o700, 0)];
        let expect: Vec<_> =
            expect.iter().map(|(path, mode, uid)| ((*path).to_owned(), *mode, *uid)).collect();
        assert_eq!(found, expect);
    }
}
