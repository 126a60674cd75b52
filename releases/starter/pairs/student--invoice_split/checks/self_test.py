#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the five calls of /app/quiz.txt are of different parts and give what /app/answers.txt says, 1 if not.

A call has plain values alone: literals, and `Decimal(…)` and `date(…)` made of literals. A line that begins
with `#` is no line of the exercise.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

APP = Path("/app")
MAKERS = {"Decimal", "date"}
RUN = """
import json, sys
sys.path.insert(0, "/app")
import datetime, invoice
from decimal import Decimal
names = {"Decimal": Decimal, "date": datetime.date, "datetime": datetime, **vars(invoice)}
print(json.dumps([repr(eval(call, dict(names))) for call in json.load(sys.stdin)]))
"""


def lines(name):
    text = (APP / name).read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines()
            if line.strip() and not line.startswith("#")]


def is_plain(node):
    if isinstance(node, ast.Call):
        made = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return made in MAKERS and all(map(is_plain, node.args)) and not node.keywords
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return all(map(is_plain, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and is_plain(key) for key in node.keys) and all(
            map(is_plain, node.values))
    if isinstance(node, ast.UnaryOp):
        return is_plain(node.operand)
    return isinstance(node, ast.Constant)


def called(line):
    """The name of the function that the line calls with plain values, None for anything else."""
    try:
        node = ast.parse(line.removeprefix("invoice."), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    values = node.args + [one.value for one in node.keywords]
    return node.func.id if all(map(is_plain, values)) else None


def main():
    try:
        tree = ast.parse((APP / "invoice.py").read_text(encoding="utf-8"))
        calls, answers = lines("quiz.txt"), lines("answers.txt")
    except (OSError, SyntaxError, ValueError) as error:
        print(error)
        return 1
    parts = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} - {"render", "main"}
    names = [called(call) for call in calls]
    if len(calls) != 5 or len(answers) != 5:
        print(f"{len(calls)} calls and {len(answers)} answers")
        return 1
    if len(set(names)) != 5 or not set(names) <= parts:
        print("not calls of five different parts with plain values:", names)
        return 1
    calls = [call.removeprefix("invoice.") for call in calls]
    done = subprocess.run([sys.executable, "-I", "-B", "-c", RUN], input=json.dumps(calls),
                          capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        print(done.stderr)
        return 1
    given = json.loads(done.stdout.splitlines()[-1])
    for call, right, written in zip(calls, given, answers):
        if written != right:
            print(f"{call} gives {right}, not {written}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
