"""Dialogues: two people, 20 to 30 sessions with dates, facts between small talk, and questions about facts.

A turn is stored as a ``message`` with ``message_id``, ``conversation``, ``sender``, ``text`` and ``sent_at``.
Each session is stored once more for another owner, as a ``conversation`` with ``title``, ``date`` and
``transcript``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from tests.bench.retrieval import sets, words
from tests.bench.retrieval.facts import FACTS, SMALL_TALK, SMALL_TALK_SLOTS, Fact
from tests.bench.retrieval.sets import Collection, Question, Text

DIALOGUES = 5
"""With the default size."""
QUESTIONS_LIMIT = 50
"""Questions about one dialogue."""
FACTS_PER_SESSION = (1, 2, 2, 3)
SMALL_TALK_PER_SESSION = (4, 28)
"""The least and the largest number of turns without a fact."""
WORLD_SIZE = 7
"""Values of each slot that two people talk about at all: the same words come back with other facts."""
CHAT_SENTENCES = (0, 1, 1, 2, 3)
"""Sentences without a fact that a turn has besides."""
REPLY_SHARE = 0.35
"""How many of the facts are replies to what the other speaker says."""
DATE_SHARE = 0.1
"""How many of the questions name the day of a session instead of its words."""

_SLOT = re.compile(r"{(\w+?)(?:_other)?}")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; ``slots`` are those of its fact that it or the turn before it names."""

    id: str
    session: str
    speaker: str
    text: str
    time: datetime
    fact: Fact | None = None
    values: dict[str, Any] | None = None
    slots: frozenset[str] = frozenset()


