#!/usr/bin/env python3
"""mini-swe-agent as an agent of PersonaCodeBench: its library, and the small protocol of docs/agents.md around it.

    pcb run starter --agent 'ndjson:python3 /opt/agent/mini_swe_agent.py openai/my-model model.model_kwargs.api_base=…'

The first argument names the model as litellm calls it; the others are settings as the library's own command line takes
them, over those of its mini.yaml. The library must be there (mini-swe-agent 2.4), in the image or on the host.

The library knows one task and no user: it wants a command in each answer and ends when a command submits the work. Here a
turn also ends with an answer that is words and no command, and the next message goes on in the same history. An interrupt
is heeded between two steps; a command that runs is bounded by the library's own limit.
"""
import json
import os
import queue
import sys
import threading

VERSION = 1
FORMAT_ERRORS_MAX = 3


def protocol_streams():
    """The streams of the protocol; whatever else the library prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    return sys.stdin, out


class Line:
    """The harness at the other end: messages of the user come from a queue, events go out."""

    def __init__(self):
        self.incoming, self.out = protocol_streams()
        self.messages = queue.Queue()
        self.interrupted = threading.Event()

    def tell(self, event, /, **fields):
        told = {name: value for name, value in fields.items() if value is not None}
        self.out.write(json.dumps({"type": event, **told}, default=str) + "\n")

    def listen(self):
        for line in self.incoming:
            message = json.loads(line)
            if message["type"] == "interrupt":
                self.interrupted.set()
            elif message["type"] == "error":
                sys.exit(f"the harness does not understand: {message['message']}")
            else:
                self.messages.put(message)
        self.messages.put(None)


class Used:
    """Tokens of a turn, over all of its requests."""

    def __init__(self):
        self.input = self.cached = self.output = 0

    def add(self, response):
        usage = (response.get("usage") if isinstance(response, dict) else None) or {}
        self.input += usage.get("prompt_tokens") or 0
        self.output += usage.get("completion_tokens") or 0
        details = usage.get("prompt_tokens_details") or {}
        self.cached += details.get("cached_tokens") or 0


def conversing(library, line):
    """The library's agent, made to talk turn by turn."""

    class Conversing(library.DefaultAgent):
        def open_or_continue(self, text):
            if self.messages:
                self.add_messages(self.model.format_message(role="user", content=text))
                return
            self.extra_template_vars["task"] = text
            for role, template in (("system", self.config.system_template), ("user", self.config.instance_template)):
                self.add_messages(self.model.format_message(role=role, content=self._render_template(template)))

        def turn(self, text):
            """Works until control is given back; how, and the tokens that it took."""
            self.open_or_continue(text)
            used, errors = Used(), 0
            while not line.interrupted.is_set():
                try:
                    message = self.query()
                    used.add(message["extra"].get("response"))
                    if message.get("content"):
                        line.tell("said", text=message["content"])
                    self.execute_actions(message)
                    errors = 0
                except library.FormatError as error:
                    response = error.messages[0]["extra"].get("response")
                    used.add(response)
                    words = answer_in_words(response)
                    if words:
                        self.add_messages({"role": "assistant", "content": words})
                        line.tell("said", text=words)
                        return "finished", used
                    errors += 1
                    self.add_messages(*error.messages)
                    if errors == FORMAT_ERRORS_MAX:
                        raise RuntimeError(f"{errors} answers in a row had no command that can be read") from error
                except library.Submitted as submitted:
                    line.tell("said", text=submitted.messages[0].get("content") or "The work is submitted.")
                    return "finished", used
                except library.InterruptAgentFlow as flow:
                    line.tell("note", text=f"the library ends: {flow.messages[0].get('content')}")
                    return "finished", used
            return "interrupted", used

        def execute_actions(self, message):
            """Runs the commands of an answer; the history has a result for each, even if one of them submits."""
            actions, outputs = message["extra"].get("actions", []), []
            try:
                for at, action in enumerate(actions):
                    call = action.get("tool_call_id") or f"{self.n_calls}-{at}"
                    line.tell("call", id=call, title=action["command"], kind="execute",
                              input={"command": action["command"]})
                    try:
                        output = self.env.execute(action)
                    except library.Submitted:
                        line.tell("return", id=call, ok=True)
                        raise
                    outputs.append(output)
                    line.tell("return", id=call, ok=output["returncode"] == 0, exit_code=output["returncode"],
                              output=output["output"] or output.get("exception_info"))
            finally:
                made = self.model.format_observation_messages(message, outputs, self.get_template_vars())
                self.add_messages(*made)
            return made

    return Conversing


def answer_in_words(response):
    """The text of an answer that calls no tool; nothing if it calls one, or cannot be read."""
    if not isinstance(response, dict) or not response.get("choices"):
        return None
    message = response["choices"][0].get("message") or {}
    return None if message.get("tool_calls") else message.get("content")


class Library:
    """What is used of mini-swe-agent."""

    def __init__(self):
        from minisweagent import __version__
        from minisweagent.agents.default import DefaultAgent
        from minisweagent.config import builtin_config_dir, get_config_from_spec
        from minisweagent.environments.local import LocalEnvironment
        from minisweagent.exceptions import FormatError, InterruptAgentFlow, Submitted
        from minisweagent.models import get_model
        from minisweagent.utils.serialize import recursive_merge

        self.version = __version__
        self.DefaultAgent, self.LocalEnvironment, self.get_model = DefaultAgent, LocalEnvironment, get_model
        self.FormatError, self.InterruptAgentFlow, self.Submitted = FormatError, InterruptAgentFlow, Submitted
        self.mini = str(builtin_config_dir / "mini.yaml")
        self.config_of, self.merged = get_config_from_spec, recursive_merge

    def agent(self, line, model, settings):
        specs = [self.mini, "agent.cost_limit=0", *settings]
        config = self.merged(*[self.config_of(spec) for spec in specs])
        # Of the interactive agent alone.
        for key in ("mode", "confirm_exit", "whitelist_actions"):
            config["agent"].pop(key, None)
        environment = self.LocalEnvironment(**config.get("environment", {}))
        return conversing(self, line)(self.get_model(model, config.get("model", {})), environment, **config["agent"])


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: mini_swe_agent.py MODEL [SETTING=VALUE ...]")
    line = Line()
    library = Library()
    agent = library.agent(line, sys.argv[1], sys.argv[2:])
    threading.Thread(target=line.listen, daemon=True).start()
    while (message := line.messages.get()) is not None:
        if message["type"] == "hello":
            line.tell("hello", version=VERSION, name=f"mini-swe-agent {library.version}")
        elif message["type"] == "user":
            line.interrupted.clear()
            try:
                stop, used = agent.turn(message["text"])
                line.tell("usage", span="turn", input=used.input, cached=used.cached, output=used.output)
                line.tell("turn_end", stop=stop)
            except Exception as error:
                line.tell("turn_end", stop="error", error=f"{type(error).__name__}: {error}")
            finally:
                agent.save(agent.config.output_path)


if __name__ == "__main__":
    main()
