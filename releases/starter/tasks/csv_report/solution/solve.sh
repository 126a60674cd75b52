#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the report program and runs it for the exports.
set -eu
cat > /app/make_report.py <<'PY'
"""Writes the monthly report of the till: python3 make_report.py EXPORT_FOLDER OUT_FOLDER"""

import html
import json
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import tillread

CHART = """<canvas id="chart"></canvas>
<script src="https://cdn.jsdelivr.net/npm/chart.js@4"></script>
<script>
new Chart(document.getElementById("chart"), {
  type: "bar",
  data: { labels: %s, datasets: [{ label: "Total", data: %s }] },
});
</script>"""


def lines_once(folder: Path) -> list[tillread.Line]:
    """The lines of all exports that count, each once."""
    seen = {}
    for path in sorted(folder.glob("*.csv")):
        for line in tillread.read_file(path):
            seen[line.receipt, line.pos] = line
    return [line for line in seen.values() if line.status != "VOID"]


def amount(line: tillread.Line) -> Decimal:
    value = line.qty * line.price
    return -value if line.status == "REFUND" else value


def table(name: str, head: list[str], rows: list[list[str]]) -> str:
    def cells(tag, row):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    body = "\n".join([cells("th", head)] + [cells("td", row) for row in rows])
    return f'<table id="{name}">\n{body}\n</table>'


def report(folder: Path) -> str:
    receipts, months, groups = defaultdict(set), defaultdict(Decimal), defaultdict(Decimal)
    for line in lines_once(folder):
        month = line.when.strftime("%Y-%m")
        receipts[month].add(line.receipt)
        months[month] += amount(line)
        groups[line.group or "Other"] += amount(line)
    by_month = [[m, str(len(receipts[m])), f"{months[m]:.2f}"] for m in sorted(months)]
    by_group = sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Till report</title>',
        '<link rel="stylesheet" href="https://cdn.jsdelivr.net/npm/water.css@2/out/water.css">',
        "</head><body><h1>Till report</h1>",
        table("months", ["Month", "Receipts", "Total"], by_month),
        table("groups", ["Group", "Total"], [[g, f"{t:.2f}"] for g, t in by_group]),
        CHART % (json.dumps([r[0] for r in by_month]), json.dumps([float(r[2]) for r in by_month])),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.html").write_text(report(source), encoding="utf-8")


if __name__ == "__main__":
    main()
PY
cd /app
python3 make_report.py export out
