//! What runs inside containers: this very program with its loader and libraries, on a volume that is made once for each
//! build and mounted read-only ([`Program`]), so that it runs in images of any C library or of none.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use bollard::{
    body_full,
    errors::Error,
    models::{ContainerCreateBody, HostConfig, VolumeCreateRequest},
    query_parameters::{
        CreateContainerOptions, CreateImageOptions, RemoveContainerOptions, RemoveVolumeOptions,
        RenameContainerOptions, UploadToContainerOptionsBuilder,
    },
};
use engine::ports::sandbox::SandboxFault;
use futures_util::TryStreamExt;

use super::{
    engine::{Engine, LABEL_PROGRAM, fault, is_absent},
    remover::remove,
};
use crate::process::{self, Variables};

/// Where the volume stands inside: on the container's own `/dev`, so that no image gets a directory for it.
pub(super) const FOLDER: &str = "/dev/.init";

/// Names of what stays on the engine for a build begin so.
const NAME: &str = "personacodebench-program";

/// An image with nothing in it.
/// Podman finds an imported one by its whole name alone.
pub(super) const EMPTY_IMAGE: &str = "localhost/personacodebench-program:empty";

/// Where the volume stands while it is filled.
const FILLED: &str = "/program";

const LDD_TIMEOUT: Duration = Duration::from_secs(20);

/// The program with everything that it loads.
pub(super) struct Program {
    /// Names in the volume with where they lie on the host.
    files: Vec<(String, PathBuf)>,
    digest: String,
}

