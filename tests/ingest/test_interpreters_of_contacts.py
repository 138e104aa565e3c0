"""The interpreters of contacts and of calendars: people, companies and their roles."""

from __future__ import annotations

import pytest

from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
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
    cards = [
        "FN:Acme\nORG:Acme\nX-ABShowAs:COMPANY\nTEL:1\nTEL:2",
        "FN:Ferry\nKIND:org",
        "N:;;;;\nORG:Boats;Yard",
    ]
    assert types_and_fields(proposal_of("a.vcf", "".join(map(CARD.format, cards)))) == [
        ("company", {"name": "Acme", "phone": "1", "phones": ["1", "2"]}),
        ("company", {"name": "Ferry"}),
        ("company", {"name": "Boats"}),
    ]


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        ("TEL;TYPE=CELL:+45 1\nTEL;TYPE=HOME,FAX:+45 2", {"mobile_phone": "+45 1", "home_fax": "+45 2"}),
        ("TEL;X-Chata:1\nEMAIL;X-Skola:a@x.example", {"chata_phone": "1", "skola_email": "a@x.example"}),
        ("TEL;CELL:1\nTEL;WORK;VOICE:2", {"mobile_phone": "1", "work_phone": "2"}),
        ("TEL;TYPE=WORK;TYPE=FAX;TYPE=pref:1", {"work_fax": "1"}),
        ('TEL;TYPE="work,cell";VALUE=uri:tel:+45-1', {"work_mobile_phone": "+45-1"}),
        ("EMAIL;type=INTERNET;type=HOME:a@x.example", {"home_email": "a@x.example"}),
        ("item1.EMAIL:a@x.example\nitem1.X-ABLabel:Boat club", {"boat_club_email": "a@x.example"}),
        ("item1.TEL:1\nitem1.X-ABLabel:_$!<Other>!$_", {}),
        ("item2.ADR;type=HOME:;;Quay 3;Oslo;;1;\nitem2.X-ABADR:no", {"home_address": "Quay 3, 1, Oslo"}),
        ("item1.URL:x.example\nitem1.X-ABLabel:_$!<HomePage>!$_", {}),
        (
            "item1.X-ABDATE;type=pref:20171111\nitem1.X-ABLabel:_$!<Anniversary>!$_",
            {"anniversary": "2017-11-11"},
        ),
        ("item1.X-ABDATE:--0504\nitem1.X-ABLabel:Liv born", {"liv_born": "--05-04"}),
        ("X-ABDATE:20171111", {"date": "2017-11-11"}),
        ("ANNIVERSARY:20171111", {"anniversary": "2017-11-11"}),
        ("item1.X-ABRELATEDNAMES:Bo\nitem1.X-ABLabel:_$!<Brother>!$_", {"brother": "Bo"}),
        ("RELATED;TYPE=spouse;VALUE=text:Bo", {"spouse": "Bo"}),
        ("X-SPOUSE:Bo\nX-MANAGER:Cy", {"spouse": "Bo", "manager": "Cy"}),
        ("X-SOCIALPROFILE;type=twitter:https://t.example/a", {"twitter": "https://t.example/a"}),
        ("IMPP;X-SERVICE-TYPE=Jabber;type=HOME:xmpp:a@x.example", {"jabber": "xmpp:a@x.example"}),
        ("X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Bo;2;;;;;;;;;;;;;", {"brother": "Bo"}),
        ("X-ANDROID-CUSTOM:vnd.android.cursor.item/relation;Bo;0;Godfather;;;", {"godfather": "Bo"}),
        (
            "X-ANDROID-CUSTOM:vnd.android.cursor.item/contact_event;2017-11-11;1;;",
            {"anniversary": "2017-11-11"},
        ),
        ("X-ANDROID-CUSTOM:vnd.android.cursor.item/nickname;Addy;1;;", {"nickname": "Addy"}),
        ("TEL;X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,B=C3=A5d):1", {"båd_phone": "1"}),
        (
            "X-MS-SPOUSE;N:Bo\nX-MS-CHILD:Cy\nX-MS-MANAGER:Di",
            {"spouse": "Bo", "child": "Cy", "manager": "Di"},
        ),
        (
            "X-EVOLUTION-SPOUSE:Bo\nX-EVOLUTION-ANNIVERSARY:20010203",
            {"spouse": "Bo", "anniversary": "2001-02-03"},
        ),
        ("X-MS-ANNIVERSARY;VALUE=DATE:20010203", {"anniversary": "2001-02-03"}),
        ("DEATHDATE:18521127", {"death_date": "1852-11-27"}),
        ("ANNIVERSARY:20090808T1430-0500", {"anniversary": "2009-08-08T14:30:00-05:00"}),
    ],
)
def test_kinds_and_labels_name_values(lines: str, fields: dict[str, str]) -> None:
    ((_, whole),) = types_and_fields(proposal_of("a.vcf", CARD.format(f"FN:Ada\n{lines}")))
    usual = {"name", "phone", "phones", "email", "emails", "address", "url"}
    assert {name: value for name, value in whole.items() if name not in usual} == fields


