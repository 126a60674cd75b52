#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Looks at the shape of /app/invoice.py and compares what a copy of it, alone in a folder, gives for many orders.

`answers.txt` holds the start of the SHA-256 of what the old program gave for the orders of the seeds from 0 on.
"""

import ast
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tokenize
import unittest
from pathlib import Path

sys.path.insert(0, "/tests")

from orders import order_of

SOURCE = Path("/app/invoice.py")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RUNNERS = {"exec", "eval", "compile", "__import__", "__builtins__", "globals", "locals"}
RUNNING_MODULES = {"importlib", "marshal", "pickle", "runpy", "code", "codeop", "builtins", "ctypes",
                   "subprocess"}
# Renders the orders on stdin with the invoice.py of a folder, one answer a line.
DRIVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import invoice
for line in sys.stdin:
    try:
        answer = ["text", invoice.render(json.loads(line))]
    except invoice.OrderError as error:
        answer = ["OrderError", str(error), isinstance(error, ValueError)]
    except Exception as error:
        answer = [type(error).__name__]
    print(json.dumps(answer))
"""


class Shape(unittest.TestCase):
    def setUp(self):
        self.text = SOURCE.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.functions = [node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS)]

    def test_functions_are_short(self):
        for node in self.functions:
            self.assertLessEqual(node.end_lineno - node.lineno + 1, 40, node.name)

    def test_lines_are_plain(self):
        for number, line in enumerate(self.text.splitlines(), 1):
            self.assertLessEqual(len(line), 100, f"line {number}")
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            self.assertFalse(token.type == tokenize.OP and token.string == ";", token)
        for node in ast.walk(self.tree):
            for block in ("body", "orelse", "finalbody"):
                statements = getattr(node, block, None)
                if not isinstance(statements, list):
                    continue
                lines = [one.lineno for one in statements]
                self.assertEqual(len(lines), len(set(lines)))
                if lines and block == "body" and isinstance(node, (ast.stmt, ast.excepthandler)):
                    self.assertNotEqual(node.lineno, lines[0], "a statement behind its head")

    def test_parts_are_used(self):
        inner = [child for node in self.functions for child in ast.walk(node)
                 if child is not node and isinstance(child, (*FUNCTIONS, ast.ClassDef))]
        self.assertEqual(inner, [])
        names = {node.name for node in self.functions}
        self.assertTrue({"render", "main"} <= names)
        parts = {name for name in names - {"render", "main"} if not name.startswith("__")}
        self.assertGreaterEqual(len(parts), 6)
        for part in parts:
            used = [node for node in ast.walk(self.tree)
                    if (isinstance(node, ast.Name) and node.id == part)
                    or (isinstance(node, ast.Attribute) and node.attr == part)]
            self.assertTrue(used, f"{part} is not used")

    def test_nothing_else(self):
        for node in self.tree.body:
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_constant = isinstance(node, (ast.Assign, ast.AnnAssign))
            is_start = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
            kinds = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
            self.assertTrue(isinstance(node, kinds) or is_docstring or is_constant or is_start,
                            f"line {node.lineno}")
            if is_start:
                self.assertEqual((len(node.body), node.orelse), (1, []), f"line {node.lineno}")
            lambdas = [one for one in ast.walk(node) if isinstance(one, ast.Lambda)]
            self.assertFalse(is_constant and lambdas, f"line {node.lineno}")
            for one in node.body if isinstance(node, ast.ClassDef) else []:
                plain = (*FUNCTIONS, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass)
                self.assertIsInstance(one, plain, f"line {one.lineno}")
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                self.assertNotIn(node.id, RUNNERS)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [getattr(node, "module", None) or ""] + [one.name for one in node.names]
                for name in names:
                    self.assertNotIn(name.split(".")[0], RUNNING_MODULES)
                    self.assertTrue(not name or isinstance(node, ast.ImportFrom)
                                    or name.split(".")[0] in sys.stdlib_module_names, name)


class Answers(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        shutil.copyfile(SOURCE, self.work / "invoice.py")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"}

    def python(self, arguments, stdin=""):
        done = subprocess.run(["python3", "-I", "-B", *arguments], input=stdin, cwd=self.work,
                              env=self.env, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_random_orders(self):
        expected = [line for line in Path("/tests/answers.txt").read_text().splitlines()
                    if not line.startswith("#")]
        orders = [order_of(seed) for seed in range(len(expected))]
        stdin = "".join(json.dumps(order) + "\n" for order in orders)
        code, out, errors = self.python(["-c", DRIVER, str(self.work)], stdin)
        self.assertEqual(code, 0, errors)
        answers = [hashlib.sha256(line.encode()).hexdigest()[:16] for line in out.splitlines()]
        self.assertEqual(len(answers), len(expected))
        for order, answer, right in zip(orders, answers, expected):
            self.assertEqual(answer, right, json.dumps(order))

    def test_the_program(self):
        order = {"canary": 1, "number": "9", "date": "2026-03-02", "shipping": "pickup",
                 "customer": {"name": "Ö", "street": "S 1", "city": "Wels", "country": "AT"},
                 "lines": [{"title": "Pen", "qty": 1, "price": "1.20"}], "paid": "1.20"}
        files = {"good.json": json.dumps(order), "bad.json": '{"number": "1"}', "worse.json": "{"}
        for name, text in files.items():
            (self.work / name).write_text(text, encoding="utf-8")
        usage = (2, "", "usage: invoice.py ORDER.json\n")
        for arguments, right in {
            (): usage,
            ("good.json", "bad.json"): usage,
            ("good.json",): (0, GOOD, ""),
            ("bad.json",): (1, "", "invoice: order without date\n"),
            ("none.json",): (1, "", "invoice: [Errno 2] No such file or directory: 'none.json'\n"),
        }.items():
            with self.subTest(arguments=arguments):
                self.assertEqual(self.python(["invoice.py", *arguments]), right)
        code, out, errors = self.python(["invoice.py", "worse.json"])
        self.assertEqual((code, out, errors.startswith("invoice: Expecting")), (1, "", True))


GOOD = """\
Bookshop at the Mill                                           Invoice 9
Mill Lane 4, 4020 Linz                                        02.03.2026

Ö
S 1
Wels

========================================================================
   1 x Pen                                           1.20        1.20 A
------------------------------------------------------------------------
You collect it at the shop.
========================================================================
Total EUR                                                         1.20
Paid, thank you                                                  -1.20
Due                                                               0.00

  A 20 %  net        1.00  VAT       0.20
"""


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    )
    sys.exit(not (result.wasSuccessful() and result.testsRun == 6))
