"""Letters that mean the same, and addresses with a name: one where they are looked up and proposed."""

from __future__ import annotations

from tests.support.faces import Call

PERSIAN, ARABIC = "کریم یزدی", "كريم يزدي"


def test_a_name_is_found_and_proposed_in_arabic_and_in_persian_letters(run: Call) -> None:
    one, other = (
        item["entity_id"]
        for item in run(
            "store",
            entities=[
                {"entity_type": "person", "name": PERSIAN, "phone": "+98 1"},
                {"entity_type": "person", "name": ARABIC, "city": "Basra"},
            ],
        )["entities"]
    )
    assert one != other
    for spelled in (PERSIAN, ARABIC, f"\u200e{ARABIC}\u200f", PERSIAN.replace(" ", "\u200c ")):
        found = run("entities.find", identifier=spelled)
        assert found["match_mode"] == "name"
        assert {each["entity_id"] for each in found["entities"]} == {one, other}, spelled
    (pair,) = run("entities.duplicates", entity_type="person")["candidates"]
    assert {pair["entity_a"], pair["entity_b"]} == {one, other}


def test_an_address_is_one_with_a_name_and_with_a_scheme(run: Call) -> None:
    addresses = [
        '"Cy Lundvik" <cy@lundvik.example>',
        "cy@lundvik.example",
        "mailto:cy@lundvik.example?subject=x",
    ]
    names = ["Cy Lundvik", "Cyrus Lundvik", "C. Lundvik"]
    stored = run(
        "store",
        entities=[
            {"entity_type": "person", "name": name, "email": address}
            for name, address in zip(names, addresses, strict=True)
        ],
    )["entities"]
    for address in addresses:
        found = run("entities.find", identifier=address)["entities"]
        assert {each["entity_id"] for each in found} == {each["entity_id"] for each in stored}