def test_a_fax_is_not_the_telephone_of_a_contact() -> None:
    ((_, whole),) = types_and_fields(proposal_of("a.vcf", CARD.format("FN:Ada\nTEL;WORK;FAX:1\nTEL;HOME:2")))
    assert (whole["phone"], whole["phones"]) == ("2", ["2", "1"])


def test_a_relative_who_is_one_contact_is_related() -> None:
    related = "item1.X-ABRELATEDNAMES:{}\nitem1.X-ABLabel:_$!<{}>!$_"
    cards = [
        f"FN:Ada\n{related.format('Bo', 'Child')}",
        "FN:Bo\nX-MANAGER:Cy",
        "FN:Cy\nTEL:1",
        f"FN:Di\n{related.format('Eve', 'Mother')}",
        "FN:Eve\nTEL:2",
        "FN:Eve\nTEL:3",
    ]
    proposed = proposal_of("a.vcf", "".join(map(CARD.format, cards)))
    # Two contacts have the name of the last one.
    assert [link[:3] for link in relationships(proposed)] == [
        ("PARENT_OF", "Ada", "Bo"),
        ("MANAGES", "Cy", "Bo"),
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


def test_a_contact_has_a_name_that_is_no_address() -> None:
    cards = [
        "N:Lorentzen;Sindre;Aage;Dr.;",
        "N:Tveit;Anna,Maria",
        "FN:bo@example.org\nN:Bo;Ada\nEMAIL:bo@example.org",
        "FN:\nN:O\\; Neil;Al",
        "KIND:group\nFN:Crew",
        "KIND:location\nFN:Dock 1",
    ]
    proposed = types_and_fields(proposal_of("a.vcf", "".join(map(CARD.format, cards))))
    assert [(kind, fields["name"]) for kind, fields in proposed] == [
        ("person", "Sindre Aage Lorentzen"),
        ("person", "Anna Maria Tveit"),
        ("person", "Ada Bo"),
        ("person", "Al O; Neil"),
        ("group", "Crew"),
        ("location", "Dock 1"),
    ]
    assert proposed[0][1]["name_prefix"] == "Dr."


def test_a_contact_has_all_values_of_its_properties_and_no_pictures() -> None:
    card = (
        "FN:Ada\nX-SOCIALPROFILE:a\nX-SOCIALPROFILE:b\nRELATED;VALUE=text:Bob\nTITLE:Captain\nTITLE:Owner\n"
        "LANG:fr\nX-MS-CARDPICTURE;ENCODING=BASE64:\n /9j/\nPHOTO:data:image/png;base64,x\nX-LOGO:data:x"
    )
    assert types_and_fields(proposal_of("a.vcf", CARD.format(card))) == [
        (
            "person",
            {
                "name": "Ada",
                "socialprofile": ["a", "b"],
                "related": "Bob",
                "title": ["Captain", "Owner"],
                "language": "fr",
            },
        )
    ]


def test_the_days_of_a_contact_are_iso_8601_and_may_have_no_year() -> None:
    days = {
        "BDAY:19850412": "1985-04-12",
        "BDAY:1985-04-12T00:00:00Z": "1985-04-12",
        "BDAY:--0412": "--04-12",
        "BDAY:1604-04-12": "--04-12",
        "BDAY;X-APPLE-OMIT-YEAR=1604:1604-04-12": "--04-12",
        "BDAY:1985": "1985",
        "BDAY:1985-04-11T22:00:00Z": "1985-04-11T22:00:00Z",
    }
    for line, expected in days.items():
        proposed = proposal_of("a.vcf", CARD.format(f"FN:Ada\n{line}\nANNIVERSARY:20100203"))
        assert types_and_fields(proposed) == [
            ("person", {"name": "Ada", "birthday": expected, "anniversary": "2010-02-03"})
        ]


def test_quoted_printable_of_several_lines_is_joined_and_its_separators_are_text() -> None:
    card = CARD.format(
        "N;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:B=C3=\n=B8=3B x;Bj=C3=B8rn=\n=20Erik\n"
        "NOTE;QUOTED-PRINTABLE:a long=\n line=0D=0Aand more"
    )
    document = parsed_here(card.encode(), None, "a.vcf", DocumentLimits())
    fields = {field.name: field.value for field in document.parts[0].fields}
    assert fields["name"] == "Bjørn Erik Bø; x"
    assert fields["note"] == "a long line\nand more"
    broken = CARD.format("FN:Ada\nTITLE;ENCODING=QUOTED-PRINTABLE:B=ZZ\nNOTE;ENCODING=QUOTED-PRINTABLE:bl=E5")
    document = parsed_here(broken.encode(), None, "a.vcf", DocumentLimits())
    assert [field.value for field in document.parts[0].fields] == ["Ada", "blå"]
    assert document.warnings == (
        "LEFT_OUT: Line 4 cannot be read, it is left out: TITLE;ENCODING=QUOTED-PRINTABLE:B=ZZ",
        "Line 5 has no encoding that fits, it is read as cp1252.",
    )
    latin = CARD.format("FN;CHARSET=ISO-8859-1:Jørgen Øst").encode("latin-1")
    document = parsed_here(latin, None, "a.vcf", DocumentLimits())
    assert document.parts[0].fields[0].value == "Jørgen Øst"


def test_a_broken_contact_is_told_and_the_others_are_kept() -> None:
    whole = [CARD.format(f"FN:{name}") for name in ("Ada", "Bob", "Cy", "Dan")]
    broken = [whole[0], whole[1].replace("END:VCARD\n", "no property\n"), whole[2], whole[3][:-10]]
    document = parsed_here("".join(broken).encode(), None, "a.vcf", DocumentLimits())
    assert [part.fields[0].value for part in document.parts] == ["Ada", "Bob", "Cy"]
    assert document.warnings == (
        "LEFT_OUT: Line 8 cannot be read, it is left out: no property",
        "VCARD 2 (line 5) has no line END:VCARD: it ends before line 9.",
        "LEFT_OUT: VCARD 4 (line 13) has no end: it is left out.",
    )


def test_a_label_that_is_a_name_of_graphmem_is_no_field() -> None:
    proposed = proposal_of(
        "a.vcf", CARD.format("FN:Ada\nitem1.X-ABDATE:20111111\nitem1.X-ABLabel:canonical name")
    )
    assert types_and_fields(proposed) == [("person", {"name": "Ada"})]
    assert proposed.entities[0].canonical_name is None
    assert "'canonical_name'" in proposed.warnings[0]
