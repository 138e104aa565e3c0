"""Bank statements with overlapping months: each booking is there as often as the account has it."""

from __future__ import annotations

import base64

from tests.support.faces import Call

HEAD = "Date;Amount;Text"
COFFEE, FERRY, RENT = "05.01.2026;-3,20;Coffee", "06.01.2026;-41,00;Ferry", "31.12.2025;-900,00;Rent"


def upload(run: Call, name: str, *rows: str) -> None:
    content = base64.b64encode("\n".join((HEAD, *rows, "")).encode()).decode()
    run("store.unstructured", file_content=content, original_filename=name)


def test_overlapping_statements_make_the_greater_count(run: Call) -> None:
    upload(run, "bookings.csv", RENT, COFFEE)
    upload(run, "bookings (1).csv", COFFEE, COFFEE, FERRY)
    upload(run, "bookings (2).csv", COFFEE, COFFEE, FERRY, "")
    entities = run("entities.query", include_snapshots=True)["entities"]
    texts = sorted(each["snapshot"]["text"] for each in entities)
    assert texts == ["Coffee", "Coffee", "Ferry", "Rent"]
