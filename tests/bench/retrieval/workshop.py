"""A joiner's workshop: some 100 facts (:mod:`tests.bench.retrieval.workshop_facts`), and 150 questions.

The questions are in six languages. What is right is written down by hand: the entities that come first, and
what the line of the first one, or the sentence that says how the question was read, has to say.
"""

from __future__ import annotations

from typing import Final

from tests.bench.retrieval import life, workshop_facts
from tests.bench.retrieval.life import RESEMBLANCE, TODAY, asked
from tests.support.faces import Call

__all__ = ["QUESTIONS", "RESEMBLANCE", "TODAY", "answered", "store"]
store = workshop_facts.store
OWED: Final = "HW-771 + LZ-19 + PS-88"
"""The invoices that the workshop has to pay."""
UNPAID: Final = "R-2031 + R-2032 + HW-771 + LZ-19 + PS-88"
CONTRACTS: Final = "Electricity contract + Lease of the workshop + Mobile contract"
MACHINES: Final = "Felder KF 700 + Hammer A3 + Rotex 150"
OWED_TO_US: Final = "R-2031 + R-2032"
SHOP: Final = workshop_facts.SHOP
STAFF: Final = "Bruno Kessel + Zsofia Varga + Milan Peric + Ottilie Brandl"


QUESTIONS: Final = (
    *asked(
        "a field by its words",
        ("vat number of the joinery", "Hartung Joinery", "ATU66112233"),
        ("What is the number plate of the Transit?", "Ford Transit", "G-HT 412"),
        ("serial number of the table saw", "Felder KF 700", "FK7-20931"),
        ("When does the warranty of the sander end?", "Rotex 150", "2028-03-01"),
        ("What's the wifi password of the workshop?", "Workshop Wi-Fi", "dovetail-plane-19"),
        ("Which stain is on the staircase?", "Stain of the staircase", "Walnut Dusk"),
        ("By when must I cancel the electricity contract?", "Electricity contract", "2027-02-28"),
        ("When does the C++ course start?", "C++ for makers", "2027-02-02"),
        ("What is in OF-2026-12?", "OF-2026-12", "ash"),
        ("Who wrote The Soul of a Tree?", "The Soul of a Tree", "Nakashima"),
        ("our customer number at Alpen Energie", "Alpen Energie", "AE-40021"),
        ("Who is allergic to hazelnuts?", "Till Hartung", "hazelnuts"),
    ),
    *asked(
        "a named person or thing",
        ("phone of Bruno Kessel", "Bruno Kessel", "0171"),
        ("Zsofia's birthday", "Zsofia Varga", "2007-04-18"),
        ("HWG phone", "Holzwerk Gruber", "800"),
        ("Jojo's email", "Jorge Almeida", "jorge@almeida.example"),
        ("SBV", "Steirische Bau Versicherung", ""),
        ("What is the phone number of the SBV?", "Steirische Bau Versicherung", "0900"),
        ("+43 316 555 0190", "Gesa Imhof", ""),
        ("ottilie@hartung.example", "Ottilie Brandl", ""),
        ("phone of Bruno Kesel", "Bruno Kessel", "0171"),
    ),
    *asked(
        "roles",
        ("Who is our apprentice?", "Zsofia Varga", ""),
        ("Who is our driver?", "Milan Peric", ""),
        ("phone of our master joiner", "Bruno Kessel", "0171"),
        ("the driver of Hotel Seeblick", "Rosa Stein", ""),
        ("Who is the bookkeeper?", "Ottilie Brandl", ""),
        ("Who are our employees?", f"{STAFF} + Henrik Lund", ""),
        ("Who works at Hartung Joinery?", f"{SHOP} / {STAFF.replace(' + ', ' / ')}", ""),
        ("Bruno's apprentice", "Zsofia Varga", ""),
        ("Who was our driver before Milan?", "Konrad Falk", ""),
        ("Who reports to me?", "Henrik Lund / Livia Hartung", "Henrik Lund"),
    ),
    *asked(
        "by a relationship",
        ("Where does Carla work?", "Carla Hartung / Alpen Energie", "Alpen Energie"),
        ("my sister's ex-husband", "Pavel Dostal", "pavel@dostal.example"),
        ("Who is my ex-husband?", "Emeric Sauer", ""),
        ("my former husband's phone", "Emeric Sauer", "0122"),
        ("my mother's birthday", "Elfriede Hartung", "1951-01-30"),
        ("my aunt", "Wilma Roth", ""),
        ("Which school does my daughter go to?", "Mira Hartung", "Lichtenfels"),
        ("Who is the mother of Till?", "Livia Hartung / Till Hartung", "Livia Hartung"),
        ("my dentist's phone", "Dr. Samir Nasser", "0140"),
        ("Who has The Soul of a Tree?", "Gesa Imhof / The Soul of a Tree", "Gesa Imhof"),
        ("Who lives in Leoben?", "Gesa Imhof / Leoben", "Gesa Imhof"),
        ("my family", "Carla Hartung + Mira Hartung + Till Hartung + Elfriede Hartung + Wilma Roth + "
         "Jorge Almeida", ""),
        ("my neighbour's phone", "Gesa Imhof", "0190"),
        ("my children", "Mira Hartung + Till Hartung", ""),
    ),
    *asked(
        "who owes",
        ("What do I still owe?", f"{OWED} + Roth loan", ""),
        ("Who owes us money?", OWED_TO_US, ""),
        ("How much does Hotel Seeblick owe us?", "R-2031", "4820"),
        ("What do we owe Holzwerk Gruber?", "HW-771", "3.140"),
        ("Does Cafe Lind have unpaid invoices?", "R-2032", ""),
        ("Does Alpen Energie have unpaid invoices?", "Alpen Energie", ": 0"),
        ("unpaid invoices of Hotel Seeblick", "R-2031", ""),
        ("What does Cafe Lind owe me?", "R-2032", ""),
        ("bills we have to pay", OWED, ""),
        ("How much do I owe Wilma?", "Roth loan", "2.000"),
        ("paid invoices of Hotel Seeblick", "R-2033", ""),
    ),
    *asked(
        "how many and how much",
        ("How many unpaid invoices are there?", UNPAID, ": 5"),
        ("How many machines do we have?", MACHINES, ": 3"),
        ("What is the total of the invoices from Holzwerk Gruber?", "HW-771", "3140 EUR"),
        ("How much are the unpaid invoices in total?", UNPAID, "9330 EUR"),
        ("How much do we pay for contracts every month?", CONTRACTS, "1665 EUR"),
        ("average price of the machines", MACHINES, "4913.33 EUR"),
        ("sum of the overdue invoices", "R-2031 + LZ-19", "5230 EUR"),
        ("How many open tasks does Zsofia have?", "Repair the door of Cafe Lind", ": 1"),
        ("How many vans do we own?", "Ford Transit + Renault Kangoo", ": 2"),
    ),
    *asked(
        "extremes",
        ("What is the largest unpaid invoice?", "R-2031", ""),
        ("cheapest machine", "Rotex 150", ""),
        ("our most expensive machine", "Felder KF 700", ""),
        ("Which machine is the heaviest?", "Felder KF 700", "780"),
        ("the oldest van", "Ford Transit", ""),
        ("newest machine", "Rotex 150", ""),
        ("Which machine did we buy first?", "Felder KF 700", ""),
        ("my next appointment", "Check-up with Dr. Nasser", ""),
        ("When was our last appointment?", "Measuring at Cafe Lind", "2026-04-14"),
        ("Which contract costs the least?", "Mobile contract", ""),
        ("Who is the youngest employee?", "Zsofia Varga", ""),
        ("Which invoice is due next?", "HW-771", ""),
        ("smallest open bill", "PS-88 / LZ-19", ""),
        ("the van with the highest mileage", "Ford Transit", "197000"),
        ("the two most expensive machines", "Felder KF 700 + Hammer A3", ""),
        ("Which of my contracts ends first?", "Mobile contract", ""),
    ),
    *asked(
        "agenda",
        ("What do I have tomorrow?", "Order oak boards", ""),
        ("What is due today?", "Order hinges", ""),
        ("What is due in the next 2 days?", "Order hinges + Order oak boards", ""),
        ("anything overdue?", "R-2031 + LZ-19 + Repair the door of Cafe Lind", ""),
        ("What is on next week?", "Handover at Hotel Seeblick", ""),
        ("open tasks of Bruno", "Order oak boards", ""),
        ("my tasks", "Order hinges", ""),
        ("cancelled appointments", "Guild evening", ""),
        ("When is the handover at Hotel Seeblick?", "Handover at Hotel Seeblick", ""),
        ("When was the wood fair?", "Wood fair in Klagenfurt", "2025-09-03"),
    ),
    *asked(
        "what was before",
        ("Where did I live before Graz?", "Livia Hartung", "Leoben"),
        ("What was my address in 2023?", "Livia Hartung", "Kirchgasse"),
        ("Who had the number +43 316 555 0177 before Milan?", "Konrad Falk", ""),
        ("How much did the mobile contract cost before?", "Mobile contract", "24 EUR"),
        ("Which school did Mira go to before?", "Mira Hartung", "Keplerschule"),
        ("Where did Carla work in 2019?", "Carla Hartung / PlanSoft", "PlanSoft"),
        ("old interest rate of the Roth loan", "Roth loan", "3 %"),
        ("What was the mileage of the Ford Transit last year?", "Ford Transit", "184000"),
        ("Carla's former employer", "PlanSoft / Carla Hartung", "PlanSoft"),
    ),
    *asked(
        "me",
        ("What is my shoe size?", "Livia Hartung", "40"),
        ("Where do I live?", "Livia Hartung", "Murgasse"),
        ("my blood type", "Livia Hartung", "A+"),
        ("our vans", "Ford Transit + Renault Kangoo", ""),
        ("Which pets do we have?", "Spanferkel + Astrid", ""),
        ("What is the phone of Steirische Bau?", "Steirische Bau Versicherung", "0900"),
    ),
    *asked(
        "nothing that is stored",
        ("phone of Ferdinand Moser", "", ""),
        ("What is the birthday of Jorge Almeida?", "Jorge Almeida", "birthday: not known"),
        ("my brother's phone", "", ""),
        ("Who is our lawyer?", "", ""),
        ("unpaid invoices of Rosa Stein", "Rosa Stein", ": 0"),
        ("the boss of my neighbour", "", ""),
        ("passport number of Bruno", "Bruno Kessel", "passport number: not known"),
        ("Which boats do we have?", "", ""),
        ("Who is Gesa's husband?", "", ""),
    ),
    *asked(
        "German",
        ("unbezahlte Rechnungen", UNPAID, ""),
        ("Wer ist unser Lehrling?", "Zsofia Varga", ""),
        ("Wie viele Maschinen haben wir?", MACHINES, ": 3"),
        ("Was ist die größte offene Rechnung?", "R-2031", ""),
        ("Telefonnummer meiner Schwester", "Carla Hartung", "0121"),
        ("Wer schuldet uns Geld?", OWED_TO_US, ""),
        ("Was muss ich noch bezahlen?", OWED, ""),
        ("mein nächster Termin", "Check-up with Dr. Nasser", ""),
        ("Wer ist mein Exmann?", "Emeric Sauer", ""),
    ),
    *asked(
        "French",
        ("factures impayées", UNPAID, ""),
        ("Combien de machines avons-nous ?", MACHINES, ": 3"),
        ("Quelle est la plus grande facture impayée ?", "R-2031", ""),
        ("le téléphone de ma soeur", "Carla Hartung", "0121"),
        ("Qui nous doit de l'argent ?", OWED_TO_US, ""),
        ("la machine la moins chère", "Rotex 150", ""),
    ),
    *asked(
        "Spanish",
        ("facturas sin pagar", UNPAID, ""),
        ("¿Cuántas máquinas tenemos?", MACHINES, ": 3"),
        ("¿Cuál es la factura pendiente más grande?", "R-2031", ""),
        ("el teléfono de mi hermana", "Carla Hartung", "0121"),
        ("¿Quién nos debe dinero?", OWED_TO_US, ""),
        ("la máquina más cara", "Felder KF 700", ""),
    ),
    *asked(
        "Italian",
        ("fatture non pagate", UNPAID, ""),
        ("Quanti contratti abbiamo?", CONTRACTS, ": 3"),
        ("compiti aperti", "Order oak boards + Repair the door of Cafe Lind + Order hinges", ""),
        ("il telefono di mia sorella", "Carla Hartung", "0121"),
        ("Chi ci deve dei soldi?", OWED_TO_US, ""),
        ("la fattura non pagata più grande", "R-2031", ""),
        ("il mio prossimo appuntamento", "Check-up with Dr. Nasser", ""),
    ),
    *asked(
        "Portuguese",
        ("faturas por pagar", UNPAID, ""),
        ("Quantas máquinas temos?", MACHINES, ": 3"),
        ("tarefas abertas", "Order oak boards + Repair the door of Cafe Lind + Order hinges", ""),
        ("o telefone da minha irmã", "Carla Hartung", "0121"),
        ("Quem nos deve dinheiro?", OWED_TO_US, ""),
        ("qual é a maior fatura por pagar?", "R-2031", ""),
        ("a máquina mais barata", "Rotex 150", ""),
    ),
)  # fmt: skip


def answered(run: Call, question: str) -> dict[str, tuple[list[str], str, bool]]:
    """Return the answer of each way to ask, as :func:`life.answered` does, with how the question was read."""
    answers = life.answered(run, question)
    sentence = run("search.explain", search=question).get("understood", {}).get("sentence", "")
    return {
        how: (names, f"{line} {sentence}", resembles) for how, (names, line, resembles) in answers.items()
    }
