"""Many topics: short texts, and questions that one or several of them answer, partly in other words.

A text is stored as a ``note`` with ``id``, ``title`` and ``text``.
"""

from __future__ import annotations

import random
from itertools import product

from tests.bench.retrieval import sets
from tests.bench.retrieval.sets import Collection, Question, Text
from tests.bench.retrieval.topics_language import QUESTIONS, TEXTS, TOPICS, Term, Topic

SUBJECTS = 7
"""Pairs of a thing and an action that texts of one topic are about, with the default size."""
TEXTS_OF_SUBJECT = (1, 1, 1, 1, 2, 2)
PARAPHRASED_SHARE = 0.65
"""How often a question says the thing, and how often it says the action, in other words."""


def make(size: int = 1) -> list[Collection]:
    """Return one collection: the texts and questions of all topics."""
    texts: list[Text] = []
    questions: list[Question] = []
    for number, topic in enumerate(TOPICS):
        rng = sets.generator(f"topic {topic.name}")
        pairs = list(product(topic.things, topic.actions))
        for thing, action in rng.sample(pairs, min(SUBJECTS * size, len(pairs))):
            answers = []
            for _ in range(rng.choice(TEXTS_OF_SUBJECT)):
                text_id = f"n{len(texts) + 1}"
                answers.append(text_id)
                texts.append(_note(text_id, topic, thing, action, rng))
            questions.append(_question(thing, action, answers, sets.HALVES[number % 2], rng))
    return [Collection("topics", texts, questions)]


def _note(text_id: str, topic: Topic, thing: Term, action: Term, rng: random.Random) -> Text:
    first, second, third = rng.sample(topic.details, 3)
    text = sets.sentence(
        rng.choice(TEXTS).format(thing=thing.stated, action=action.stated, a=first, b=second, c=third)
    )
    title = f"{topic.name.capitalize()} {text_id}"
    return Text(
        text_id, {"entity_type": "note", "id": text_id, "title": title, "text": text}, f"{title}. {text}"
    )


def _question(thing: Term, action: Term, answers: list[str], half: sets.Half, rng: random.Random) -> Question:
    thing_paraphrased, action_paraphrased = (rng.random() < PARAPHRASED_SHARE for _ in range(2))
    text = rng.choice(QUESTIONS).format(
        thing=thing.paraphrased if thing_paraphrased else thing.stated,
        action=action.paraphrased if action_paraphrased else action.stated,
    )
    kind = ("both" if action_paraphrased else "thing") if thing_paraphrased else "action"
    return Question(text, kind if thing_paraphrased or action_paraphrased else "none", answers, half)
