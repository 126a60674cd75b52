#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if /app/invoice.py reads from the top down, 1 if not.

`render` is the first function, and every function but `main` stands below all functions that use its name.
At least one function must have been split off, in this file.
"""

import ast
import sys
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def names_used(node):
    """Names of the module that a function or statement reads; what it binds itself is its own."""
    bound = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    if isinstance(node, FUNCTIONS):
        bound |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    methods = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)
               and isinstance(one.value, ast.Name) and one.value.id in ("self", "cls")}
    return methods | {one.id for one in names if isinstance(one.ctx, ast.Load)} - bound


def main():
    try:
        tree = ast.parse(Path("/app/invoice.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        print(error)
        return 1
    functions = sorted((node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)),
                       key=lambda node: node.lineno)
    parts = [node for node in functions if node.name not in ("render", "main")]
    faults = []
    if not parts:
        faults.append("nothing was split off")
    if not functions or functions[0].name != "render":
        faults.append("render is not the first function")
    for part in parts:
        for other in functions:
            if other is not part and part.name in names_used(other) and other.lineno > part.lineno:
                faults.append(f"{part.name} stands above {other.name}, which calls it")
        # A name of a part that is bound again elsewhere is a caller in disguise.
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and part.name in names_used(node):
                faults.append(f"{part.name} has another name in line {node.lineno}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
