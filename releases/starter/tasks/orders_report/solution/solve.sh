#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Adds up lines and payments apart from each other, and takes months to their very end.
set -eu
cd /app
cat > sql/monthly.sql <<'SQL'
-- Orders of the months from :first to :past (a month that no longer counts), by month and region.
SELECT orders.id, substr(orders.placed_at, 1, 7) AS month, coalesce(customers.region, '(none)') AS region,
       orders.shipping_cents
  FROM orders
  LEFT JOIN customers ON customers.id = orders.customer_id
 WHERE orders.placed_at >= :first AND orders.placed_at < :past AND orders.status <> 'cancelled'
 ORDER BY 2, 3
SQL
python3 - <<'PY'
from pathlib import Path

path = Path("monthly.py")
text = path.read_text()
start, end = text.index("def report("), text.index("def main(")
text = text[:start] + '''def report(db, first, last):
    """The rows of the table, amounts in cents."""
    goods = dict(db.execute("SELECT order_id, sum(qty * unit_cents) FROM order_lines GROUP BY order_id"))
    paid = dict(db.execute("SELECT order_id, sum(cents) FROM payments GROUP BY order_id"))
    table = {}
    # Letters come behind all digits, so this is behind every second of the month.
    for order, name, region, shipping in db.execute(
        QUERY.read_text(), {"first": f"{first}-01", "past": f"{last}-x"}
    ):
        sums = table.setdefault((name, region), [0, 0, 0, 0])
        for at, amount in enumerate([1, goods.get(order, 0), shipping, paid.get(order, 0)]):
            sums[at] += amount
    for (name, region), sums in table.items():
        yield name, region, *sums, sums[1] + sums[2] - sums[3]


''' + text[end:]
path.write_text(text)
PY
