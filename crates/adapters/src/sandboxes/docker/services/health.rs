//! How a service is asked whether it is well: [`Test`], by the compose file or its image.
//!
//! Engines ask by themselves, but not all: Podman does so through a service manager that a host may lack.

use std::time::Duration;

use bollard::{
    exec::StartExecResults,
    models::{ExecConfig, HealthConfig, ImageInspect},
};
use engine::ports::sandbox::SandboxFault;
use futures_util::StreamExt;

use super::project::{Health, HealthTest, Service};
use crate::sandboxes::docker::engine::{Engine, fault};

/// What Docker takes where nothing is said.
const EVERY: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(30);
const RETRIES: u32 = 3;

/// A test of health with nothing left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Test {
    pub(super) argv: Vec<String>,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
    pub(super) start_period: Duration,
    /// Failures in a row that are too many.
    pub(super) retries: u32,
}

/// The test of a service by its name, if it can be asked.
pub(in super::super) fn health_test(
    service: &Service,
    image: &ImageInspect,
) -> Option<(String, Test)> {
    let of_image =
        image.config.as_ref().and_then(|config| config.healthcheck.as_ref()).map(of_image);
    let of_image = of_image.unwrap_or_default();
    let own = match &service.health {
        Health::Off => return None,
        Health::OfImage => HealthTest::default(),
        Health::Test(test) => test.clone(),
    };
    let words = if own.test.is_empty() { of_image.test } else { own.test };
    let (word, rest) = words.split_first()?;
    let argv = match word.as_str() {
        "NONE" => return None,
        "CMD" => rest.to_vec(),
        _ => [vec!["/bin/sh".to_owned(), "-c".to_owned()], rest.to_vec()].concat(),
    };
    let test = Test {
        argv,
        interval: own.interval.or(of_image.interval).unwrap_or(EVERY),
        timeout: own.timeout.or(of_image.timeout).unwrap_or(TIMEOUT),
        start_period: own.start_period.or(of_image.start_period).unwrap_or_default(),
        retries: own
            .retries
            .or(of_image.retries)
            .and_then(|retries| u32::try_from(retries).ok())
            .filter(|retries| *retries > 0)
            .unwrap_or(RETRIES),
    };
    Some((service.name.clone(), test))
}

fn of_image(config: &HealthConfig) -> HealthTest {
    let time = |nanoseconds: Option<i64>| {
        let nanoseconds = nanoseconds.and_then(|time| u64::try_from(time).ok());
        nanoseconds.filter(|time| *time > 0).map(Duration::from_nanos)
    };
    HealthTest {
        test: config.test.clone().unwrap_or_default(),
        interval: time(config.interval),
        timeout: time(config.timeout),
        start_period: time(config.start_period),
        retries: config.retries,
    }
}

impl Test {
    /// Asks a container once; a bad answer is what it said.
    pub(super) async fn ask(
        &self,
        engine: &Engine,
        container: &str,
    ) -> Result<Result<(), String>, SandboxFault> {
        let config = ExecConfig {
            cmd: Some(self.argv.clone()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        let asking = async {
            let exec = engine.docker.create_exec(container, config).await?.id;
            let mut said = Vec::new();
            let started = engine.docker.start_exec(&exec, None).await?;
            if let StartExecResults::Attached { mut output, .. } = started {
                while let Some(Ok(piece)) = output.next().await {
                    said.extend_from_slice(&piece.into_bytes());
                }
            }
            let code = engine.docker.inspect_exec(&exec).await?.exit_code;
            Ok::<_, bollard::errors::Error>((code, String::from_utf8_lossy(&said).into_owned()))
        };
        match tokio::time::timeout(self.timeout, asking).await {
            Ok(Ok((Some(0), _))) => Ok(Ok(())),
            Ok(Ok((_, said))) => Ok(Err(said)),
            // It may have ended just now, or its image lacks the program: neither is well.
            Ok(Err(bollard::errors::Error::DockerResponseServerError { message, .. })) => {
                Ok(Err(message))
            }
            Ok(Err(error)) => Err(fault("ask a service for its health", &error)),
            Err(_) => Ok(Err(format!("no answer within {} s", self.timeout.as_secs_f64()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::ImageConfig;

    use super::*;

    #[test]
    fn the_file_goes_before_the_image() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let image = |test: &[&str]| ImageInspect {
            config: Some(ImageConfig {
                healthcheck: Some(HealthConfig {
                    test: Some(words(test)),
                    interval: Some(2_000_000_000),
                    retries: Some(7),
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let check = |health: Health, image: &ImageInspect, expect: Option<(&[&str], u64, u32)>| {
            let service = Service { health, ..Service::default() };
            let found = health_test(&service, image).map(|(_, test)| test);
            let told = found.map(|test| (test.argv, test.interval.as_secs(), test.retries));
            assert_eq!(told, expect.map(|(argv, every, retries)| (words(argv), every, retries)));
        };
        let own = |test: &[&str], retries| {
            Health::Test(HealthTest { test: words(test), retries, ..HealthTest::default() })
        };
        let none = ImageInspect::default();
        check(Health::OfImage, &none, None);
        check(Health::OfImage, &image(&["CMD", "a", "b"]), Some((&["a", "b"], 2, 7)));
        check(Health::OfImage, &image(&["NONE"]), None);
        check(Health::Off, &image(&["CMD", "a"]), None);
        check(own(&["CMD-SHELL", "x y"], None), &none, Some((&["/bin/sh", "-c", "x y"], 30, 3)));
        check(own(&["CMD", "c"], Some(1)), &image(&["CMD", "a"]), Some((&["c"], 2, 1)));
        check(own(&[], Some(1)), &image(&["CMD", "a"]), Some((&["a"], 2, 1)));
    }
}
