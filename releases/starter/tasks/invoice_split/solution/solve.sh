#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Makes a function of each section of the long one, and leaves the calls where the sections were.
set -eu
cd /app
if grep -q '^def checked' invoice.py; then exit 0; fi
python3 - <<'PY'
import re
import textwrap
from pathlib import Path

# Section: name of the function, what it is given, what it gives back, what it is about.
PARTS = {
    "check the order": ("checked", "order", "number, date, customer, country, shipping",
                        "What an order is about, if it can be invoiced."),
    "tax-free?": ("exemption", "number, customer, country", "vat_id, exempt",
                  "The VAT number, and why the order is free of VAT."),
    "letter head": ("letter_head", "number, date, customer, country, vat_id", "out",
                    "The rows above the lines."),
    "lines": ("merged_lines", "order, number", "lines",
              "The lines with equal ones put together, in the order of the invoice."),
    "rows": ("add_rows", "out, lines", "goods, weight", "Adds the rows of the lines."),
    "voucher": ("add_voucher", "out, order, lines, goods", "taken, cut", "Adds the voucher."),
    "freight": ("freight_for", "shipping, country, weight, worth", "freight",
                "What the delivery costs."),
    "shipping": ("add_shipping", "out, shipping, weight, freight", "", "Adds the delivery."),
    "tax": ("add_tax", "out, lines, taken, freight, total, exempt", "total, table",
            "Adds the tax that is taken off."),
    "total": ("add_total", "out, order, total, exempt, table", "paid", "Adds the total."),
    "terms": ("add_terms", "out, number, date, customer, country, total, paid", "",
              "Adds when to pay."),
    "notes": ("add_notes", "out, order", "", "Adds the remarks at the end."),
}


def replace(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


path = Path("invoice.py")
text = path.read_text()
start, end = text.index("def render("), text.index("def main(")
body = text[start:end]
# The sections that do two things are cut in two, and those that share a figure are handed it.
body = replace(body, "    goods = Decimal(0)\n", "    # --- rows ---\n    goods = Decimal(0)\n")
body = replace(body, "# --- shipping ---", "# --- freight ---")
body = replace(body, "    if freight:\n        label", "    # --- shipping ---\n    if freight:\n        label")
body = body.replace("if goods - cut >=", "if worth >=")
body = replace(body, "    total = goods - cut + freight\n", "")
# A line and its rows are functions of their own.
lines_start = body.index("        try:\n            qty")
lines_end = body.index("        same = (")
read = body[lines_start:lines_end]
body = body.replace(read, "        qty, price, off, rate = read_line(number, position, line)\n")
rows_start = body.index("        title = ")
rows_end = body.index('    out.append("-" * WIDTH)')
show = body[rows_start:rows_end]
body = body.replace(show, "        show_line(out, line, full)\n")

head, *sections = re.split(r"    # --- (.*) ---\n", body)
last = "    return " + sections[-1].rsplit("    return ", 1)[1]
sections[-1] = sections[-1].rsplit("    return ", 1)[0]
functions = [
    'def read_line(number, position, line):\n    """Quantity, price, discount and rate of a line."""\n'
    + textwrap.indent(textwrap.dedent(read), "    ") + "    return qty, price, off, rate\n",
    'def show_line(out, line, full):\n    """Adds the rows of a line."""\n'
    + textwrap.indent(textwrap.dedent(show), "    "),
]
calls = []
for title, code in zip(sections[::2], sections[1::2]):
    name, given, back, about = PARTS[title]
    code = code.strip("\n")
    code += f"\n    return {back}" if back else ""
    functions.append(f'def {name}({given}):\n    """{about}"""\n{code}\n')
    values = given.replace("worth", "goods - cut")
    if title == "tax":
        values = values.replace("total", "goods - cut + freight")
    calls.append(f"    # --- {title} ---\n    " + (f"{back} = " if back else "") + f"{name}({values})\n")
path.write_text(text[:start] + "\n\n".join(functions) + "\n\n" + head + "".join(calls) + last + text[end:])
PY
