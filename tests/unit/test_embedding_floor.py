"""What the local model finds by meaning, and what it must not: the floor is set by these phrases."""

from __future__ import annotations

import math
from operator import mul

import pytest

from graphmem.embedding.local import FLOOR, LocalEmbedder

THINGS: dict[str, tuple[str, str]] = {
    "Buy milk and eggs. groceries for the week": ("grocery shopping", "food to buy"),
    "Fix the login bug. users cannot sign in with SSO": ("authentication problem", "cannot log in"),
    "Trip to Lisbon. flights booked, hotel near Alfama": ("vacation in Portugal", "travel plans"),
    "Dentist appointment. Dr. Keller, cleaning": ("teeth cleaning", "oral health"),
    "Invoice from Globex Corporation. hosting services": ("unpaid bill", "web hosting costs"),
    "Quarterly report. revenue grew by twelve percent": ("financial results", "sales growth"),
    "Team offsite. hiking in the Alps with engineering": ("walking in the mountains", "company outing"),
    "Recipe for borscht. beetroot, cabbage, sour cream": ("beet soup", "cooking instructions"),
    "Kubernetes migration. move services to a new cluster": (
        "cloud infrastructure",
        "container orchestration",
    ),
    "Charles Babbage. inventor of computing machines": ("computer pioneer", "father of the computer"),
    "Renew passport. application form and photos": ("travel documents", "identity papers"),
    "Piano lessons for Emma. every Thursday": ("music lessons", "learning an instrument"),
    "Mortgage with First Bank. fixed rate for ten years": ("home loan", "interest rate"),
    "Car service. oil change and new brakes": ("vehicle maintenance", "garage repair"),
    "Onboarding of Maria. laptop, accounts, introduction": ("new employee", "first day at work"),
    "Security audit. penetration test of the payment API": ("hacking attempt", "vulnerability testing"),
    "Marketing campaign. newsletter and social media": ("advertising", "email newsletter"),
    "Contract with Initech. legal review of the liability": ("attorney", "legal agreement"),
    "Birthday party for Leo. cake, balloons and games": ("children's celebration", "birthday"),
    "Physiotherapy for the knee. exercises twice a day": ("rehabilitation", "joint pain"),
    "Solar panels on the roof. offer by SunWorks": ("renewable energy", "photovoltaics"),
    "Hiring a data scientist. interviews on Monday": ("recruiting", "job candidates"),
    "Book club. reading The Master and Margarita": ("novel by Bulgakov", "literature"),
    "Vaccination of the dog. vet clinic": ("pet doctor", "animal vaccination"),
    "Garden. plant tomatoes and prune the roses": ("vegetables and flowers", "gardening"),
    "Customer complaint by Acme. delivery arrived damaged": ("unhappy client", "broken package"),
    "Database backup failed. disk full on the replica": ("server outage", "storage is full"),
    "Yoga class. bring a mat": ("stretching exercises", "fitness"),
    "Tax return. documents for the accountant": ("income tax", "bookkeeping"),
    "Wedding of Tom and Anna. suit, gift and hotel": ("marriage ceremony", "bride and groom"),
}
ABSENT = (
    "volcano eruption", "quantum chromodynamics", "symphony orchestra", "zebra", "blockchain mining",
    "how to train a parrot", "medieval castles", "football world cup", "ocean currents", "nuclear submarine",
    "dinosaur fossils", "ancient Egypt pyramids", "chess opening", "Antarctica expedition", "stamps",
    "opera singer", "deep sea fishing", "horse racing", "whisky distillery", "satellite launch",
    "poker tournament", "glacier melting", "sumo wrestling", "bee keeping", "origami cranes", "haunted house",
    "lottery numbers", "velvet revolution", "telescope mirror", "jazz saxophone", "surfing in Hawaii",
    "cricket match", "crime novel detective", "skateboard tricks", "mushroom hunting", "knitting patterns",
    "train station", "parliament election", "earthquake", "beekeeper",
)  # fmt: skip


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def similarities(embedder: LocalEmbedder, query: str) -> list[float]:
    """Return how near each thing is to a phrase."""
    (query_vector,) = embedder.vectors([query])
    assert query_vector is not None
    vectors = [vector for vector in embedder.vectors(list(THINGS)) if vector is not None]
    return [
        sum(map(mul, query_vector, vector)) / (math.hypot(*query_vector) * math.hypot(*vector))
        for vector in vectors
    ]


def test_most_phrases_find_their_thing_and_rank_it_first(embedder: LocalEmbedder) -> None:
    above_floor = first = 0
    for place, phrases in enumerate(THINGS.values()):
        for phrase in phrases:
            near = similarities(embedder, phrase)
            above_floor += near[place] >= FLOOR
            first += near[place] == max(near)
    assert above_floor >= 30
    assert first >= 40


def test_what_is_absent_is_not_found(embedder: LocalEmbedder) -> None:
    answered = [phrase for phrase in ABSENT if max(similarities(embedder, phrase)) >= FLOOR]
    assert not answered


def test_case_does_not_count(embedder: LocalEmbedder) -> None:
    assert embedder.vectors(["Grocery SHOPPING"]) == embedder.vectors(["grocery shopping"])
