"""An agent that speaks the Agent Client Protocol and does what each line of its prompt says.

Told `turns`, it does in its nth turn what the nth part of turns.txt beside it says, parts being apart by a line `---`.
"""
import json
import os
import subprocess
import sys
import threading
import time

out = threading.Lock()
answers = {}
arrived = threading.Condition()
cancelled = threading.Event()
mode = {"mode": "default"}
number = [100]
turns = []


def send(message):
    with out:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(body):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": body}})


def chunk(kind, text):
    for at in range(0, len(text), 3):
        update({"sessionUpdate": kind, "content": {"type": "text", "text": text[at:at + 3]}})


def request(method, params):
    number[0] += 1
    own = number[0]
    send({"id": own, "method": method, "params": params})
    with arrived:
        arrived.wait_for(lambda: own in answers)
        return answers.pop(own)


def call(command, has_begun):
    number[0] += 1
    own = f"call_{number[0]}"
    if has_begun:
        update({"sessionUpdate": "tool_call", "toolCallId": own, "title": "shell", "kind": "execute",
                "status": "pending", "rawInput": {}})
    return own


def run(own, command):
    update({"sessionUpdate": "tool_call_update", "toolCallId": own, "title": command,
            "rawInput": {"command": command}, "status": "in_progress"})
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    update({"sessionUpdate": "tool_call_update", "toolCallId": own,
            "status": "completed" if done.returncode == 0 else "failed",
            "rawOutput": {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode}})


def ask(command):
    own = call(command, False)
    answer = request("session/request_permission", {
        "sessionId": "s1",
        "toolCall": {"toolCallId": own, "title": command, "kind": "execute", "rawInput": {"command": command}},
        "options": [
            {"optionId": "for-ever", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes-once", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no-once", "name": "No", "kind": "reject_once"},
        ],
    })
    outcome = answer["result"]["outcome"]
    chosen = outcome.get("optionId", outcome["outcome"])
    if chosen == "yes-once":
        run(own, command)
    chunk("agent_message_chunk", f"chosen {chosen}.")


def prompt(own, text):
    if turns:
        text = turns.pop(0)
    stop, usage, late = "end_turn", None, None
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "say":
            chunk("agent_message_chunk", rest)
        elif word == "think":
            chunk("agent_thought_chunk", rest)
        elif word == "run":
            run(call(rest, True), rest)
        elif word == "ask":
            ask(rest)
        elif word == "plan":
            entries = [{"content": one, "priority": "high", "status": "pending"} for one in rest.split(",")]
            entries[0]["status"] = "completed"
            update({"sessionUpdate": "plan", "entries": entries})
        elif word == "mode":
            chunk("agent_message_chunk", json.dumps(mode, sort_keys=True))
        elif word == "hang":
            cancelled.wait()
            stop = "cancelled"
        elif word == "deaf":
            time.sleep(600)
        elif word == "stop":
            stop = rest
        elif word == "crash":
            sys.stderr.write("something went wrong in here\n")
            sys.stderr.flush()
            os._exit(int(rest))
        elif word == "error":
            send({"id": own, "error": {"code": -32603, "message": "Internal error", "data": rest}})
            return
        elif word == "noise":
            with out:
                sys.stdout.write("not a message\n")
                sys.stdout.flush()
        elif word == "endless":
            with out:
                while True:
                    sys.stdout.write("x" * 65536)
        elif word == "flood":
            for _ in range(int(rest)):
                update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}})
        elif word == "late":
            late = rest
        elif word == "usage":
            usage = {"totalTokens": 12, "inputTokens": 10, "outputTokens": 2, "cachedReadTokens": 4}
        elif word == "method":
            answer = request(rest, {"sessionId": "s1", "path": "/etc/passwd", "content": "x"})
            chunk("agent_message_chunk", f"answered {answer.get('error', {}).get('code')}.")
    result = {"stopReason": stop}
    if usage:
        result["usage"] = usage
    send({"id": own, "result": result})
    if late:
        time.sleep(0.1)
        chunk("agent_message_chunk", late)


def main():
    behaviour = sys.argv[1] if len(sys.argv) > 1 else ""
    if behaviour == "dies":
        sys.stderr.write("no key is set\n")
        sys.exit(3)
    if behaviour == "turns":
        with open(os.path.join(os.path.dirname(__file__), "turns.txt")) as parts:
            turns.extend(parts.read().split("---\n"))
    for line in sys.stdin:
        message = json.loads(line)
        method, own, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            offered = params.get("clientCapabilities", {})
            fs = offered.get("fs", {})
            assert not fs.get("readTextFile") and not fs.get("writeTextFile"), offered
            assert not offered.get("terminal") and "elicitation" not in offered, offered
            capabilities = {"mcpCapabilities": {"http": True}} if behaviour == "tools-over-http" else {}
            version = 7 if behaviour == "other-version" else 1
            send({"id": own, "result": {"protocolVersion": version, "agentCapabilities": capabilities,
                                        "agentInfo": {"name": "fake", "version": "1.0"}}})
        elif method == "session/new":
            mode["cwd"] = params["cwd"]
            if params["mcpServers"]:
                mode["servers"] = params["mcpServers"]
            send({"id": own, "result": {"sessionId": "s1"}})
        elif method == "session/set_mode":
            mode["mode"] = params["modeId"]
            send({"id": own, "result": {}})
        elif method == "session/set_config_option":
            mode[params["configId"]] = params["value"]
            send({"id": own, "result": {"configOptions": []}})
        elif method == "session/prompt":
            cancelled.clear()
            text = "".join(block.get("text", "") for block in params["prompt"])
            threading.Thread(target=prompt, args=(own, text), daemon=True).start()
        elif method == "session/cancel":
            cancelled.set()
        elif method is None:
            with arrived:
                answers[own] = message
                arrived.notify_all()
        elif own is not None:
            send({"id": own, "error": {"code": -32601, "message": "no such method"}})


main()