impl Program {
    /// Finds a program's loader and libraries by asking the loader.
    pub(super) async fn find(program: &Path) -> io::Result<Self> {
        let program = fs::canonicalize(program)?;
        let mut files = vec![("init".to_owned(), program.clone())];
        let path = program.to_string_lossy();
        let none = Variables::new();
        let listed = process::output(Path::new("ldd"), &[&path], &none, LDD_TIMEOUT).await?;
        for path in listed.stdout.lines().filter_map(library) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let name = if name.starts_with("ld-") { "ld.so".to_owned() } else { name };
            files.push((name, path));
        }
        if !files.iter().any(|(name, _)| name == "ld.so") {
            return Err(io::Error::other(format!("ldd does not tell the loader of {path}")));
        }
        let mut hasher = blake3::Hasher::new();
        for (name, path) in &files {
            hasher.update(name.as_bytes());
            hasher.update_reader(fs::File::open(path)?)?;
        }
        let digest = hasher.finalize().to_hex()[..16].to_owned();
        Ok(Self { files, digest })
    }

    /// The entrypoint of a container that runs it with this argument.
    pub(super) fn entrypoint(&self, argument: &str) -> Vec<String> {
        let words = [
            &format!("{FOLDER}/ld.so"),
            "--library-path",
            FOLDER,
            &format!("{FOLDER}/init"),
            argument,
        ];
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The mount for a container; the volume is made if no process has made it yet.
    ///
    /// A container of a fixed name, never started, says which volume is filled: it gets that name only when all is in
    /// it, so that nobody mounts one that is half full.
    pub(super) async fn bind(&self, engine: &Engine) -> Result<String, SandboxFault> {
        let said = |what: &'static str| move |error: Error| fault(what, &error);
        let name = format!("{NAME}-{}", self.digest);
        let mount = |volume: &str| format!("{volume}:{FOLDER}:ro");
        match engine.inspect(&name).await {
            Ok(marker) => {
                let binds = marker.host_config.and_then(|config| config.binds).unwrap_or_default();
                if let Some((volume, _)) = binds.first().and_then(|bind| bind.split_once(':')) {
                    return Ok(mount(volume));
                }
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(fault("look for the program's volume", &error)),
        }
        let (container, volume) = self.fill(engine).await?;
        let renamed = RenameContainerOptions { name: name.clone() };
        match engine.docker.rename_container(&container, renamed).await {
            Ok(()) => Ok(mount(&volume)),
            // Another process was quicker: its volume is as good.
            Err(Error::DockerResponseServerError { status_code: 409, .. }) => {
                let force = RemoveContainerOptions { force: true, ..Default::default() };
                let removed = engine.docker.remove_container(&container, Some(force)).await;
                removed.map_err(said("remove a second container of the program"))?;
                let options = RemoveVolumeOptions { force: true };
                let removed = engine.docker.remove_volume(&volume, Some(options)).await;
                removed.map_err(said("remove a second volume of the program"))?;
                Box::pin(self.bind(engine)).await
            }
            Err(error) => Err(fault("name the program's container", &error)),
        }
    }

    /// A new volume with everything in it, and the container that holds it.
    async fn fill(&self, engine: &Engine) -> Result<(String, String), SandboxFault> {
        let said = |what: &'static str| move |error| fault(what, &error);
        let labels = engine.labels([(LABEL_PROGRAM, &self.digest)]);
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            repo: Some(EMPTY_IMAGE.to_owned()),
            ..Default::default()
        };
        let nothing = tar::Builder::new(Vec::new());
        let nothing =
            nothing.into_inner().map_err(|error| SandboxFault::Lost(error.to_string()))?;
        let imported =
            engine.docker.create_image(Some(options), Some(body_full(nothing.into())), None);
        imported.try_collect::<Vec<_>>().await.map_err(said("import an empty image"))?;
        let request = VolumeCreateRequest { labels: Some(labels.clone()), ..Default::default() };
        let volume = engine.docker.create_volume(request).await;
        let volume = volume.map_err(said("make the program's volume"))?.name;
        match self.fill_volume(engine, &volume, labels).await {
            Ok(container) => Ok((container, volume)),
            Err(fault) => {
                // The fault is told; what cannot be removed either is found by its label.
                let options = Some(RemoveVolumeOptions { force: true });
                let _ = engine.docker.remove_volume(&volume, options).await;
                Err(fault)
            }
        }
    }

    /// The container that holds a volume, which has everything in it.
    async fn fill_volume(
        &self,
        engine: &Engine,
        volume: &str,
        labels: HashMap<String, String>,
    ) -> Result<String, SandboxFault> {
        let said = |what: &'static str| move |error| fault(what, &error);
        let body = ContainerCreateBody {
            image: Some(EMPTY_IMAGE.to_owned()),
            entrypoint: Some(vec!["/never".to_owned()]),
            labels: Some(labels),
            host_config: Some(HostConfig {
                binds: Some(vec![format!("{volume}:{FILLED}")]),
                network_mode: Some("none".to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let made = engine.docker.create_container(None::<CreateContainerOptions>, body).await;
        let made = made.map_err(said("make a container for the program's volume"))?;
        let filled = async {
            let archive = self.archive().map_err(|error| SandboxFault::Lost(error.to_string()))?;
            let options = UploadToContainerOptionsBuilder::default().path(FILLED).build();
            let body = body_full(archive.into());
            let filled = engine.docker.upload_to_container(&made.id, Some(options), body).await;
            filled.map_err(said("fill the program's volume"))
        };
        if let Err(fault) = filled.await {
            // As with the volume.
            let _ = remove(engine, &made.id).await;
            return Err(fault);
        }
        Ok(made.id)
    }

    fn archive(&self) -> io::Result<Vec<u8>> {
        let mut sizes = Vec::new();
        for (_, path) in &self.files {
            sizes.push(fs::metadata(path)?.len());
        }
        // It is as big as the program: made room for once, and read straight into it.
        let all = sizes.iter().sum::<u64>() as usize + (self.files.len() + 1) * 2048;
        let mut builder = tar::Builder::new(Vec::with_capacity(all));
        for ((name, path), size) in self.files.iter().zip(sizes) {
            let mut header = tar::Header::new_gnu();
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(size);
            header.set_mode(0o755);
            builder.append_data(&mut header, name, fs::File::open(path)?)?;
        }
        builder.into_inner()
    }
}

/// The path on a line of ldd: `libc.so.6 => /lib/libc.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn library(line: &str) -> Option<PathBuf> {
    let path = line.split_once("=>").map_or(line, |(_, path)| path);
    let path = path.trim().split(" (").next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}
