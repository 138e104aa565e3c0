"""Counts of tokens: what several tokenizers count is a tenth more at most."""

from __future__ import annotations

from graphmem.embedding import local
from graphmem.search.context import token_counts
from tests.support.walks import walk_over

ROOM = 1.1
"""A real count divided by ours, at most."""
COUNTS = {
    "Maren said that the meeting about the observatory was moved to Thursday because the projector had not "
    "arrived from Bristol, and that she would bring the drafts.": (31, 31, 33, 31),
    "Ødegaard-Ruiz, Ternmoon Studio, Analytical Engines Ltd, Wojciechowski, Nguyễn Thị Minh Khai, Krzysztof "
    "Brzęczyszczykiewicz": (48, 40, 56, 44),
    "Ada Lovelace (person, ent_9f7412bacb97093cb8a37d5d, 2026-01-31): email: ada@example.org; born: 1815; "
    "WORKS_AT → Analytical Engines (role: CEO)": (57, 56, 61, 59),
    "2026-01-31T09:00:00.000000Z 2026-07-03 +44 7700 900461 1,234,567.89 EUR": (40, 40, 37, 40),
    '{"entity":1,"entity_name":"Analytical Engines","field":"city","value":"London"}': (20, 20, 23, 21),
    "Die Besprechung über die Sternwarte wurde auf Donnerstag verschoben, weil der Projektor noch nicht aus "
    "Bremen angekommen war. ": (33, 26, 37, 31),
    "Spotkanie w sprawie obserwatorium zostało przełożone na czwartek, ponieważ projektor jeszcze nie dotarł "
    "z Gdańska. ": (40, 33, 50, 33),
    "Совещание об обсерватории перенесли на четверг, потому что проектор ещё не прибыл из Твери. ": (
        41, 28, 43, 30,
    ),
    "关于天文台的会议推迟到星期四，因为投影仪还没有从上海运到。": (30, 22, 29, 17),
    "천문대에 관한 회의는 프로젝터가 아직 부산에서 도착하지 않아서 목요일로 연기되었습니다.": (
        41, 27, 51, 32,
    ),
    "تم تأجيل الاجتماع حول المرصد إلى يوم الخميس لأن جهاز العرض لم يصل بعد من الإسكندرية.": (58, 21, 76, 27),
    "वेधशाला के बारे में बैठक गुरुवार तक के लिए स्थगित कर दी गई क्योंकि प्रोजेक्टर अभी तक नहीं आया है।": (
        100, 30, 108, 58,
    ),
    "การประชุมเรื่องหอดูดาวถูกเลื่อนไปเป็นวันพฤหัสบดีเพราะเครื่องฉายยังมาไม่ถึงจากเชียงใหม่": (
        81, 32, 157, 31,
    ),
    "ობსერვატორიის შესახებ შეხვედრა ხუთშაბათისთვის გადაიდო.": (103, 18, 68, 42),
    "வானியல் ஆய்வகம் பற்றிய கூட்டம் வியாழக்கிழமைக்கு ஒத்திவைக்கப்பட்டது.": (90, 22, 128, 34),
    "👩\u200d👩\u200d👧 family 😀😀 great 🎉🎉": (24, 16, 23, 19),
}  # fmt: skip
"""What cl100k, o200k, the published tokenizer of Claude 2 and that of DeepSeek V3 count."""


@walk_over("text", COUNTS)
def test_no_count_is_less_than_other_tokenizers_allow(text: str) -> None:
    counted = token_counts.cost(text, "tokens")
    own = len(local.tokenizer().encode(text, add_special_tokens=False).ids)
    assert max(*COUNTS[text], own) <= ROOM * counted


def test_english_is_counted_by_the_tokenizer_itself() -> None:
    text = next(iter(COUNTS)) * 20
    own = len(local.tokenizer().encode(text, add_special_tokens=False).ids)
    assert own <= token_counts.cost(text, "tokens") <= 1.04 * own
    assert token_counts.cost(text, "characters") == len(text)
