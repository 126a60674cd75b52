#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if no function of /app/invoice.py changes what it is given, 1 if one does.

Every function and method of the module is wrapped: its arguments, and what the module holds besides, are written
down before the call and compared after it, while orders of all kinds are rendered, each twice.
"""

import copy
import functools
import json
import subprocess
import sys
import types

HOME = {"name": "Eva", "street": "S 1", "zip": "4600", "city": "Wels", "country": "AT"}
LINES = [
    {"sku": "B7", "title": "Mill", "qty": 1, "price": "24.90", "vat": "10", "weight": 620},
    {"sku": "A1", "title": "Notebook", "qty": "2", "price": "7.505", "discount": "12.5", "weight": 180},
    {"sku": "A1", "title": "Notebook", "qty": 1, "price": "7.505", "discount": "12.5"},
    {"title": "Card", "qty": 3, "price": "80", "vat": "0"},
]
ORDERS = [
    {"number": "1", "date": "2026-03-02", "customer": HOME, "lines": LINES,
     "voucher": {"code": "spring", "percent": 15}, "paid": "5", "notes": ["A note.", " "]},
    {"number": "2", "date": "2026-03-06", "lines": LINES[:1] * 2, "paid": "9999",
     "customer": {**HOME, "company": "Huber", "country": "DE", "vat_id": "DE 12"}},
    {"number": "3", "date": "2026-03-09", "customer": {**HOME, "country": "us"}, "lines": LINES[3:],
     "voucher": {"amount": "5.00"}},
    {"number": "4", "date": "2026-03-09", "customer": HOME, "lines": LINES[1:], "shipping": "pickup"},
    {"number": "5", "date": "2026-03-09", "customer": HOME, "lines": LINES[:2], "shipping": "express"},
    {"number": "6", "date": "2026-03-09", "customer": HOME, "lines": [LINES[0], {"qty": 0}]},
]


def picture(value):
    """What a value holds, in a form that can be compared; None for what runs out when it is looked at."""
    if isinstance(value, (types.GeneratorType, map, filter, zip)):
        return None
    if hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType)):
        return type(value).__name__, picture(vars(value))
    if isinstance(value, dict):
        return [(repr(key), picture(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [picture(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return repr(value)


def held(module):
    return {name: picture(value) for name, value in vars(module).items()
            if not name.startswith("__")
            and not isinstance(value, (types.FunctionType, types.ModuleType, type))}


def watched(function, name, module, faults):
    @functools.wraps(function)
    def call(*args, **kwargs):
        before = picture(args), picture(kwargs), held(module)
        try:
            return function(*args, **kwargs)
        finally:
            after = picture(args), picture(kwargs), held(module)
            if after[:2] != before[:2]:
                faults.append(f"{name} changes what it is given")
            if after[2] != before[2]:
                faults.append(f"{name} changes the module")
    return call


def look():
    sys.path.insert(0, "/app")
    import invoice

    faults, called = [], []
    for name, value in list(vars(invoice).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == "invoice":
            if name != "main":
                setattr(invoice, name, watched(value, name, invoice, faults))
        elif isinstance(value, type) and value.__module__ == "invoice":
            for part, method in list(vars(value).items()):
                if isinstance(method, types.FunctionType) and not part.startswith("__"):
                    setattr(value, part, watched(method, f"{name}.{part}", invoice, faults))
    for order in ORDERS:
        order, texts = copy.deepcopy(order), []
        for _ in range(2):
            try:
                texts.append(invoice.render(order))
            except invoice.OrderError as error:
                texts.append(str(error))
        if texts[0] != texts[1]:
            faults.append(f"order {order['number']} comes out different the second time")
        called.append(texts[0])
    print(json.dumps([sorted(set(faults)), len(called)]))


def main():
    done = subprocess.run([sys.executable, "-I", "-B", __file__, "look"], capture_output=True,
                          text=True, timeout=40)
    if done.returncode != 0:
        print(done.stderr)
        return 1
    faults, called = json.loads(done.stdout.splitlines()[-1])
    print("\n".join(faults))
    return 1 if faults or called != len(ORDERS) else 0


if __name__ == "__main__":
    sys.exit(look() if sys.argv[1:] == ["look"] else main())
