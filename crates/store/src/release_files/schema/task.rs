//! The schema of Harbor's `task.toml`; what Harbor knows and no session can do is refused by name.

use serde_json::{Value, json};

use super::{
    pair::ABSOLUTE,
    shape::{Key, Shape, may, need},
};

/// A whole task file.
pub(super) fn schema() -> Value {
    let about = "A task in Harbor's layout: `tasks/<task>/task.toml`. Keys of Harbor's that this version does not \
                 support are refused by name, because without them the task would mean something else. Which keys \
                 need the docker sandbox, and which are planned, stands in docs/harbor.md.";
    let keys = [
        may("schema_version", "Version of Harbor's format.", version()),
        may("version", "Old name of `schema_version`.", version()),
        may("metadata", "Free: nothing reads it.", Shape::free()),
        may("task", "The package that it was published as.", package()),
        may("source", "Where the task comes from.", Shape::any_text()),
        may("agent", "What holds while the agent works.", agent()),
        may("verifier", "How it is verified.", verifier()),
        need("environment", "Where the agent works.", Shape::defined(ENVIRONMENT)),
        may("solution", "How its solution runs.", Shape::table([may("env", ENV, env())])),
        may(
            "artifacts",
            "Paths that are kept beside the result.",
            Shape::list(Shape::defined(ARTIFACT)),
        ),
        may("steps", "Its steps, asked for one after the other.", Shape::list(step())),
        may(
            "multi_step_reward_strategy",
            "How the rewards of steps make the task's.",
            Shape::word(&["mean", "final"]).default("mean"),
        ),
    ];
    let both = json!({ "required": ["schema_version", "version"] });
    let definitions =
        vec![(ENVIRONMENT, environment()), (ARTIFACT, artifact()), (HEALTHCHECK, healthcheck())];
    Shape::table(keys).with("not", both).says(about).document("task", definitions)
}

const ENVIRONMENT: &str = "environment";
const ARTIFACT: &str = "artifact";
const HEALTHCHECK: &str = "healthcheck";
const ENV: &str =
    "Environment variables; `${NAME}` or `${NAME:-default}` as a whole stands for the host's.";

fn refused(name: &'static str) -> Key {
    may(name, "Harbor's; not supported by this version.", Shape::refused())
}

fn version() -> Shape {
    Shape::word(&["1.0", "1.1", "1.2", "1.3", "1.4"])
}

fn env() -> Shape {
    Shape::named(Shape::any_text())
}

/// A name, or a number.
fn user() -> Key {
    may(
        "user",
        "Who runs it inside; without it whom the image names.",
        Shape::any_of([Shape::text(), Shape::small()]),
    )
}

fn network() -> [Key; 2] {
    let modes = ["public", "no-network", "allowlist"];
    [
        may("network_mode", "What may be reached.", Shape::word(&modes)),
        may("allowed_hosts", "Hosts of an `allowlist`.", Shape::list(Shape::any_text())),
    ]
}

fn package() -> Shape {
    let part = "[A-Za-z0-9](?:[A-Za-z0-9_-]|\\.(?!\\.))*";
    let author = Shape::table([
        need("name", "The author's name.", Shape::any_text()),
        may("email", "The author's address.", Shape::any_text()),
    ]);
    Shape::table([
        need("name", "`organisation/name`.", Shape::pattern(&format!("^{part}/{part}$"))),
        may("version", "The package's version.", Shape::any_text()),
        may("description", "What it is about.", Shape::any_text()),
        may("authors", "Who wrote it.", Shape::list(author)),
        may("keywords", "Words to find it by.", Shape::list(Shape::any_text())),
    ])
}

fn agent() -> Shape {
    let timeout = "Seconds of agent time; without it a pair allows 3,600.";
    let keys = [may("timeout_sec", timeout, Shape::positive()), user()];
    Shape::table(keys.into_iter().chain(network()))
}

fn verifier() -> Shape {
    let hook = Shape::table([
        need("command", "A shell's command line.", Shape::text()),
        may("service", "Where it runs.", Shape::text().default("main")),
        may("timeout_sec", "Seconds.", Shape::positive().default(60)),
        user(),
    ]);
    let keys = [
        may("timeout_sec", "Seconds; 600 without it.", Shape::positive()),
        may("env", ENV, env()),
        user(),
        may(
            "environment_mode",
            "Whether the tests run where the agent worked.",
            Shape::word(&["shared", "separate"]),
        ),
        may("environment", "An environment of the tests' own.", Shape::defined(ENVIRONMENT)),
        may("collect", "Commands before artifacts are taken.", Shape::list(hook)),
    ];
    Shape::table(keys.into_iter().chain(network()))
}

