//! Volumes with things of ours, mounted read-only into containers, each made once for its content ([`Stored`]).

use std::{collections::HashMap, io};

use bollard::{
    errors::Error,
    models::{ContainerCreateBody, HostConfig, VolumeCreateRequest},
    query_parameters::{
        CreateContainerOptions, CreateImageOptions, RemoveContainerOptions, RemoveVolumeOptions,
        RenameContainerOptions, UploadToContainerOptionsBuilder,
    },
};
use engine::ports::sandbox::SandboxFault;
use futures_util::{TryStreamExt, stream};
use hyper::body::Bytes;
use tokio::sync::mpsc;

use super::{
    engine::{Engine, LABEL_PROGRAM, fault, is_absent},
    remover::remove,
};

/// An image with nothing in it.
/// Podman finds an imported one by its whole name alone.
pub(super) const EMPTY_IMAGE: &str = "localhost/personacodebench-program:empty";

/// Where the volume stands while it is filled.
const FILLED: &str = "/program";

/// Pieces of an archive on their way to the engine.
const PIECES: usize = 16;

/// Bytes of such a piece.
const PIECE: usize = 256 * 1024;

/// Something that a volume holds.
pub(super) struct Stored<'a, F> {
    /// How the container is called that says which volume is filled; tells the content too.
    pub(super) name: &'a str,
    /// What the volume's label says.
    pub(super) digest: &'a str,
    /// Where it is mounted.
    pub(super) folder: &'a str,
    /// Writes the content as an archive; called where it may block.
    pub(super) write: F,
}

impl<F> Stored<'_, F>
where
    F: Fn(&mut tar::Builder<Pieces>) -> io::Result<()> + Clone + Send + 'static,
{
    /// The mount for a container; the volume is made if no process has made it yet.
    ///
    /// A container of a fixed name, never started, says which volume is filled: it gets that name only when all is in
    /// it, so that nobody mounts one that is half full.
    pub(super) async fn bind(&self, engine: &Engine) -> Result<String, SandboxFault> {
        let said = |what: &'static str| move |error: Error| fault(what, &error);
        let mount = |volume: &str| format!("{volume}:{}:ro", self.folder);
        match engine.inspect(self.name).await {
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
        let renamed = RenameContainerOptions { name: self.name.to_owned() };
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
        let labels = engine.labels([(LABEL_PROGRAM, self.digest)]);
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            repo: Some(EMPTY_IMAGE.to_owned()),
            ..Default::default()
        };
        let nothing = tar::Builder::new(Vec::new());
        let nothing =
            nothing.into_inner().map_err(|error| SandboxFault::Lost(error.to_string()))?;
        let imported = engine.docker.create_image(
            Some(options),
            Some(bollard::body_full(nothing.into())),
            None,
        );
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
        let options = UploadToContainerOptionsBuilder::default().path(FILLED).build();
        let body = bollard::body_try_stream(pieces(self.write.clone()));
        let filled = engine.docker.upload_to_container(&made.id, Some(options), body).await;
        if let Err(error) = filled {
            // As with the volume.
            let _ = remove(engine, &made.id).await;
            return Err(fault("fill the program's volume", &error));
        }
        Ok(made.id)
    }
}

/// An archive as it is written, piece by piece, so that none is whole in memory.
fn pieces<F>(write: F) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Send + 'static
where
    F: Fn(&mut tar::Builder<Pieces>) -> io::Result<()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let told = sender.clone();
        let mut builder = tar::Builder::new(Pieces { sender, piece: Vec::with_capacity(PIECE) });
        let written = write(&mut builder).and_then(|()| {
            let mut pieces = builder.into_inner()?;
            io::Write::flush(&mut pieces)
        });
        if let Err(error) = written {
            // Whoever reads is gone: then it was they who stopped it.
            let _ = told.blocking_send(Err(error));
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    })
}

/// Takes an archive and sends it on in pieces.
pub(super) struct Pieces {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.blocking_send(Ok(piece.into())).map_err(gone)
    }
}
