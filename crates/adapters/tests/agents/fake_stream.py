"""An agent that speaks `claude` or `ndjson` on its standard streams and does what each line of its user's message says."""
import json
import os
import subprocess
import sys
import threading
import time

out = threading.Lock()
answers = {}
arrived = threading.Condition()
stopped = threading.Event()
number = [0]


def send(message):
    with out:
        sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        sys.stdout.flush()


def fresh(prefix):
    number[0] += 1
    return f"{prefix}{number[0]}"


def answered(own):
    with arrived:
        arrived.wait_for(lambda: own in answers)
        return answers.pop(own)


class Claude:
    turns = 0

    def assistant(self, block, **more):
        send({"type": "assistant", "message": {"content": [block]}, "parent_tool_use_id": None, **more})

    def begin(self):
        self.turns += 1
        send({"type": "system", "subtype": "init", "claude_code_version": "9.9", "model": "m"})

    def say(self, text):
        self.assistant({"type": "text", "text": text})

    def think(self, text):
        self.assistant({"type": "thinking", "thinking": text})

    def call(self, own, command):
        self.assistant({"type": "tool_use", "id": own, "name": "Bash", "input": {"command": command}})

    def back(self, own, done):
        result = {"type": "tool_result", "tool_use_id": own, "content": "both", "is_error": done.returncode != 0}
        send({"type": "user", "message": {"content": [result]},
              "tool_use_result": {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False}})

    def ask(self, own, command, tool="Bash", **more):
        request = fresh("ask")
        send({"type": "control_request", "request_id": request, "request": {
            "subtype": "can_use_tool", "tool_name": tool, "tool_use_id": own,
            "input": {"command": command}, **more}})
        answer = answered(request)["response"]
        assert answer["behavior"] == "deny" or answer["updatedInput"] == {"command": command}, answer
        return answer["behavior"] == "allow", answer.get("message")

    def plan(self, entries):
        todos = [{"content": text, "status": "in_progress" if at else "completed"} for at, text in enumerate(entries)]
        self.assistant({"type": "tool_use", "id": fresh("plan"), "name": "TodoWrite", "input": {"todos": todos}})

    def end(self, stop, error, usage):
        result = {"type": "result", "subtype": "success", "is_error": error is not None, "result": error or "words",
                  "total_cost_usd": 0.25 * self.turns}
        if usage:
            result["usage"] = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 2}
        if stop == "interrupted":
            result.update(subtype="error_during_execution", is_error=True)
        if stop == "refused":
            result["stop_reason"] = "refusal"
        send(result)

    def hear(self, message):
        kind = message["type"]
        if kind == "control_request" and message["request"]["subtype"] == "initialize":
            if behaviour == "refuses":
                response = {"subtype": "error", "request_id": message["request_id"], "error": "no key is set"}
            else:
                response = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            send({"type": "control_response", "response": response})
        elif kind == "control_request":
            assert message["request"]["subtype"] == "interrupt", message
            stopped.set()
        elif kind == "control_response":
            response = message["response"]
            return response["request_id"], response
        elif kind == "user":
            begin(message["message"]["content"][0]["text"])
        return None, None


class Ndjson:
    def begin(self):
        pass

    def say(self, text):
        send({"type": "said", "text": text})

    def think(self, text):
        send({"type": "thought", "text": text})

    def call(self, own, command):
        send({"type": "call", "id": own, "title": command, "kind": "execute", "input": {"command": command}})

    def back(self, own, done):
        send({"type": "return", "id": own, "ok": done.returncode == 0, "exit_code": done.returncode,
              "output": {"stdout": done.stdout, "stderr": done.stderr}})

    def ask(self, own, command, tool="shell"):
        send({"type": "permission", "id": own, "title": "shell", "kind": "execute", "command": command})
        return answered(own)["allow"], None

    def plan(self, entries):
        send({"type": "plan", "entries": [
            {"text": text, "state": "doing" if at else "done"} for at, text in enumerate(entries)]})

    def end(self, stop, error, usage):
        if usage:
            send({"type": "usage", "input": 10, "cached": 4, "output": 2, "cost_usd": 0.25})
        send({"type": "turn_end", **({"stop": "error", "error": error} if error else {"stop": stop})})

    def hear(self, message):
        kind = message["type"]
        if kind == "hello":
            assert message["version"] == 1 and message["workdir"] == "/app", message
            version = 7 if behaviour == "refuses" else 1
            send({"type": "hello", "version": version, "name": "fake 1.0"})
        elif kind == "user":
            begin(message["text"])
        elif kind == "interrupt":
            stopped.set()
        elif kind == "permission":
            return message["id"], message
        elif kind == "error":
            sys.stderr.write(message["message"] + "\n")
            sys.exit(4)
        return None, None


def run(own, command):
    speech.call(own, command)
    speech.back(own, subprocess.run(command, shell=True, capture_output=True, text=True))


def turn(text):
    stop, error, usage = "finished", None, False
    speech.begin()
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "say":
            speech.say(rest)
        elif word == "think":
            speech.think(rest)
        elif word == "run":
            run(fresh("call"), rest)
        elif word == "ask":
            own = fresh("call")
            allowed, why = speech.ask(own, rest)
            speech.say(f"allowed {allowed}.")
            if allowed:
                run(own, rest)
        elif word == "question":
            speech.say(speech.ask(fresh("call"), rest, "AskUserQuestion", requires_user_interaction=True)[1])
        elif word == "plan":
            speech.plan(rest.split(","))
        elif word == "raw":
            send(rest)
        elif word == "usage":
            usage = True
        elif word == "stop":
            stop = rest
        elif word == "error":
            error = rest
        elif word == "hang":
            stopped.wait()
            stop = "interrupted"
        elif word == "deaf":
            time.sleep(600)
        elif word == "crash":
            sys.stderr.write("something went wrong in here\n")
            sys.stderr.flush()
            os._exit(int(rest))
        elif word == "flood":
            for _ in range(int(rest)):
                speech.say("")
        elif word == "endless":
            with out:
                while True:
                    sys.stdout.write("x" * 65536)
    speech.end(stop, error, usage)
    if text.startswith("late"):
        time.sleep(0.1)
        speech.say("One thing more.")


def begin(text):
    stopped.clear()
    threading.Thread(target=turn, args=(text,), daemon=True).start()


behaviour = sys.argv[2] if len(sys.argv) > 2 else ""
speech = {"claude": Claude, "ndjson": Ndjson}[sys.argv[1]]()
if behaviour == "dies":
    sys.stderr.write("no key is set\n")
    sys.exit(3)
for line in sys.stdin:
    own, message = speech.hear(json.loads(line))
    if own is not None:
        with arrived:
            answers[own] = message
            arrived.notify_all()
