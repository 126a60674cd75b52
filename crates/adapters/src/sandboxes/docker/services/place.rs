//! What a service finds in its container: [`mounts`], limits, and files of the task ([`place`]).

use bollard::{
    body_full,
    models::{
        Mount as EngineMount, MountTmpfsOptions, MountType, MountVolumeOptions, ResourcesUlimits,
    },
    query_parameters::UploadToContainerOptionsBuilder,
};
use engine::ports::sandbox::{FileEntry, SandboxFault};

use super::{
    project::{Copied, Mount, Service},
    running::Volumes,
};
use crate::sandboxes::docker::{
    build::archive,
    engine::{Engine, fault},
};

/// Mounts as the engine takes them; a volume that is not among these is the container's own.
pub(in super::super) fn mounts(service: &Service, volumes: &Volumes) -> Vec<EngineMount> {
    let mount = |mount: &Mount| match mount {
        Mount::Volume(volume) => EngineMount {
            typ: Some(MountType::VOLUME),
            source: volume.name.as_ref().and_then(|name| volumes.get(name).cloned()),
            target: Some(volume.target.clone()),
            read_only: Some(volume.is_read_only),
            volume_options: Some(MountVolumeOptions {
                no_copy: Some(volume.is_empty),
                ..Default::default()
            }),
            ..Default::default()
        },
        Mount::Memory { target, bytes, mode } => EngineMount {
            typ: Some(MountType::TMPFS),
            target: Some(target.clone()),
            tmpfs_options: Some(MountTmpfsOptions {
                size_bytes: *bytes,
                mode: mode.map(i64::from),
                ..Default::default()
            }),
            ..Default::default()
        },
    };
    service.mounts.iter().map(mount).collect()
}

/// Limits of single processes as the engine takes them.
pub(in super::super) fn ulimits(service: &Service) -> Vec<ResourcesUlimits> {
    let limit = |(name, soft, hard): &(String, i64, i64)| ResourcesUlimits {
        name: Some(name.clone()),
        soft: Some(*soft),
        hard: Some(*hard),
    };
    service.ulimits.iter().map(limit).collect()
}

/// Lays copies into a container that does not run yet.
pub(in super::super) async fn place(
    engine: &Engine,
    container: &str,
    copies: &[Copied],
) -> Result<(), SandboxFault> {
    if copies.is_empty() {
        return Ok(());
    }
    let files: Vec<FileEntry> = copies
        .iter()
        .flat_map(|copy| {
            let target = copy.target.trim_matches('/');
            copy.files.iter().map(move |file| FileEntry {
                path: [target, &file.path].join("/").trim_end_matches('/').to_owned(),
                ..file.clone()
            })
        })
        .collect();
    let packed = archive(&files).map_err(|error| SandboxFault::Lost(error.to_string()))?;
    let options = UploadToContainerOptionsBuilder::default().path("/").build();
    let placed =
        engine.docker.upload_to_container(container, Some(options), body_full(packed.into()));
    placed.await.map_err(|error| fault("place a task's files in a container", &error))
}