fn artifact() -> Shape {
    let table = Shape::table([
        need("source", "The path inside, without `..`.", Shape::text()),
        may("destination", "Where it is kept: a relative path.", Shape::text()),
        may("exclude", "Globs of what is left out.", Shape::texts()),
        may("service", "The service that holds it.", Shape::text().default("main")),
    ]);
    Shape::any_of([Shape::text(), table])
}

fn healthcheck() -> Shape {
    let pause = || Shape::number().with("minimum", 0.into()).default(5);
    Shape::table([
        need("command", "A shell's command line; 0 means healthy.", Shape::text()),
        may("interval_sec", "Seconds between two tries.", pause()),
        may("timeout_sec", "Seconds of one try.", Shape::positive().default(30)),
        may("start_period_sec", "Seconds in which failed tries do not count.", pause().default(0)),
        may("start_interval_sec", "Seconds between two tries meanwhile.", pause()),
        may("retries", "Failed tries in a row that end it.", Shape::count().default(3)),
    ])
}

fn step() -> Shape {
    let agent = Shape::table(
        [may("timeout_sec", "Seconds of agent time.", Shape::positive())]
            .into_iter()
            .chain(["user", "network_mode", "allowed_hosts"].map(refused)),
    );
    let least = Shape::any_of([Shape::number(), Shape::named(Shape::number())]);
    Shape::table([
        need("name", "The step's folder below `steps/`.", Shape::text()),
        may("agent", "What holds while the agent works on it.", agent),
        may("verifier", "How it is verified; what is left out is as the task has it.", verifier()),
        may("min_reward", "The least reward with which the session goes on.", least),
        may("healthcheck", "What must be so before it.", Shape::defined(HEALTHCHECK)),
        may(
            "artifacts",
            "Paths that are kept beside its result.",
            Shape::list(Shape::defined(ARTIFACT)),
        ),
    ])
}

fn mcp_server() -> Shape {
    let transports = ["sse", "streamable-http", "http", "stdio"];
    let keys = [
        need("name", "Its name.", Shape::text()),
        may("transport", "How it is reached.", Shape::word(&transports).default("sse")),
        may("url", "Its address.", Shape::text()),
        may("headers", "Headers of every request.", env()),
        may("command", "Its program.", Shape::text()),
        may("args", "Arguments of its program.", Shape::list(Shape::any_text())),
    ];
    let is_program =
        json!({ "properties": { "transport": { "const": "stdio" } }, "required": ["transport"] });
    Shape::table(keys)
        .with("if", is_program)
        .with("then", json!({ "required": ["command"] }))
        .with("else", json!({ "required": ["url"] }))
}

fn environment() -> Shape {
    let size = || Shape::pattern("^(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)[GgMmKk]$");
    let keys = [
        may("build_timeout_sec", "Seconds to make it.", Shape::positive().default(600)),
        may("docker_image", "A prebuilt image.", Shape::text()),
        may("cpus", "Processors.", Shape::positive().default(1)),
        may("memory_mb", "Mebibytes of memory.", Shape::whole()),
        may("memory", "Old name of `memory_mb`: \"2G\".", size()),
        may("storage_mb", "Mebibytes of disk.", Shape::whole()),
        may("storage", "Old name of `storage_mb`: \"2G\".", size()),
        may("env", ENV, env()),
        may("workdir", "The agent's working directory.", Shape::pattern(ABSOLUTE).default("/app")),
        may(
            "allow_internet",
            "Old name of `network_mode`: `true` is \"public\", `false` is \"no-network\".",
            Shape::flag(),
        ),
        may("os", "The one that there is.", Shape::word(&["linux"])),
        may("gpus", "Graphics processors.", Shape::small().default(0)),
        may("gpu_types", "Kinds of them that will do.", Shape::texts()),
        may("healthcheck", "What must be so before the agent works.", Shape::defined(HEALTHCHECK)),
        may("mcp_servers", "Tool servers for the agent.", Shape::list(mcp_server())),
        may("skills_dir", "A directory inside with skills.", Shape::pattern(ABSOLUTE)),
    ];
    Shape::table(keys.into_iter().chain(network()).chain([refused("tpu")]))
        .demands(&["network_mode", "allow_internet"])
}
