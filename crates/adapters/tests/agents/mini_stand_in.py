"""Stands in for the library mini-swe-agent: the parts of it that its bridge uses, with a model that does as it is told.

Each line of a user's message is one answer of the model: `words TEXT` has no command, `run COMMAND` has one, `two A | B` has
two, `odd` calls a tool that cannot be read, `break` has the provider fail.
"""
import subprocess
import sys
import types


class InterruptAgentFlow(Exception):
    def __init__(self, *messages):
        self.messages = messages
        super().__init__()


class Submitted(InterruptAgentFlow):
    pass


class FormatError(InterruptAgentFlow):
    pass


class Config:
    def __init__(self, **given):
        self.output_path = given.pop("output_path", None)
        self.__dict__.update(given)


class DefaultAgent:
    def __init__(self, model, env, **config):
        self.config, self.model, self.env = Config(**config), model, env
        self.messages, self.extra_template_vars, self.n_calls = [], {}, 0

    def _render_template(self, template):
        return template.replace("{{task}}", self.extra_template_vars["task"])

    def get_template_vars(self):
        return {}

    def add_messages(self, *messages):
        self.messages.extend(messages)
        return list(messages)

    def query(self):
        self.n_calls += 1
        message = self.model.query(self.messages)
        self.add_messages(message)
        return message

    def save(self, path):
        assert path is None


class Model:
    def __init__(self):
        self.answers, self.heard = [], 0

    def format_message(self, **message):
        return message

    def query(self, messages):
        users = [m for m in messages if m["role"] == "user" and "extra" not in m]
        calls = [a for m in messages for a in m.get("extra", {}).get("actions", [])]
        results = [m for m in messages if m["role"] == "tool"]
        assert len(calls) == len(results), "a call without a result is refused by providers"
        if len(users) > self.heard:
            self.heard = len(users)
            self.answers = users[-1]["content"].splitlines()
        word, _, rest = self.answers.pop(0).partition(" ")
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}}
        response = {"usage": usage, "choices": [{"message": {"content": rest, "tool_calls": None}}]}
        if word == "break":
            raise ConnectionError("no provider")
        if word == "odd":
            response["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "dance"}}]
        if word in ("words", "odd"):
            raise FormatError({"role": "user", "content": "use the tool", "extra": {"response": response}})
        commands = rest.split(" | ") if word == "two" else [rest]
        actions = [{"command": command, "tool_call_id": f"c{len(messages)}.{at}"} for at, command in enumerate(commands)]
        return {"role": "assistant", "content": None, "extra": {"actions": actions, "response": response}}

    def format_observation_messages(self, message, outputs, _):
        actions = message["extra"]["actions"]
        padded = outputs + [{"output": "not executed"}] * (len(actions) - len(outputs))
        return [{"role": "tool", "tool_call_id": action["tool_call_id"], "content": output["output"]}
                for action, output in zip(actions, padded)]


class LocalEnvironment:
    def __init__(self, timeout=30):
        assert timeout == 7, "settings of the command line go before"

    def execute(self, action):
        done = subprocess.run(action["command"], shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.stdout.startswith("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n"):
            raise Submitted({"role": "exit", "content": done.stdout.split("\n", 1)[1].strip(), "extra": {}})
        return {"output": done.stdout, "returncode": done.returncode, "exception_info": ""}


def get_config_from_spec(spec):
    if spec.endswith("mini.yaml"):
        agent = {"system_template": "You are.", "instance_template": "{{task}}", "mode": "confirm", "cost_limit": 3}
        return {"agent": agent, "environment": {"timeout": 30}}
    key, value = spec.split("=", 1)
    outer, inner = key.split(".", 1)
    return {outer: {inner: int(value)}}


def recursive_merge(*configs):
    merged = {}
    for config in configs:
        for key, value in config.items():
            merged.setdefault(key, {}).update(value)
    return merged


def get_model(name, config):
    print("noise of a library")
    assert name == "openai/m" and config == {}, (name, config)
    return Model()


def module(name, **parts):
    made = types.ModuleType(name)
    made.__dict__.update(parts)
    sys.modules[name] = made


module("minisweagent", __version__="2.4.6")
module("minisweagent.agents")
module("minisweagent.agents.default", DefaultAgent=DefaultAgent)
module("minisweagent.config", builtin_config_dir=__import__("pathlib").Path("/"), get_config_from_spec=get_config_from_spec)
module("minisweagent.environments")
module("minisweagent.environments.local", LocalEnvironment=LocalEnvironment)
module("minisweagent.exceptions", FormatError=FormatError, InterruptAgentFlow=InterruptAgentFlow, Submitted=Submitted)
module("minisweagent.models", get_model=get_model)
module("minisweagent.utils")
module("minisweagent.utils.serialize", recursive_merge=recursive_merge)
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__"})
