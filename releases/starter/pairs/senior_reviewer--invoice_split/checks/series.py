#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the commits since v2.3 take `render` apart step by step, 1 if not, 3 if git can't be asked.

At three commits or more it is ten lines shorter than at the commit before, and at each commit the tests and
orders that v2.3 had pass.
"""

import ast
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def git(*arguments):
    done = subprocess.run(["git", "-C", "/app", *arguments], capture_output=True, timeout=30,
                          env={**os.environ, **SETTINGS})
    return done.stdout if done.returncode == 0 else None


def length_of_render(commit):
    """Lines of `render` at a commit, None if there is none to be read."""
    source = git("show", f"{commit}:invoice.py")
    try:
        tree = ast.parse(source or b"")
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "render":
            return node.end_lineno - node.lineno + 1
    return None


def passes(commit, folder):
    """Whether the old tests pass with the program of a commit."""
    source = git("show", f"{commit}:invoice.py")
    if source is None:
        return False
    (folder / "invoice.py").write_bytes(source)
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"],
                          cwd=folder, capture_output=True, timeout=30)
    return done.returncode == 0


def main():
    commits = git("rev-list", "--reverse", "--first-parent", "v2.3..HEAD")
    old = git("archive", "--format=tar", "v2.3", "tests", "orders")
    if commits is None or old is None:
        print("git does not answer")
        return 3
    steps, before = 0, length_of_render("v2.3")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(fileobj=io.BytesIO(old)) as archive:
            for member in archive:
                if member.isfile():
                    target = folder / member.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.extractfile(member).read())
        for commit in commits.decode().split():
            now = length_of_render(commit)
            if now is None or not passes(commit, folder):
                print(f"{commit[:9]}: the tests do not pass")
                return 1
            steps += before - now >= 10
            before = now
    print(f"{steps} steps of ten lines or more")
    return 0 if steps >= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
