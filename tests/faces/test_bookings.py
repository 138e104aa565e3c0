"""Bank statements with overlapping months: each booking is there as often as the account has it."""

from __future__ import annotations

import base64

from tests.support.faces import Call

HEAD = "Date;Amount;Text"
COFFEE, FERRY, RENT = "05.01.2026;-3,20;Coffee", "06.01.2026;-41,00;Ferry", "31.12.2025;-900,00;Rent"


def upload(run: Call, name: str, *rows: str) -> list[str]:
    """Store a statement; return the warnings of its interpretation."""
    content = base64.b64encode("\n".join((HEAD, *rows, "")).encode()).decode()
    answer = run("store", file_content=content, original_filename=name)
    return answer["interpretation"].get("warnings", [])


def test_overlapping_statements_make_the_greater_count(run: Call) -> None:
    long = "07.01.2026;-9,00;" + "Card payment at the kiosk of the harbour " * 4
    upload(run, "december.csv", RENT, COFFEE, FERRY, long)
    assert upload(run, "january (1).csv", COFFEE, COFFEE, FERRY, long) == []
    # What an earlier statement has alone is not missing.
    assert upload(run, "january (2).csv", COFFEE, COFFEE, FERRY, long, "") == []
    entities = run("entities.query", include_snapshots=True)["entities"]
    texts = sorted(each["snapshot"]["text"][:6] for each in entities)
    assert texts == ["Card p", "Coffee", "Coffee", "Ferry", "Rent"]