class _Dialogue:
    """The turns of one dialogue, as they are made."""

    def __init__(self, name: str) -> None:
        self.rng = sets.generator(f"dialogue {name}")
        self.name = name
        self.speakers = self.rng.sample(words.GIVEN_NAMES, 2)
        self.turns: list[Turn] = []
        # By the list itself: slots with different names may share one.
        self._world: dict[int, list[Any]] = {}
        self._used: set[tuple[str, str, str]] = set()

    def make(self) -> None:
        day = date(2023, 1, 1) + timedelta(days=self.rng.randrange(120))
        for session in range(1, self.rng.randrange(20, 31) + 1):
            day += timedelta(days=self.rng.randrange(2, 16))
            self._session(f"{self.name}:s{session}", sets.moment(day, self.rng))

    def _session(self, session: str, start: datetime) -> None:
        fillers = self.rng.randint(*SMALL_TALK_PER_SESSION)
        facts = self.rng.choice(FACTS_PER_SESSION)
        plan = [True] * facts + [False] * fillers
        self.rng.shuffle(plan)
        speaker = self.rng.randrange(2)
        for is_fact in plan:
            if is_fact:
                self._fact(session, start, speaker)
            else:
                self._say(session, start, speaker, "", {})
            speaker = 1 - speaker

    def _fact(self, session: str, start: datetime, speaker: int) -> None:
        fact = self.rng.choice(FACTS)
        values = self._values(fact.slots)
        first = next(iter(values))
        key = (self.speakers[speaker], first, sets.stated(values[first]))
        if key in self._used:
            return
        self._used.add(key)
        slots = {name: sets.stated(value) for name, value in values.items()}
        if self.rng.random() < REPLY_SHARE:
            prompt, template = self.rng.choice(fact.replies)
            # The other speaker asks, in a turn before.
            self._say(session, start, 1 - speaker, prompt, slots, addressed=speaker)
        else:
            prompt, template = "", self.rng.choice(fact.statements)
        named = frozenset(_SLOT.findall(prompt + template)) & values.keys()
        self._say(session, start, speaker, template, slots, fact=fact, values=values, named=named)

    def _chat(self, template: str, listener: str, day: date) -> str:
        """Return a sentence of small talk; its values come from the same world as those of the facts."""
        slots = {name: sets.stated(value) for name, value in self._values(SMALL_TALK_SLOTS).items()}
        return template.format(**slots, who=listener, time=sets.time_phrase(day, self.rng))

    def _values(self, slots: dict[str, list[Any]]) -> dict[str, Any]:
        """Return a value of this dialogue's world for each slot."""
        values = {}
        for name, choices in slots.items():
            if id(choices) not in self._world:
                self._world[id(choices)] = self.rng.sample(choices, min(WORLD_SIZE, len(choices)))
            values[name] = self.rng.choice(self._world[id(choices)])
        return values

    def _say(
        self, session: str, start: datetime, speaker: int, template: str, slots: dict[str, str], *,
        addressed: int | None = None, fact: Fact | None = None, values: dict[str, Any] | None = None,
        named: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        listener = self.speakers[1 - speaker if addressed is None else addressed]
        time = start + timedelta(minutes=sum(turn.session == session for turn in self.turns))
        parts = [template.format(**slots, who=listener, time=sets.time_phrase(start.date(), self.rng))]
        count = self.rng.choice(CHAT_SENTENCES) + (not template)
        for chat in self.rng.sample(SMALL_TALK, count):
            parts.insert(self.rng.choice((0, len(parts))), self._chat(chat, listener, start.date()))
        text = " ".join(part for part in parts if part)
        self.turns.append(
            Turn(
                f"{self.name}:t{len(self.turns) + 1}", session, self.speakers[speaker], sets.sentence(text),
                time, fact, values, named,
            )
        )  # fmt: skip

    def questions(self) -> list[Question]:
        """Return questions about the facts; the halves take turns."""
        stated = [turn for turn in self.turns if turn.fact is not None]
        questions: dict[str, Question] = {}
        for turn in stated:
            for question in self._questions_about(turn, stated):
                questions.setdefault(question.text, question)
        listed = list(questions.values())
        self.rng.shuffle(listed)
        dated = [question for question in listed if question.kind == "date"]
        others = [question for question in listed if question.kind != "date"]
        dated = dated[: int(QUESTIONS_LIMIT * DATE_SHARE)]
        chosen = dated + others[: QUESTIONS_LIMIT - len(dated)]
        return [replace(question, half=sets.HALVES[place % 2]) for place, question in enumerate(chosen)]

    def _questions_about(self, turn: Turn, stated: list[Turn]) -> list[Question]:
        assert turn.fact
        assert turn.values
        questions = []
        for kind, slot, template in turn.fact.questions:
            named = frozenset(_SLOT.findall(template)) & turn.values.keys()
            if not ({slot} - {""} | named) <= turn.slots:
                continue
            slots = {"who": turn.speaker}
            for name, value in turn.values.items():
                slots[name] = sets.stated(value)
                slots[f"{name}_other"] = sets.paraphrased(value)
                slots[f"{name}_2"] = sets.stated(
                    sets.other_than(self.rng, self._world[id(turn.fact.slots[name])], value)
                )
            same = [
                other for other in stated
                if other.fact is turn.fact and other.speaker == turn.speaker and other.values
                and named | ({slot} - {""}) <= other.slots
                and all(other.values[name] == turn.values[name] for name in named)
            ]  # fmt: skip
            questions.append(self._question(template.format(**slots), kind, same))
        day = self.rng.choice(sets.spellings(turn.time.date()))
        same = [other for other in stated if other.session == turn.session and other.speaker == turn.speaker]
        questions.append(self._question(f"What did {turn.speaker} talk about on {day}?", "date", same))
        return questions

    def _question(self, text: str, kind: str, turns: list[Turn]) -> Question:
        sessions = list(dict.fromkeys(turn.session for turn in turns))
        return Question(text, kind, [turn.id for turn in turns], "tuning", sessions=sessions)


def make(size: int = 1) -> list[tuple[Collection, Collection]]:
    """Return the turns and the sessions of each dialogue, with the same questions."""
    made = []
    for number in range(DIALOGUES * size):
        dialogue = _Dialogue(f"d{number + 1}")
        dialogue.make()
        questions = dialogue.questions()
        turns = [_message(dialogue.name, turn) for turn in dialogue.turns]
        by_session: dict[str, list[Turn]] = {}
        for turn in dialogue.turns:
            by_session.setdefault(turn.session, []).append(turn)
        sessions = [_conversation(name, dialogue, said) for name, said in by_session.items()]
        made.append(
            (
                Collection(f"turns {dialogue.name}", turns, questions),
                Collection(f"sessions {dialogue.name}", sessions, questions),
            )
        )
    return made


def _message(conversation: str, turn: Turn) -> Text:
    item = {
        "entity_type": "message", "message_id": turn.id, "conversation": conversation, "sender": turn.speaker,
        "text": turn.text, "sent_at": sets.iso(turn.time), "observed_at": sets.iso(turn.time),
    }  # fmt: skip
    return Text(turn.id, item, f"{turn.speaker}: {turn.text}")


def _conversation(name: str, dialogue: _Dialogue, turns: list[Turn]) -> Text:
    transcript = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    item = {
        "entity_type": "conversation", "title": f"{' and '.join(dialogue.speakers)}, session {name}",
        "date": turns[0].time.date().isoformat(), "transcript": transcript,
        "observed_at": sets.iso(turns[0].time),
    }  # fmt: skip
    return Text(name, item, transcript)
