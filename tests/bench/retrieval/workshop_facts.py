"""What the owner of a joiner's workshop stores: her family, her staff, whom she owes and who owes her.

Days are counted from today, as the questions of :mod:`tests.bench.retrieval.workshop` say "tomorrow".
"""

from __future__ import annotations

from typing import Any, Final

from tests.bench.retrieval.life import day, next_week, store_facts
from tests.support.faces import Call

LONG_AGO: Final = "2020-02-01T10:00:00Z"
EARLIER: Final = "2024-06-01T10:00:00Z"
LATER: Final = "2026-05-01T10:00:00Z"
SHOP: Final = "Hartung Joinery"


def _of(entity_type: str, *rows: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple({"entity_type": entity_type, **row} for row in rows)


def _invoice(title: str, amount: str, status: str, due: int, **ends: str) -> dict[str, Any]:
    return {"entity_type": "invoice", "title": title, "amount": amount, "status": status,
            "due_date": day(due), **ends}  # fmt: skip


STORES: Final[tuple[tuple[str, tuple[dict[str, Any], ...]], ...]] = (
    (
        LONG_AGO,
        (
            *_of(
                "person",
                {"name": "Livia Hartung", "self": True, "address": "Kirchgasse 8, Leoben", "shoe_size": 40,
                 "blood_type": "A+"},
                {"name": "Carla Hartung", "phone": "+43 316 555 0121", "birthday": "1987-09-04"},
                {"name": "Emeric Sauer", "phone": "+43 316 555 0122"},
                {"name": "Pavel Dostal", "email": "pavel@dostal.example"},
                {"name": "Mira Hartung", "school": "Keplerschule", "birthday": "2012-03-21"},
                {"name": "Till Hartung", "birthday": "2015-11-02", "allergy": "hazelnuts"},
                {"name": "Elfriede Hartung", "phone": "+43 3842 555 014", "birthday": "1951-01-30"},
                {"name": "Jorge Almeida", "nickname": "Jojo", "email": "jorge@almeida.example"},
                {"name": "Konrad Falk", "phone": "+43 316 555 0177"},
                {"name": "Bruno Kessel", "phone": "+43 316 555 0171", "birthday": "1969-07-12"},
                {"name": "Zsofia Varga", "phone": "+43 316 555 0172", "birthday": "2007-04-18"},
                {"name": "Milan Peric", "birthday": "1990-12-01"},
                {"name": "Ottilie Brandl", "email": "ottilie@hartung.example", "birthday": "1978-08-25"},
                {"name": "Henrik Lund", "birthday": "1999-02-14"},
                {"name": "Gesa Imhof", "phone": "+43 316 555 0190"},
                {"name": "Dr. Samir Nasser", "profession": "dentist", "phone": "+43 316 555 0140"},
                {"name": "Wilma Roth", "city": "Bruck"},
                {"name": "Rosa Stein", "city": "Murau", "phone": "+43 3532 555 03"},
            ),
            *_of(
                "company",
                {"name": SHOP, "vat_number": "ATU66112233"},
                {"name": "Hotel Seeblick", "city": "Leoben"},
                {"name": "Seeblick Laundry", "city": "Graz"},
                {"name": "Cafe Lind"},
                {"name": "Holzwerk Gruber", "phone": "+43 3842 555 800", "alias": "HWG"},
                {"name": "Lack Zentrum"},
                {"name": "Alpen Energie", "customer_number": "AE-40021"},
                {"name": "PlanSoft"},
                {"name": "Steirische Bau Versicherung", "aliases": ["SBV"], "phone": "+43 316 555 0900"},
            ),
            *_of("city", {"name": "Leoben"}, {"name": "Graz"}),
            *_of("building", {"name": "Leoben Lagerhalle", "area": "420 m2"}),
            *_of("loan", {"name": "Roth loan", "lender": "Wilma Roth", "borrower": "Livia Hartung",
                          "amount": "2.000 EUR", "interest_rate": "3 %"}),
        ),
    ),
    (
        EARLIER,
        (
            *_of(
                "machine",
                {"name": "Felder KF 700", "kind": "table saw", "price": "8.900 EUR",
                 "bought_on": "2019-05-02", "serial_number": "FK7-20931", "weight": "780 kg"},
                {"name": "Hammer A3", "kind": "planer", "price": "5.200 EUR", "bought_on": "2021-10-11",
                 "serial_number": "HA3-1182", "weight": "350 kg"},
                {"name": "Rotex 150", "kind": "sander", "price": "640 EUR", "bought_on": "2025-03-01",
                 "warranty_until": "2028-03-01", "weight": "2.3 kg"},
            ),
            *_of(
                "van",
                {"name": "Ford Transit", "license_plate": "G-HT 412", "mileage": "184000 km",
                 "next_inspection": "2027-05-31", "built_in": 2014},
                {"name": "Renault Kangoo", "license_plate": "G-HT 77", "mileage": "61000 km",
                 "next_inspection": "2027-01-15", "built_in": 2021},
            ),
            *_of(
                "contract",
                {"name": "Electricity contract", "provider": "Alpen Energie", "cancel_by": "2027-02-28",
                 "monthly_price": "186 EUR"},
                {"name": "Lease of the workshop", "cancel_by": "2027-06-30", "monthly_price": "1.450 EUR"},
                {"name": "Mobile contract", "cancel_by": "2027-01-31", "monthly_price": "24 EUR"},
            ),
            *_of("pet", {"name": "Spanferkel", "species": "guinea pig"},
                 {"name": "Astrid", "species": "cat"}),
            *_of("course", {"name": "C# for beginners", "start_date": "2027-03-09"},
                 {"name": "C++ for makers", "start_date": "2027-02-02"}),
            *_of("offer", {"title": "OF-2026-12", "customer": "Cafe Lind", "amount": "3.300 EUR",
                           "content": "bench and shelves of ash"},
                 {"title": "OF-2026-11", "customer": "Hotel Seeblick", "amount": "9.750 EUR",
                  "content": "twelve oak doors"}),
            *_of("network", {"name": "Workshop Wi-Fi", "password": "dovetail-plane-19"}),
            *_of("book", {"name": "The Soul of a Tree", "author": "George Nakashima"}),
            *_of("note", {"title": "Stain of the staircase",
                          "content": "The stain is Walnut Dusk, tin 7702."}),
            {"entity_type": "person", "name": "Milan Peric", "phone": "+43 316 555 0177"},
            {"entity_type": "person", "name": "Konrad Falk", "phone": "+43 316 555 0199"},
        ),
    ),
    (
        LATER,
        (
            {"entity_type": "person", "name": "Livia Hartung", "address": "Murgasse 21, Graz"},
            {"entity_type": "contract", "name": "Mobile contract", "monthly_price": "29 EUR"},
            {"entity_type": "loan", "name": "Roth loan", "interest_rate": "4 %"},
            {"entity_type": "van", "name": "Ford Transit", "mileage": "197000 km"},
            {"entity_type": "person", "name": "Mira Hartung", "school": "Lichtenfels Gymnasium"},
            _invoice("R-2031", "4.820,00 EUR", "sent", -5, vendor=SHOP, customer="Hotel Seeblick"),
            _invoice("R-2032", "960 EUR", "sent", 12, vendor=SHOP, customer="Cafe Lind"),
            _invoice("R-2033", "1.250,50 EUR", "paid", -60, vendor=SHOP, customer="Hotel Seeblick"),
            _invoice("R-2034", "9.300 EUR", "cancelled", -4, vendor=SHOP, customer="Cafe Lind"),
            _invoice("HW-771", "3.140,00 EUR", "open", 3, vendor="Holzwerk Gruber", customer=SHOP),
            _invoice("LZ-19", "410 EUR", "open", -2, vendor="Lack Zentrum", customer=SHOP),
            _invoice("AE-5", "186 EUR", "paid", -30, vendor="Alpen Energie", customer=SHOP),
            _invoice("PS-88", "79 USD", "open", 20, vendor="PlanSoft", customer=SHOP),
            *_of(
                "task",
                {"title": "Order oak boards", "status": "open", "due_date": day(1),
                 "assignee": "Bruno Kessel"},
                {"title": "Repair the door of Cafe Lind", "status": "open", "due_date": day(-3),
                 "assignee": "Zsofia Varga"},
                {"title": "Sharpen planer knives", "status": "done", "due_date": day(-1)},
                {"title": "Order hinges", "status": "open", "due_date": day(0), "assignee": "Livia Hartung"},
            ),
            *_of(
                "appointment",
                {"title": "Handover at Hotel Seeblick", "start_date": next_week(1), "location": "Leoben"},
                {"title": "Guild evening", "start_date": day(1), "status": "cancelled"},
                {"title": "Check-up with Dr. Nasser", "start_date": day(2)},
                {"title": "Measuring at Cafe Lind", "start_date": "2026-04-14"},
                {"title": "Wood fair in Klagenfurt", "start_date": "2025-09-03", "end_date": "2025-09-06"},
            ),
        ),
    ),
)  # fmt: skip

LINKS: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("OWNS", "Livia Hartung", SHOP, {}),
    ("WORKS_AT", "Bruno Kessel", SHOP, {"role": "master joiner", "since": "2012-03-01"}),
    ("WORKS_AT", "Zsofia Varga", SHOP, {"role": "apprentice", "since": "2025-09-01"}),
    ("WORKS_AT", "Milan Peric", SHOP, {"role": "driver"}),
    ("WORKS_AT", "Ottilie Brandl", SHOP, {"role": "bookkeeper"}),
    ("WORKS_AT", "Konrad Falk", SHOP, {"role": "driver", "until": "2023-12-31"}),
    ("WORKS_AT", "Rosa Stein", "Hotel Seeblick", {"role": "driver"}),
    ("WORKS_AT", "Carla Hartung", "Alpen Energie", {"role": "engineer", "since": "2022-01-01"}),
    ("WORKS_AT", "Carla Hartung", "PlanSoft", {"since": "2015-01-01", "until": "2021-12-31"}),
    ("REPORTS_TO", "Henrik Lund", "Livia Hartung", {}),
    ("REPORTS_TO", "Zsofia Varga", "Bruno Kessel", {}),
    ("SISTER_OF", "Carla Hartung", "Livia Hartung", {}),
    ("EX_HUSBAND_OF", "Emeric Sauer", "Livia Hartung", {}),
    ("EX_HUSBAND_OF", "Pavel Dostal", "Carla Hartung", {}),
    ("BOYFRIEND_OF", "Jorge Almeida", "Livia Hartung", {}),
    ("MOTHER_OF", "Elfriede Hartung", "Livia Hartung", {}),
    ("DAUGHTER_OF", "Mira Hartung", "Livia Hartung", {}),
    ("SON_OF", "Till Hartung", "Livia Hartung", {}),
    ("AUNT_OF", "Wilma Roth", "Livia Hartung", {}),
    ("NEIGHBOR_OF", "Gesa Imhof", "Livia Hartung", {}),
    ("DENTIST_OF", "Dr. Samir Nasser", "Livia Hartung", {}),
    ("OWNS", SHOP, "Ford Transit", {}),
    ("OWNS", SHOP, "Renault Kangoo", {}),
    ("LIVES_IN", "Gesa Imhof", "Leoben", {}),
    ("LOCATED_AT", "Holzwerk Gruber", "Leoben Lagerhalle", {}),
    ("LENT_TO", "The Soul of a Tree", "Gesa Imhof", {}),
)


def store(run: Call) -> list[str]:
    """Store all facts; return what was refused."""
    return store_facts(run, STORES, LINKS)
