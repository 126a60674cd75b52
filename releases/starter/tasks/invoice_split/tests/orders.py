#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Random orders in the manner of the shop's export, good and bad: `order_of(seed)`.

Every draw is made from `random.random()` alone, whose numbers are the same in every version of Python.
"""

import random

TITLES = ["Mill & Water", "A very long title about the history of paper making in the valley, vol. 2",
          "  Odd   spaces ", "Ärger im Büro", "x", "", "Antidisestablishmentarianism" * 2, "Post-it set"]
NAMES = ["Eva Berger", "  J. O'Neil ", "Łukasz Żak", "Jean-Luc de la Tour"]
PRICES = ["0", "4.90", "12.345", "19.99", "250", "1299.005", 7, 3.5]
RATES = ["20", "10", "0", 20, 10]
NOTES = ["Leave it at the door.", "  ", 17,
         "Thank you for your order, we hope that you like what we packed for you this time."]


class Draw:
    """Draws from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def choice(self, things):
        return things[int(self.random() * len(things))]

    def randint(self, low, high):
        return low + int(self.random() * (high - low + 1))


def random_line(draw):
    line = {"sku": draw.choice(["A1", "A2", "B7", None]), "qty": draw.choice([1, 2, 3, "4", 12]),
            "price": draw.choice(PRICES), "vat": draw.choice(RATES)}
    if line["sku"] is None and draw.random() < 0.7:
        del line["sku"]
    if draw.random() < 0.8:
        line["title"] = draw.choice(TITLES)
    if draw.random() < 0.7:
        line["weight"] = draw.choice([0, 80, 350, "900", 2600])
    if draw.random() < 0.4:
        line["discount"] = draw.choice([0, 5, "12.5", "33.333", 100, "10.0", "1E+1"])
    if draw.random() < 0.1:
        del line["vat"]
    return line


def random_customer(draw):
    customer = {"name": draw.choice(NAMES), "street": "Hauptstraße 3 ", "city": " Wels",
                "country": draw.choice(["AT", "AT", "AT", "at ", "DE", "fr", "CH", "US"])}
    if draw.random() < 0.8:
        customer["zip"] = draw.choice(["4600", 4600, ""])
    if draw.random() < 0.4:
        customer["company"] = draw.choice(["Druckerei Huber", " Papier AG ", " ", ""])
    if draw.random() < 0.4:
        customer["vat_id"] = draw.choice(["DE 123456789", "fr12 345", "ATU1234567", " ", "CHE-1"])
    return customer


def spoil(draw, order):
    """Makes an order that can't be invoiced, or only just."""
    line, customer = draw.choice(order["lines"]), order["customer"]
    draw.choice([
        lambda: order.pop(draw.choice(["number", "date", "customer", "lines"])),
        lambda: order.update(date=draw.choice(["2026-02-30", "02.03.2026", None, 7])),
        lambda: customer.update({draw.choice(["name", "street", "city", "country"]): " "}),
        lambda: customer.pop(draw.choice(["name", "street", "city", "country"])),
        lambda: order.update(lines=[]),
        lambda: order.update(shipping=draw.choice(["drone", "express", ""])),
        lambda: line.update(qty=draw.choice([0, -1, "two"])),
        lambda: line.update(price=draw.choice([-1, "free"])),
        lambda: line.pop(draw.choice(["qty", "price"])),
        lambda: line.update(discount=draw.choice([101, -5, "much"])),
        lambda: line.update(vat=draw.choice(["13", "", 7])),
    ])()
    return order


def order_of(seed):
    """The order of a seed; about a quarter can't be invoiced."""
    draw = Draw(seed)
    order = {"number": f"2026-{draw.randint(1, 9999):04}", "customer": random_customer(draw),
             "date": f"2026-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
             "lines": [random_line(draw) for _ in range(draw.choice([1, 2, 3, 5, 9]))]}
    if draw.random() < 0.6:
        order["shipping"] = draw.choice(["standard", "express", "pickup"])
    if draw.random() < 0.5:
        order["voucher"] = draw.choice([{"code": "spring", "percent": 15}, {"amount": "20.00"}, {},
                                        {"code": "all", "percent": "100"}, {"percent": "7.77"},
                                        {"code": "big", "amount": 5000}, {"amount": "0.01"}])
    if draw.random() < 0.4:
        order["paid"] = draw.choice([0, "10.00", 35.5, "99999"])
    if draw.random() < 0.4:
        order["notes"] = [draw.choice(NOTES), draw.choice(NOTES)]
    return spoil(draw, order) if draw.random() < 0.25 else order
