//! Takes containers and their volumes away after their sandboxes are dropped, on a thread of its own, so that dropping never waits and the
//! end of the program leaves nothing behind ([`Remover`]).

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use bollard::{
    errors::Error,
    query_parameters::{RemoveContainerOptions, RemoveVolumeOptions},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use super::engine::{Engine, is_absent};

/// Removals at once: each keeps the engine busy with unmounting.
const AT_ONCE: usize = 4;

/// What others still need is tried again so often, and so long it is waited between.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// So often an engine is tried again that is away, and so long it is waited between.
const AWAY_TRIES: u32 = 10;
const AWAY_PAUSE: Duration = Duration::from_secs(1);

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doomed {
    /// A container by its id, with the volumes that are its own.
    Container(String),
    /// A volume by its name, once nobody has it.
    Volume(String),
}

/// Gives containers away to be removed. When the last clone goes, all that were given are gone.
pub(super) struct Remover {
    sender: Option<mpsc::UnboundedSender<Doomed>>,
    thread: Option<thread::JoinHandle<()>>,
    failed: Arc<Mutex<Vec<String>>>,
}

impl Remover {
    /// Starts the thread; it connects by itself, because connections belong to the runtime that made them.
    pub(super) fn start(address: String, engine: &Engine) -> std::io::Result<Self> {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Doomed>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let owner = engine.owner.as_ref().clone();
        let failed = Arc::new(Mutex::new(Vec::new()));
        let told = failed.clone();
        let work = move || {
            runtime.block_on(async move {
                let mut removals = JoinSet::new();
                let places = Arc::new(Semaphore::new(AT_ONCE));
                let mut engine = None;
                while let Some(doomed) = receiver.recv().await {
                    if engine.is_none() {
                        engine = Engine::connect(&address, owner.clone()).await.ok();
                    }
                    let (places, engine, told) = (places.clone(), engine.clone(), told.clone());
                    removals.spawn(async move {
                        let removed = match &engine {
                            Some(engine) => patiently(engine, &doomed, &places).await,
                            None => Err("the engine does not answer".to_owned()),
                        };
                        if let Err(why) = removed {
                            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                            let (Doomed::Container(name) | Doomed::Volume(name)) = doomed;
                            told.push(format!("{name}: {why}"));
                        }
                    });
                    while removals.try_join_next().is_some() {}
                }
                while removals.join_next().await.is_some() {}
            });
        };
        let thread = thread::Builder::new().name("remover".into()).spawn(work)?;
        Ok(Self { sender: Some(sender), thread: Some(thread), failed })
    }

    /// Takes something over; a container is killed and removed with its volumes.
    pub(super) fn take(&self, doomed: Doomed) {
        if let Some(sender) = &self.sender {
            // The thread lives as long as the sender.
            let _ = sender.send(doomed);
        }
    }

    /// What could not be removed, with why; `pcb clean` tries again.
    pub(super) fn failed(&self) -> Vec<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Removes something; an engine that is away may be back soon.
async fn patiently(engine: &Engine, doomed: &Doomed, places: &Semaphore) -> Result<(), String> {
    let mut tries = 0;
    loop {
        let removed = match doomed {
            Doomed::Container(id) => {
                // It is never closed.
                let _place = places.acquire().await;
                remove(engine, id).await
            }
            Doomed::Volume(name) => free(engine, name).await,
        };
        if removed.is_ok() || tries == AWAY_TRIES || engine.docker.ping().await.is_ok() {
            return removed;
        }
        tries += 1;
        tokio::time::sleep(AWAY_PAUSE).await;
    }
}

/// Removes a container that may be on its way out already, once nobody needs it.
pub(super) async fn remove(engine: &Engine, container: &str) -> Result<(), String> {
    let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
    let mut tries = 0;
    loop {
        match engine.docker.remove_container(container, Some(options.clone())).await {
            Ok(()) => return Ok(()),
            Err(error) if is_absent(&error) => return Ok(()),
            // Podman lets one that others share the network of go last.
            Err(error) if error.to_string().contains("dependent containers") && tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            // Somebody else is at it.
            Err(Error::DockerResponseServerError { status_code: 409, .. }) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Removes a volume as soon as nobody has it.
async fn free(engine: &Engine, volume: &str) -> Result<(), String> {
    for _ in 0..TRIES {
        match engine.docker.remove_volume(volume, None::<RemoveVolumeOptions>).await {
            Ok(()) => return Ok(()),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(Error::DockerResponseServerError { status_code: 409, .. }) => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("it is still in use".to_owned())
}
