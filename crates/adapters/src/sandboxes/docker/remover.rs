//! Takes containers away after their sandboxes are dropped, on a thread of its own, so that dropping never waits and the
//! end of the program leaves nothing behind ([`Remover`]).

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use bollard::query_parameters::RemoveContainerOptions;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use super::engine::{Engine, is_absent};

/// Removals at once: each keeps the engine busy with unmounting.
const AT_ONCE: usize = 4;

/// Gives containers away to be removed. When the last clone goes, all that were given are gone.
pub(super) struct Remover {
    sender: Option<mpsc::UnboundedSender<String>>,
    thread: Option<thread::JoinHandle<()>>,
    failed: Arc<Mutex<Vec<String>>>,
}

impl Remover {
    /// Starts the thread; it connects by itself, because connections belong to the runtime that made them.
    pub(super) fn start(address: String, engine: &Engine) -> std::io::Result<Self> {
        let (sender, mut receiver) = mpsc::unbounded_channel::<String>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let owner = engine.owner.as_ref().clone();
        let failed = Arc::new(Mutex::new(Vec::new()));
        let told = failed.clone();
        let work = move || {
            runtime.block_on(async move {
                let mut removals = JoinSet::new();
                let places = Arc::new(Semaphore::new(AT_ONCE));
                let mut engine = None;
                while let Some(container) = receiver.recv().await {
                    if engine.is_none() {
                        engine = Engine::connect(&address, owner.clone()).await.ok();
                    }
                    let (places, engine, told) = (places.clone(), engine.clone(), told.clone());
                    removals.spawn(async move {
                        let _place = places.acquire_owned().await;
                        let removed = match &engine {
                            Some(engine) => remove(engine, &container).await,
                            None => Err("the engine does not answer".to_owned()),
                        };
                        if let Err(why) = removed {
                            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                            told.push(format!("{container}: {why}"));
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

    /// Takes a container over; it is killed and removed with its volumes.
    pub(super) fn take(&self, container: String) {
        if let Some(sender) = &self.sender {
            // The thread lives as long as the sender.
            let _ = sender.send(container);
        }
    }

    /// Containers that could not be removed, with why; `pcb clean` tries again.
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

/// Removes a container that may be on its way out already.
pub(super) async fn remove(engine: &Engine, container: &str) -> Result<(), String> {
    let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
    match engine.docker.remove_container(container, Some(options)).await {
        Ok(()) => Ok(()),
        Err(error) if is_absent(&error) => Ok(()),
        // Somebody else is at it.
        Err(bollard::errors::Error::DockerResponseServerError { status_code: 409, .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
