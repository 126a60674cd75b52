//! The schema of Harbor's `task.toml`, the part that is supported; what Harbor knows beyond it is refused by name.

use serde_json::Value;

use super::{
    pair::ABSOLUTE,
    shape::{Key, Shape, may, need},
};

/// A whole task file.
pub(super) fn schema() -> Value {
    let about = "A task in Harbor's layout: `tasks/<task>/task.toml`. Keys of Harbor's that this version does not \
                 support are refused by name, because without them the task would mean something else.";
    let keys = [
        may("schema_version", "Version of Harbor's format.", version()),
        may("version", "Old name of `schema_version`.", version()),
        may("metadata", "Free: nothing reads it.", Shape::free()),
        may("task", "Free: nothing reads it.", Shape::free()),
        may("source", "Where the task comes from.", Shape::any_text()),
        may("agent", "Limits of the agent.", agent()),
        may("verifier", "How it is verified.", verifier()),
        need("environment", "Where the agent works.", environment()),
        may("solution", "How its solution runs.", Shape::table([may("env", ENV, env())])),
    ];
    let refused = ["artifacts", "steps", "multi_step_reward_strategy"].map(refused);
    let both = serde_json::json!({ "required": ["schema_version", "version"] });
    let root = Shape::table(keys.into_iter().chain(refused)).with("not", both);
    root.says(about).document("task", vec![])
}

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

fn agent() -> Shape {
    let keys = [may(
        "timeout_sec",
        "Seconds of agent time; without it a pair allows 3,600.",
        Shape::positive(),
    )];
    Shape::table(keys.into_iter().chain(["user", "network_mode", "allowed_hosts"].map(refused)))
}

fn verifier() -> Shape {
    let keys = [
        may("timeout_sec", "Seconds.", Shape::positive().default(600)),
        may("env", ENV, env()),
        may("environment_mode", "The one mode that there is.", Shape::word(&["shared"])),
    ];
    let more = ["user", "environment", "collect", "network_mode", "allowed_hosts"].map(refused);
    Shape::table(keys.into_iter().chain(more))
}

fn environment() -> Shape {
    let size = || Shape::pattern("^(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)[GgMmKk]$");
    let keys = [
        may("build_timeout_sec", "Seconds for `setup.sh`.", Shape::positive().default(600)),
        may("cpus", "Processors.", Shape::positive().default(1)),
        may("memory_mb", "Mebibytes of memory.", Shape::whole()),
        may("memory", "Old name of `memory_mb`: \"2G\".", size()),
        may("storage_mb", "Mebibytes of disk.", Shape::whole()),
        may("storage", "Old name of `storage_mb`: \"2G\".", size()),
        may("env", ENV, env()),
        may("workdir", "The agent's working directory.", Shape::pattern(ABSOLUTE).default("/app")),
        may("network_mode", "The one mode that there is.", Shape::word(&["no-network"])),
        may(
            "allow_internet",
            "Old name of `network_mode`: where that is absent, it must be there and `false`.",
            Shape::of(serde_json::json!({})),
        ),
        may("os", "The one that there is.", Shape::word(&["linux"])),
        may("gpus", "Not supported: 0.", Shape::small().with("maximum", 0.into())),
    ];
    let more = [
        "allowed_hosts",
        "docker_image",
        "gpu_types",
        "tpu",
        "mcp_servers",
        "skills_dir",
        "healthcheck",
    ];
    // `allow_internet` counts where `network_mode` is absent, and must be false then.
    let offline = serde_json::json!([
        { "required": ["network_mode"] },
        { "required": ["allow_internet"], "properties": { "allow_internet": { "const": false } } },
    ]);
    Shape::table(keys.into_iter().chain(more.map(refused))).with("anyOf", offline)
}
