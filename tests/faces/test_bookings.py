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
    long = "07.01.2026;-9,00;" + "Card payment at the kiosk of the harbour " * 4
    upload(run, "december.csv", RENT, COFFEE, long)
    upload(run, "january (1).csv", COFFEE, COFFEE, FERRY, long)
    upload(run, "january (2).csv", COFFEE, COFFEE, FERRY, long, "")
    entities = run("entities.query", include_snapshots=True)["entities"]
    texts = sorted(each["snapshot"]["text"][:6] for each in entities)
    assert texts == ["Card p", "Coffee", "Coffee", "Ferry", "Rent"]
