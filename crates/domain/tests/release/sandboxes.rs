//! What a task asks for against what sandboxes give: refused by name, never left out.

use domain::{
    plan::expand,
    release::{
        Artifact, EnvTable, Environment, McpServer, McpTransport, Network, Recipe, Task,
        VerifierEnvironment, lint::lint,
    },
};

use crate::build::{release, request, task};

/// What each sandbox says of the changed task; nothing means that the task runs there.
fn check(change: impl FnOnce(&mut Task), local: &[&str], docker: &[&str]) {
    let mut task = task();
    change(&mut task);
    for (sandbox, expect) in [("local", local), ("docker", docker)] {
        let found = task.unsupported_by(sandbox);
        let found: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(found.len(), expect.len(), "{sandbox}: {found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.contains(expect), "{sandbox}: {found:?} lacks {expect:?}");
        }
    }
}

#[test]
fn each_demand_is_named() {
    check(|_| {}, &[], &[]);
    let image = |task: &mut Task| {
        task.environment.recipes.clear();
        task.environment.image = Some("a:1".into());
    };
    check(image, &["`environment.docker_image` needs a container"], &[]);
    check(
        |task| task.environment.recipes = [Recipe::Dockerfile].into(),
        &["environment/Dockerfile"],
        &[],
    );
    check(|task| task.environment.recipes = [Recipe::BareDockerfile].into(), &[], &[]);
    check(|task| task.environment.recipes = [Recipe::Setup, Recipe::Dockerfile].into(), &[], &[]);
    let services = ["`environment/docker-compose.yaml`, which names services, needs a container"];
    check(|task| task.environment.recipes = [Recipe::Compose].into(), &services, &[]);
    let beside = [Recipe::Setup, Recipe::Compose];
    check(|task| task.environment.recipes = beside.into(), &services, &[]);
    check(|task| task.agent.user = Some("worker".into()), &["`agent.user` needs a"], &[]);
    check(|task| task.verifier.user = Some("1000".into()), &["`verifier.user` needs a"], &[]);
    check(|task| task.agent.user = Some("root".into()), &[], &[]);
    check(
        |task| task.verifier.network = Some(Network::Public),
        &["`verifier.network_mode = \"public\"`"],
        &[],
    );
    check(|task| task.environment.gpus = 1, &["`environment.gpus` needs a container"], &[]);
    check(|task| task.environment.network = Network::Public, &["\"public\""], &[]);
    let hosts = |task: &mut Task| task.environment.network = Network::Allowlist(Vec::new());
    check(hosts, &[], &[]);
    let tools = |task: &mut Task| {
        let transport = McpTransport::Sse { url: "http://a".into(), headers: EnvTable::default() };
        task.environment.mcp_servers = vec![McpServer { name: "a".into(), transport }];
        task.environment.skills_dir = Some("/skills".into());
    };
    check(tools, &[], &[]);
    let of_service = |task: &mut Task| {
        let service = "db".to_owned();
        task.artifacts = vec![Artifact { service, ..Artifact::of_main("/dump") }];
    };
    let named = ["`artifacts` (the path `/dump` of the service `db`) is planned"];
    check(of_service, &named, &named);
    let separate = |recipe: Recipe| {
        move |task: &mut Task| {
            task.verifier.environment = VerifierEnvironment::Separate { declared: None };
            task.verifier.recipes = [recipe].into();
        }
    };
    check(separate(Recipe::Files), &[], &[]);
    for recipe in [Recipe::Dockerfile, Recipe::Compose] {
        check(
            separate(recipe),
            &["`tests/`, from which the verifier's image is built, needs"],
            &[],
        );
    }
    let own = |task: &mut Task| {
        let own = Environment {
            image: Some("a:1".into()),
            network: Network::Public,
            ..Environment::default()
        };
        task.verifier.environment = VerifierEnvironment::Separate { declared: Some(Box::new(own)) };
    };
    let named = [
        "`verifier.environment.docker_image` needs a container",
        "`verifier.environment.network_mode = \"public\"`",
    ];
    check(own, &named, &[]);
}

#[test]
fn a_run_is_refused_with_the_remedy() {
    let mut release = release();
    let task = release.tasks.values_mut().next().expect("a task");
    task.environment.network = Network::Public;
    let error = expand(&release, &request()).expect_err("local has no network");
    let text = error.to_string();
    assert!(text.contains("task greet: `environment.network_mode = \"public\"`"), "{text}");
    assert!(text.contains("run it with --sandbox docker"), "{text}");
}

#[test]
fn a_pair_without_any_sandbox_is_noted() {
    let mut release = release();
    assert!(!lint(&release).iter().any(|note| note.message.contains("no sandbox")));
    let task = release.tasks.values_mut().next().expect("a task");
    task.environment.gpus = 1;
    let notes = lint(&release);
    let note = notes.iter().find(|note| note.message.contains("no sandbox of pair house gives it"));
    assert!(note.is_some(), "{notes:?}");
}
