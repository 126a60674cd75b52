#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Writes the invoice of an order: python3 invoice.py ORDER.json"""

import datetime
import json
import sys
import textwrap
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

WIDTH = 72
CENT = Decimal("0.01")
HOME = "AT"
UNION = {"AT", "BE", "CZ", "DE", "FR", "HU", "IT", "NL", "PL", "SI", "SK"}
RATES = ["20", "10", "0"]


class OrderError(ValueError):
    """An order can't be invoiced; the message says why."""


def render(order):
    """The text of the invoice for an order as the shop exports it."""
    # --- check the order ---
    for key in ("number", "date", "customer", "lines"):
        if key not in order:
            raise OrderError(f"order without {key}")
    number = order["number"]
    try:
        date = datetime.date.fromisoformat(order["date"])
    except (TypeError, ValueError):
        raise OrderError(f"order {number}: bad date {order['date']!r}") from None
    customer = order["customer"]
    for key in ("name", "street", "city", "country"):
        if not str(customer.get(key, "")).strip():
            raise OrderError(f"order {number}: customer without {key}")
    country = customer["country"].strip().upper()
    if not order["lines"]:
        raise OrderError(f"order {number}: no lines")
    shipping = order.get("shipping", "standard")
    if shipping not in ("standard", "express", "pickup"):
        raise OrderError(f"order {number}: unknown shipping {shipping!r}")
    if shipping == "express" and country != HOME:
        raise OrderError(f"order {number}: no express to {country}")

    # --- tax-free? ---
    vat_id = str(customer.get("vat_id", "")).replace(" ", "").upper()
    if country not in UNION:
        exempt = "export"
    elif vat_id and country != HOME:
        if not vat_id.startswith(country):
            raise OrderError(f"order {number}: {vat_id} is not of {country}")
        exempt = "reverse charge"
    else:
        exempt = ""

    # --- letter head ---
    out = []
    out.append("Bookshop at the Mill".ljust(WIDTH - 20) + f"Invoice {number}".rjust(20))
    out.append("Mill Lane 4, 4020 Linz".ljust(WIDTH - 20) + date.strftime("%d.%m.%Y").rjust(20))
    out.append("")
    if str(customer.get("company", "")).strip():
        out.append(customer["company"].strip())
        out.append("c/o " + customer["name"].strip())
    else:
        out.append(customer["name"].strip())
    out.append(customer["street"].strip())
    place = f"{customer.get('zip', '')} {customer['city'].strip()}".strip()
    if country != HOME:
        place = f"{country}-{place}".upper()
    out.append(place)
    if vat_id:
        out.append("VAT " + vat_id)
    out.append("")
    out.append("=" * WIDTH)

    # --- lines ---
    merged = {}
    for position, line in enumerate(order["lines"], 1):
        try:
            qty = int(line["qty"])
            price = Decimal(str(line["price"]))
            off = Decimal(str(line.get("discount", 0)))
            rate = str(line.get("vat", "20"))
        except (KeyError, ValueError, InvalidOperation) as error:
            raise OrderError(f"order {number}: line {position} can't be read") from error
        if qty <= 0 or price < 0:
            raise OrderError(f"order {number}: line {position} has no sense")
        if not 0 <= off <= 100:
            raise OrderError(f"order {number}: line {position} gives {off} % off")
        if rate not in RATES:
            raise OrderError(f"order {number}: line {position} has VAT {rate}")
        same = (line.get("sku"), price, off, rate)
        if same[0] is not None and same in merged:
            merged[same]["qty"] += qty
            merged[same]["weight"] += qty * int(line.get("weight", 0))
        else:
            line["qty"] = qty
            line["price"] = price
            line["off"] = off
            line["rate"] = rate
            line["weight"] = qty * int(line.get("weight", 0))
            merged[same if same[0] is not None else position] = line
    lines = list(merged.values())
    lines.sort(key=lambda line: (RATES.index(line["rate"]), str(line.get("sku", "~"))))
    goods = Decimal(0)
    weight = 0
    for line in lines:
        full = line["qty"] * line["price"]
        line["sum"] = (full * (100 - line["off"]) / 100).quantize(CENT, ROUND_HALF_UP)
        goods += line["sum"]
        weight += line["weight"]
        title = " ".join(str(line.get("title", line.get("sku", "?"))).split())
        rows = textwrap.wrap(title, 40) or ["?"]
        amount = f"{line['sum']:,.2f}"
        mark = {"20": "A", "10": "B", "0": "C"}[line["rate"]]
        out.append(f"{line['qty']:>4} x {rows[0]:<40} {line['price']:>9,.2f} {amount:>11} {mark}")
        for row in rows[1:]:
            out.append(" " * 7 + row)
        if line["off"]:
            saved = full - line["sum"]
            percent = f"{line['off']:f}"
            if "." in percent:
                percent = percent.rstrip("0").rstrip(".")
            out.append(" " * 7 + f"{percent} % off, you save {saved:,.2f}")
    out.append("-" * WIDTH)

    # --- voucher ---
    voucher = order.get("voucher")
    taken = {rate: Decimal(0) for rate in RATES}
    cut = Decimal(0)
    if voucher:
        code = str(voucher.get("code", "")).upper() or "?"
        if "percent" in voucher:
            cut = goods * Decimal(str(voucher["percent"])) / 100
        else:
            cut = Decimal(str(voucher.get("amount", 0)))
        cut = max(Decimal(0), min(goods, cut)).quantize(CENT, ROUND_HALF_UP)
        if cut:
            left = cut
            by_rate = {rate: Decimal(0) for rate in RATES}
            for line in lines:
                by_rate[line["rate"]] += line["sum"]
            for rate in RATES:
                taken[rate] = (cut * by_rate[rate] / goods).quantize(CENT, ROUND_HALF_UP)
                left -= taken[rate]
            if left:
                largest = max(RATES, key=lambda rate: by_rate[rate])
                taken[largest] += left
            out.append(f"{'Voucher ' + code:<57}{-cut:>13,.2f}")

    # --- shipping ---
    if shipping == "pickup":
        freight = Decimal(0)
    elif country == HOME:
        freight = Decimal("4.90") if weight <= 2000 else Decimal("7.90")
        if goods - cut >= 60:
            freight = Decimal(0)
        if shipping == "express":
            freight += Decimal("9.50")
    elif country in UNION:
        freight = Decimal("9.90") + Decimal("1.50") * (max(0, weight - 1000) // 500)
        if goods - cut >= 150:
            freight = Decimal(0)
    else:
        freight = Decimal("19.00") + Decimal("4.00") * (max(0, weight - 500) // 500)
    if freight:
        label = "Express delivery" if shipping == "express" else "Delivery"
        out.append(f"{label + ' (' + format(weight / 1000, '.1f') + ' kg)':<57}{freight:>13,.2f}")
    elif shipping == "pickup":
        out.append("You collect it at the shop.")
    else:
        out.append("Delivery is on us.")

    # --- tax ---
    gross = {rate: -taken[rate] for rate in RATES}
    for line in lines:
        gross[line["rate"]] += line["sum"]
    if freight:
        gross["20"] += freight
    total = goods - cut + freight
    taxes = Decimal(0)
    table = []
    for rate in RATES:
        if gross[rate]:
            net = (gross[rate] * 100 / (100 + int(rate))).quantize(CENT, ROUND_HALF_UP)
            tax = gross[rate] - net
            taxes += tax
            mark = {"20": "A", "10": "B", "0": "C"}[rate]
            table.append(f"  {mark} {rate:>2} %  net {net:>11,.2f}  VAT {tax:>10,.2f}")
    if exempt:
        total -= taxes
        out.append(f"{'VAT taken off (' + exempt + ')':<57}{-taxes:>13,.2f}")

    # --- total ---
    paid = Decimal(str(order.get("paid", 0))).quantize(CENT, ROUND_HALF_UP)
    out.append("=" * WIDTH)
    out.append(f"{'Total EUR':<57}{total:>13,.2f}")
    if paid:
        out.append(f"{'Paid, thank you':<57}{-paid:>13,.2f}")
        out.append(f"{'Due' if total >= paid else 'In your favour':<57}{abs(total - paid):>13,.2f}")
    out.append("")
    if not exempt:
        out.extend(table)
    elif exempt == "export":
        out.append("Export delivery, free of VAT.")
    else:
        out.append("Reverse charge: the recipient owes the VAT.")

    # --- terms ---
    if total - paid > 0:
        days = 14 if country == HOME else 30
        if customer.get("company") and total >= 500:
            days += 16
        until = date + datetime.timedelta(days=days)
        while until.weekday() >= 5:
            until += datetime.timedelta(days=1)
        out.append("")
        out.append(f"Please pay by {until.strftime('%d.%m.%Y')}, reference {number}.")
        if total - paid >= 200 and country == HOME:
            early = ((total - paid) * Decimal("0.98")).quantize(CENT, ROUND_HALF_UP)
            soon = date + datetime.timedelta(days=7)
            out.append(f"{early:,.2f} if you pay by {soon.strftime('%d.%m.%Y')}.")

    # --- notes ---
    notes = [str(note).strip() for note in order.get("notes", []) if str(note).strip()]
    if notes:
        out.append("")
        for note in notes:
            out.extend(textwrap.wrap(note, WIDTH - 2, initial_indent="* ", subsequent_indent="  "))
    return "\n".join(row.rstrip() for row in out) + "\n"


def main():
    """Prints the invoice of the order in the file given; 1 if there is none to be had."""
    if len(sys.argv) != 2:
        print("usage: invoice.py ORDER.json", file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as stream:
            order = json.load(stream)
        sys.stdout.write(render(order))
    except (OSError, ValueError) as error:
        print(f"invoice: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
