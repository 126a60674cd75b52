//! Where tests run, what they reach and what is taken before, once what is left open is filled in.

use domain::{
    ids::StepId,
    release::{
        Artifact, CollectHook, Environment, Home, MAIN_SERVICE, Network, Recipe, Step, Task,
        VerifierEnvironment,
    },
};

use crate::build::task;

fn separate(image: Option<&str>) -> VerifierEnvironment {
    let own = image.map(|image| {
        let network = Network::Public;
        Environment { image: Some(image.into()), network, ..Environment::default() }
    });
    VerifierEnvironment::Separate { declared: own.map(Box::new) }
}

/// Where the tests of the task run, and those of its step.
fn check(change: impl FnOnce(&mut Task, &mut Step), expect: [&str; 2]) {
    let (mut task, mut step) = (task(), Step::new(StepId::new("one"), "Do it."));
    change(&mut task, &mut step);
    let shown = |step: Option<&Step>| match task.verifier_home(step) {
        Home::Shared => "shared".to_owned(),
        Home::Separate(home) => {
            let network = task.verifier_network(step);
            assert_eq!(network == Network::Public, home.environment.network == Network::Public);
            format!("{:?} {}", home.origin, network.name())
        }
    };
    assert_eq!([shown(None), shown(Some(&step))], expect.map(str::to_owned));
}

#[test]
fn each_verifier_has_a_home() {
    check(|_, _| {}, ["shared", "shared"]);
    check(
        |task, _| task.verifier.environment = separate(None),
        ["Pristine no-network", "Pristine no-network"],
    );
    check(
        |task, step| {
            task.verifier.environment = separate(None);
            step.verifier.environment = Some(VerifierEnvironment::Shared);
        },
        ["Pristine no-network", "shared"],
    );
    check(
        |task, step| {
            task.verifier.environment = separate(None);
            task.verifier.recipes = [Recipe::Dockerfile, Recipe::Files].into();
            step.verifier.recipes = [Recipe::Files].into();
        },
        ["Tests no-network", "Tests no-network"],
    );
    check(
        |task, step| {
            task.verifier.recipes = [Recipe::Dockerfile].into();
            step.verifier.environment = Some(separate(None));
            step.verifier.recipes = [Recipe::BareDockerfile].into();
        },
        ["shared", "StepTests no-network"],
    );
    check(
        |task, step| {
            task.verifier.environment = separate(Some("a:1"));
            task.verifier.recipes = [Recipe::Dockerfile].into();
            step.verifier.environment = Some(separate(Some("b:1")));
        },
        ["Image(\"a:1\") public", "Image(\"b:1\") public"],
    );
    check(
        |task, step| {
            task.verifier.environment = separate(Some("a:1"));
            step.verifier.environment = Some(separate(None));
        },
        ["Image(\"a:1\") public", "Image(\"a:1\") public"],
    );
}

#[test]
fn a_pristine_home_is_the_agents_own_with_what_the_verifier_declares() {
    let mut task = task();
    task.environment.image = Some("agent:1".into());
    let own = Environment { image: None, cpus: Some(0.5), ..Environment::default() };
    task.verifier.environment = VerifierEnvironment::Separate { declared: Some(Box::new(own)) };
    let Home::Separate(home) = task.verifier_home(None) else { panic!("it is separate") };
    assert!(!home.origin.holds_tests());
    assert_eq!(home.environment.image.as_deref(), Some("agent:1"));
    assert_eq!(home.environment.cpus, Some(0.5));
}

#[test]
fn what_is_taken_is_the_tasks_then_the_steps() {
    let check = |of_task: &[&str], of_step: &[&str], expect: &[&str]| {
        let (mut task, mut step) = (task(), Step::new(StepId::new("one"), "Do it."));
        task.artifacts = of_task.iter().map(|path| Artifact::of_main(path)).collect();
        step.artifacts = of_step.iter().map(|path| Artifact::of_main(path)).collect();
        let found = task.artifacts_after(Some(&step));
        let found: Vec<&str> = found.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(found, expect);
    };
    check(&[], &[], &["/logs/artifacts"]);
    check(&["/a"], &["/b"], &["/logs/artifacts", "/a", "/b"]);
    check(&["/a", "/logs/artifacts/"], &[], &["/a", "/logs/artifacts/"]);

    let hook = |command: &str| CollectHook {
        command: command.into(),
        service: MAIN_SERVICE.into(),
        timeout_sec: 60.0,
        user: None,
    };
    let (mut task, mut step) = (task(), Step::new(StepId::new("one"), "Do it."));
    task.verifier.collect = vec![hook("first")];
    step.verifier.collect = vec![hook("second")];
    let commands = |step| -> Vec<String> {
        task.collect_hooks(step).map(|hook| hook.command.clone()).collect()
    };
    assert_eq!(commands(None), ["first"]);
    assert_eq!(commands(Some(&step)), ["first", "second"]);
}
