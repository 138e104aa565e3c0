"""The interpreters of contacts and of calendars: people, companies and their roles."""

from __future__ import annotations

from tests.support.proposals import proposal_of, relationships, types_and_fields

CARD = "BEGIN:VCARD\nVERSION:3.0\n{}\nEND:VCARD\n"


def test_contacts_work_at_one_company() -> None:
    cards = ["FN:Ada\nORG:Acme;Lab;East\nREV:20260703T080000Z", "FN:Bob\nORG:Acme", "FN:Cy\nORG:;Lab"]
    proposed = proposal_of("a.vcf", "".join(map(CARD.format, cards)))
    assert types_and_fields(proposed) == [
        ("person", {"name": "Ada", "company": "Acme", "department": "Lab, East"}),
        ("company", {"name": "Acme"}),
        ("person", {"name": "Bob", "company": "Acme"}),
        ("person", {"name": "Cy", "department": "Lab"}),
    ]
    assert [link[:3] for link in relationships(proposed)] == [
        ("WORKS_AT", "Ada", "Acme"),
        ("WORKS_AT", "Bob", "Acme"),
    ]
    assert proposed.entities[0].observed_at == "2026-07-03T08:00:00.000000Z"


def test_a_contact_that_is_an_organisation_is_a_company() -> None:
    cards = ["FN:Acme\nORG:Acme\nX-ABShowAs:COMPANY\nTEL:1\nTEL:2", "FN:Ferry\nKIND:org"]
    assert types_and_fields(proposal_of("a.vcf", "".join(map(CARD.format, cards)))) == [
        ("company", {"name": "Acme", "phone": "1", "phones": ["1", "2"]}),
        ("company", {"name": "Ferry"}),
    ]


def test_an_organiser_who_attends_has_both_roles() -> None:
    text = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Tide\nDTSTART:20260703T080000Z\n"
        "LAST-MODIFIED:20260701T080000Z\nORGANIZER;CN=Ada:mailto:ada@example.org\n"
        "ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:ada@example.org\nATTENDEE;CN=Bob:urn:x\n"
        "END:VEVENT\nBEGIN:VJOURNAL\nSUMMARY:Day\nDESCRIPTION:Rain\nDTSTART;VALUE=DATE:20260703\n"
        "END:VJOURNAL\nEND:VCALENDAR\n"
    )
    proposed = proposal_of("a.ics", text)
    event, person, note = types_and_fields(proposed)
    assert event[1] == {
        "title": "Tide",
        "date_start": "2026-07-03T08:00:00+00:00",
        "organizer": "Ada",
        "attendees": ["Ada", "Bob"],
    }
    assert person == ("person", {"name": "Ada", "email": "ada@example.org"})
    assert note == ("note", {"title": "Day", "date": "2026-07-03", "content": "Rain"})
    metadata = {"roles": ["organizer", "attendee"], "status": "ACCEPTED"}
    assert relationships(proposed) == [("REFERS_TO", "Tide", "ada@example.org", metadata)]
    assert proposed.entities[0].observed_at == "2026-07-01T08:00:00+00:00"
