"""Names in scripts without blanks or capital letters, and emoji, name in a question as others do."""

from __future__ import annotations

import pytest

from tests.support.faces import Call

NOTES = {
    "记录": "会议的结论是推迟发布，讨论的结果是这样的。王小明的朋友也在。",
    "メモ": "会議の結論は延期です。次の発表は来週の予定です。",
    "메모": "회의의 결론은 발표를 연기하는 것입니다. 다음 회의는 월요일입니다.",
    "บันทึก": "ผลการประชุมคือเลื่อนการเปิดตัวออกไป และจะประชุมอีกครั้งในวันจันทร์",
    "ملاحظة": "نتيجة الاجتماع هي تأجيل الإطلاق، وما هو رقم الاجتماع القادم؟",
    "टिप्पणी": "बैठक का निष्कर्ष है कि लॉन्च स्थगित है। अगली बैठक सोमवार को है।",
}
PEOPLE = (
    "陈大文", "佐藤 花子", "김민수", "สมชาย ใจดี", "ສົມສັກ ວົງສາ", "សុខ ដារ៉ា", "အောင်အောင်", "प्रिया शर्मा",
    "রাহুল সেন", "கவிதா குமார்", "రాము నాయుడు", "محمد علي", "דוד לוי", "Tom Ek",
)  # fmt: skip


@pytest.fixture
def world(run: Call) -> Call:
    people = [{"entity_type": "person", "name": name, "role": "accountant"} for name in PEOPLE]
    notes = [
        {"entity_type": "note", "title": f"{title} {number}", "content": content}
        for title, content in NOTES.items()
        for number in range(5)
    ]
    others = [
        {"entity_type": "company", "name": "🦊 Fuchsbau"},
        {"entity_type": "project", "name": "🦄"},
        {"entity_type": "note", "title": "Lunch", "content": "🍜 at noon, great 🎉"},
    ]
    run("store", entities=[*people, *notes, *others], find_duplicates=False)
    return run


QUESTIONS = [
    ("陈大文的职位是什么？", "name", "陈大文"),
    ("请告诉我陈大文的电话。", "name", "陈大文"),
    ("大文的职位是什么？", "name_part", "陈大文"),
    ("Tom的电话是多少？", "name_part", "Tom Ek"),
    ("佐藤 花子の電話番号は？", "name", "佐藤 花子"),
    ("佐藤花子さんの電話番号は？", "name_part", "佐藤 花子"),
    ("花子の住所はどこですか。", "name_part", "佐藤 花子"),
    ("김민수의 직책은 무엇인가요?", "name", "김민수"),
    ("민수 씨의 전화번호는?", "name_part", "김민수"),
    ("สมชาย ใจดีทำงานที่ไหน", "name", "สมชาย ใจดี"),
    ("เบอร์ของสมชายคืออะไร", "name_part", "สมชาย ใจดี"),
    ("ສົມສັກ ວົງສາ ຢູ່ໃສ", "name", "ສົມສັກ ວົງສາ"),
    ("តើ សុខ ដារ៉ា នៅឯណា", "name", "សុខ ដារ៉ា"),
    ("အောင်အောင်ရဲ့ဖုန်း", "name", "အောင်အောင်"),
    ("प्रिया शर्मा का फ़ोन नंबर क्या है?", "name", "प्रिया शर्मा"),
    ("प्रिया का पता क्या है।", "name_part", "प्रिया शर्मा"),
    ("রাহুল সেনের ফোন নম্বর কী?", "name", "রাহুল সেন"),
    ("রাহুলের ঠিকানা কী?", "name_part", "রাহুল সেন"),
    ("கவிதா எங்கே இருக்கிறார்?", "name_part", "கவிதா குமார்"),
    ("రాము యొక్క ఫోన్ నంబర్ ఏమిటి?", "name_part", "రాము నాయుడు"),
    ("ما هو رقم هاتف محمد علي؟", "name", "محمد علي"),
    ("أين يعمل محمد؟", "name_part", "محمد علي"),
    ("מה הטלפון של דוד?", "name_part", "דוד לוי"),
    ("🦊", "name_part", "🦊 Fuchsbau"),
    ("Who works at 🦊?", "name_part", "🦊 Fuchsbau"),
    ("What is 🦄?", "name", "🦄"),
    # Somebody else.
    ("王大文的职位是什么？", "text", None),
    ("大文明的职位是什么？", "text", None),
    ("प्रिया वर्मा का फ़ोन नंबर क्या है?", "text", None),
    ("أين يعمل محمد حسن؟", "text", None),
]


def test_names_in_any_script_name(world: Call) -> None:
    wrong = {}
    for question, mode, name in QUESTIONS:
        answer = world("entities.find", identifier=question)
        named = [each["canonical_name"] for each in answer["entities"] if "match" not in each]
        first = world("context.retrieve", question=question, budget=600)["lines"][:1] if name else []
        is_first = all(line.startswith(f"{name} (person") for line in first if "🦊" not in str(name)
                       and name != "🦄")  # fmt: skip
        is_right = named == [name] and answer["match_mode"] == mode and is_first if name else not named
        if not is_right:
            wrong[question] = (answer["match_mode"], named, first)
    assert not wrong


def test_words_of_any_script_and_emoji_are_found(world: Call) -> None:
    for question, title in (
        ("推迟发布的结论", "记录"),
        ("会議の結論", "メモ"),
        ("발표 연기", "메모"),
        ("เลื่อนการเปิดตัว", "บันทึก"),
        ("تأجيل الإطلاق", "ملاحظة"),
        ("लॉन्च स्थगित", "टिप्पणी"),
        ("🍜", "Lunch"),
        ("🎉 lunch", "Lunch"),
    ):
        answer = world("entities.find", identifier=question)
        assert answer["entities"][0]["canonical_name"].startswith(title), question
