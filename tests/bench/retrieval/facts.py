"""The facts that turns of a dialogue mention: statements, replies to the other speaker, and questions.

``{hobby}`` is the term as a text says it, ``{hobby_other}`` as a question may say it. ``{time}`` is a time in
one of several spellings. ``{who}`` is the speaker of the fact; in a turn it is the person who is spoken to.
``{city_2}`` is another value of the same slot, which is not true of the fact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.bench.retrieval import words


class Fact(NamedTuple):
    """One kind of fact.

    Attributes:
        slots: the values of each slot.
        statements: what the speaker says at their own instance.
        replies: pairs of what the other speaker says and what the speaker answers.
        questions: ``(kind, slot, question)``: the kind is fact, when, who, which or paraphrase; the slot is
            the one that the question asks for, empty for a time.
    """

    slots: dict[str, list[Any]]
    statements: tuple[str, ...]
    replies: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, str, str], ...]


FACTS = (
    Fact(
        {"city": words.CITIES, "friend": words.RELATIVES, "food": words.FOODS, "detail": words.DETAILS},
        (
            "I went to {city} with my {friend} {time}. I keep thinking about {detail}. We lived on {food}.",
            "Just back from {city}! My {friend} came along, we ate {food} every day. And {detail}, imagine.",
            "{city} was lovely {time}: {food}, {detail} and endless talks with my {friend}.",
            "Did I tell you about {city}? My {friend} and I took the train there {time}. We tried {food}.",
        ),
        (
            ("Where did you end up for the long weekend, {who}?", "{city}, with my {friend}. And {detail}!"),
            (
                "How was your little trip?",
                "So good. {city} is full of places that make {food}. My {friend} agreed.",
            ),
        ),
        (
            ("fact", "food", "What did {who} eat in {city}?"),
            ("when", "", "When did {who} go to {city}?"),
            ("who", "friend", "Who travelled to {city} with {who}?"),
            ("which", "city", "Did {who} visit {city} or {city_2} with the {friend}?"),
            ("paraphrase", "city", "On which journey did {who} have {food_other}?"),
            ("paraphrase", "friend", "Which member of the family joined {who} on holiday in {city}?"),
        ),
    ),
    Fact(
        {"job": words.JOBS, "employer": words.EMPLOYERS, "feeling": words.FEELINGS},
        (
            "Big news: I start as a {job} at {employer} {time}. I am so {feeling}.",
            "I finally signed the contract with {employer}. They needed a {job}, and here I am, {feeling}.",
            "My first day as a {job} at {employer} was {time}. Everybody says that I looked {feeling}.",
            "{employer} hired me {time}! A {job}, me, can you believe it? A bit {feeling} though.",
        ),
        (
            ("Did you hear back after the interview?", "Yes! {employer} took me. I will be their new {job}."),
            ("And how is work these days, {who}?", "I changed. {employer} now, as a {job}. Still {feeling}."),
        ),
        (
            ("fact", "job", "What is the job of {who} at {employer}?"),
            ("fact", "employer", "Which company hired {who} as a {job}?"),
            ("when", "", "When did {who} begin to work for {employer}?"),
            ("which", "employer", "Does {who} work for {employer} or for {employer_2}?"),
            ("paraphrase", "job", "What does {who} do for a living at {employer}?"),
            ("paraphrase", "job", "Is {who} {job_other} these days?"),
        ),
    ),
    Fact(
        {"pet": words.PETS, "pet_name": words.PET_NAMES, "colour": words.COLOURS, "friend": words.FRIENDS},
        (
            "We have a new {pet}! The name is {pet_name}, with a {colour} ribbon, from my {friend}.",
            "{pet_name} moved in {time}. Yes, a {pet}. My {friend} could not keep it any more.",
            "My {friend} gave me a {pet} {time}. I called it {pet_name} and bought a {colour} blanket.",
            "Look at this picture: {pet_name}, our {pet}, asleep in the {colour} box of my {friend}.",
        ),
        (
            (
                "What is that noise behind you?",
                "That is {pet_name}, the {pet}. It hates the {colour} curtain.",
            ),
            (
                "You sound tired, {who}. Short night?",
                "{pet_name} kept me up. A {pet} needs more care than I thought.",
            ),
        ),
        (
            ("fact", "pet_name", "What is the name of the {pet} of {who}?"),
            ("fact", "pet", "What kind of animal is {pet_name}?"),
            ("who", "friend", "From whom did {who} get {pet_name}?"),
            ("which", "pet_name", "Is the {pet} of {who} called {pet_name} or {pet_name_2}?"),
            ("paraphrase", "pet_name", "How is the {pet_other} of {who} called?"),
        ),
    ),
    Fact(
        {"hobby": words.HOBBIES, "friend": words.FRIENDS, "feeling": words.FEELINGS},
        (
            "I took up {hobby} {time}. My {friend} dragged me along and now I am hooked.",
            "Guess who joined a {hobby} group? My {friend} laughed, but I feel {feeling}.",
            "{hobby} has become my thing. It makes me {feeling}, my {friend} says it shows.",
            "I spent all of Sunday on {hobby} again with my {friend}. Totally {feeling} now.",
        ),
        (
            ("What do you do to switch off?", "{hobby}, believe it or not. Since {time}. Ask my {friend}."),
            ("So what is new with you, {who}?", "I discovered {hobby}! I am {feeling} about it."),
        ),
        (
            ("fact", "friend", "With whom does {who} do {hobby}?"),
            ("when", "", "When did {who} take up {hobby}?"),
            ("which", "hobby", "Is the pastime of {who} {hobby} or {hobby_2}?"),
            ("paraphrase", "hobby", "Does {who} like {hobby_other} in the spare time?"),
            ("paraphrase", "friend", "Who got {who} interested in {hobby_other}?"),
        ),
    ),
    Fact(
        {"thing": words.THINGS, "colour": words.COLOURS, "friend": words.RELATIVES, "city": words.CITIES},
        (
            "I bought a {colour} {thing} {time}, at the flea market in {city}. My {friend} thinks I am mad.",
            "The {colour} {thing} has arrived! All the way from {city}. A bargain, says my {friend}.",
            "Treated myself to a {thing} {time}. It is {colour} and it came from a shop in {city}.",
            "My {friend} found me a {colour} {thing} in {city}. I had wanted one for years.",
        ),
        (
            ("What is in that huge parcel?", "My new {thing}! {colour}, made in {city}."),
            (
                "Did you find anything nice at the market?",
                "Oh yes, a {thing}. A {colour} one. My {friend} carried it.",
            ),
        ),
        (
            ("fact", "colour", "What colour is the {thing} of {who}?"),
            ("fact", "city", "Where does the {thing} of {who} come from?"),
            ("when", "", "When did {who} buy the {thing}?"),
            ("which", "thing", "Did {who} buy a {thing} or a {thing_2} from {city}?"),
            ("paraphrase", "colour", "Which colour has the {thing_other} that {who} purchased?"),
        ),
    ),
    Fact(
        {"ailment": words.AILMENTS, "friend": words.RELATIVES, "detail": words.DETAILS},
        (
            "I was at the doctor {time}: {ailment}. My {friend} drove me. And then {detail}, on top of it.",
            "No sports for me. I have had a {ailment} since {time}, my {friend} does the shopping.",
            "What a week: a {ailment}, and all I remember of the clinic is {detail}.",
            "My {friend} was right, it is a {ailment}. They told me {time}.",
        ),
        (
            (
                "You did not come on Friday, is everything all right?",
                "Not really. A {ailment}. My {friend} looks after me.",
            ),
            ("How are you feeling, {who}?", "Better, but a {ailment} takes time, the doctor said."),
        ),
        (
            ("fact", "friend", "Who looked after {who} during the {ailment}?"),
            ("when", "", "When did {who} have the {ailment}?"),
            ("which", "ailment", "Did {who} suffer from a {ailment} or from a {ailment_2}?"),
            ("paraphrase", "ailment", "Has {who} had a {ailment_other}?"),
            (
                "paraphrase",
                "ailment",
                "Which health problem made {who} go to the {friend} for help because of {ailment_other}?",
            ),
        ),
    ),
    Fact(
        {"friend": words.RELATIVES, "city": words.CITIES, "job": words.JOBS},
        (
            "My {friend} is moving to {city} {time}, to work as a {job} there.",
            "Have I mentioned that my {friend} lives in {city}? A {job}, and very happy.",
            "My {friend} called from {city} {time}. The training as a {job} is over!",
            "We are all so proud of my {friend}, the new {job} of {city}.",
        ),
        (
            (
                "And how is your family?",
                "My {friend} left for {city} {time}. A {job} now, who would have thought.",
            ),
            ("Who was that on the phone, {who}?", "My {friend}, from {city}. The {job} of the family."),
        ),
        (
            ("fact", "city", "Where does the {friend} of {who} live who is a {job}?"),
            ("who", "friend", "Who of the family of {who} lives in {city}?"),
            ("which", "city", "Is the {friend} of {who} in {city} or in {city_2}?"),
            ("paraphrase", "friend", "Which relative of {who} earns money by {job_other}?"),
        ),
    ),
    Fact(
        {"gift": words.THINGS, "friend": words.FRIENDS, "colour": words.COLOURS},
        (
            "My {friend} gave me a {colour} {gift} for my birthday {time}. I nearly cried.",
            "Best present ever: a {gift} from my {friend}, wrapped in {colour} paper.",
            "I unpacked the gift of my {friend} {time}. A {colour} {gift}!",
            "You will not guess what my {friend} got me. A {gift}, {colour} all over.",
        ),
        (
            ("Did you get nice presents?", "The best was from my {friend}: a {colour} {gift}."),
            (
                "Happy birthday again, {who}! What did they give you?",
                "A {gift}, in {colour}. From my {friend}, of all people.",
            ),
        ),
        (
            ("fact", "gift", "What did {who} get from the {friend}?"),
            ("who", "friend", "Who gave {who} the {gift}?"),
            ("when", "", "When did {who} receive the {gift} from the {friend}?"),
            ("paraphrase", "friend", "Which person made {who} a present of a {gift_other}?"),
        ),
    ),
    Fact(
        {"title": words.TITLES, "feeling": words.FEELINGS, "friend": words.FRIENDS},
        (
            "I finished {title} {time}. What a novel, I feel {feeling}. My {friend} lent it to me.",
            "My {friend} will not stop talking about {title}, so I read it. Left me {feeling}.",
            "Have you read {title}? I could not put it down, my {friend} neither.",
            "{title} is the book that my {friend} pressed on me {time}. I am {feeling}.",
        ),
        (
            ("What are you reading at the moment?", "{title}. My {friend} recommended it."),
            ("Any good books lately, {who}?", "{title}! It made me {feeling} for days."),
        ),
        (
            ("fact", "friend", "Who recommended {title} to {who}?"),
            ("fact", "feeling", "How did {who} feel after {title}?"),
            ("when", "", "When did {who} finish {title}?"),
            ("which", "title", "Did {who} read {title} or {title_2}?"),
            ("paraphrase", "title", "Which novel did {who} borrow from the {friend}?"),
        ),
    ),
    Fact(
        {"event": words.EVENTS, "city": words.CITIES, "friend": words.FRIENDS, "feeling": words.FEELINGS},
        (
            "I signed up for the {event} in {city} {time}. My {friend} will come too, I am {feeling}.",
            "The {event} in {city} was {time}. I came third, my {friend} cheered the whole time.",
            "We were at the {event} in {city}. My {friend} got lost and I was {feeling}.",
            "Save the date: the {event} in {city}, {time}. My {friend} organises it.",
        ),
        (
            (
                "Are you free next month?",
                "Not quite, there is the {event} in {city}. I promised my {friend}.",
            ),
            ("You look happy, {who}. What happened?", "The {event} went so well! Half of {city} was there."),
        ),
        (
            ("fact", "city", "Where did the {event} of {who} take place?"),
            ("when", "", "When was the {event} that {who} went to?"),
            ("who", "friend", "Who was with {who} at the {event}?"),
            ("which", "event", "Was {who} at the {event} or at the {event_2} in {city}?"),
            ("paraphrase", "city", "In which town did {who} take part in a {event_other}?"),
        ),
    ),
    Fact(
        {"course": words.COURSES, "friend": words.FRIENDS, "feeling": words.FEELINGS},
        (
            "I enrolled in a course of {course} {time}. The teacher used to be my {friend}, small world.",
            "My evening class is {course} this term. My {friend} sits next to me.",
            "Passed the exam in {course} {time}! I was {feeling} all morning.",
            "I am learning {course} now. Slow, but my {friend} says that I have talent.",
        ),
        (
            ("What do you do on Tuesday evenings?", "A class. {course}. With my {friend}, since {time}."),
            ("Still studying, {who}?", "Always. {course} this time. I am {feeling} before each lesson."),
        ),
        (
            ("fact", "friend", "Who takes part in the {course} course of {who}?"),
            ("when", "", "When did {who} start the course of {course}?"),
            ("which", "course", "Is {who} learning {course} or {course_2}?"),
            ("paraphrase", "course", "Does {who} take lessons in {course_other}?"),
        ),
    ),
    Fact(
        {"cause": words.CAUSES, "friend": words.RELATIVES, "detail": words.DETAILS},
        (
            "I volunteer with the {cause} since {time}. My {friend} is proud of me.",
            "Spent the morning with the {cause}. What I will remember is {detail}.",
            "My {friend} and I give every second Saturday to the {cause}. Last time there was {detail}.",
            "The {cause} asked me to help {time}, and I said yes.",
        ),
        (
            ("Why are you so tired?", "I helped with the {cause} all day. My {friend} too."),
            ("What made you smile today, {who}?", "The {cause}. You should see it: {detail}."),
        ),
        (
            ("fact", "cause", "Where does {who} volunteer together with the {friend}?"),
            ("when", "", "When did {who} begin to help with the {cause}?"),
            ("which", "cause", "Does {who} support the {cause} or the {cause_2}?"),
            ("paraphrase", "cause", "Does {who} do charity work for {cause_other}?"),
        ),
    ),
    Fact(
        {"food": words.FOODS, "friend": words.RELATIVES, "detail": words.DETAILS},
        (
            "I cooked {food} for my {friend} {time}. It was a disaster: {detail} and everything burnt.",
            "My {friend} taught me how to make {food}. The secret is patience.",
            "Tonight it is {food}, from the recipe of my {friend}.",
            "I made {food} {time} for twelve people. My {friend} asked for more.",
        ),
        (
            ("What smells so good?", "{food}! I got the recipe from my {friend}."),
            (
                "What did you bring to the party, {who}?",
                "My {food}. Nothing was left, my {friend} had three plates.",
            ),
        ),
        (
            ("who", "friend", "From whom did {who} learn to make {food}?"),
            ("when", "", "When did {who} cook {food}?"),
            ("which", "food", "Did {who} make {food} or {food_2} for the {friend}?"),
            ("paraphrase", "friend", "For whom did {who} prepare {food_other}?"),
        ),
    ),
    Fact(
        {"country": words.COUNTRIES, "friend": words.RELATIVES, "hobby": words.HOBBIES},
        (
            "We booked it: {country}, {time}, my {friend} and I. I want to try {hobby} there.",
            "My dream is {country}. My {friend} has saved up, and {hobby} is on the list.",
            "The flights to {country} are paid. My {friend} packs already. Mostly for {hobby}.",
            "Next stop {country}! I leave {time}, for two weeks of {hobby} with my {friend}.",
        ),
        (
            ("Any plans for the holidays?", "{country} with my {friend}. Hopefully with some {hobby}."),
            ("What are you looking forward to, {who}?", "{country}. My {friend} promised me {hobby}."),
        ),
        (
            ("fact", "hobby", "What does {who} plan to do in {country}?"),
            ("who", "friend", "With whom will {who} fly to {country}?"),
            ("which", "country", "Does {who} want to see {country} or {country_2}?"),
            ("paraphrase", "country", "In which foreign land will {who} be {hobby_other}?"),
        ),
    ),
)

SMALL_TALK = (
    "Hey {who}, good to hear from you! How was your week?",
    "Pretty busy, to be honest. The usual, and then {detail}.",
    "Haha, that sounds just like you, {who}.",
    "The weather has been awful. All I want is {food} and a blanket.",
    "I know what you mean. Some days I feel {feeling} for no reason.",
    "That is wonderful, {who}! Tell me more.",
    "I am so happy for you. You deserve it.",
    "By the way, thanks for your message {time}. It made my day.",
    "Do you remember {detail}? I had to laugh about it again.",
    "We should meet soon. Maybe {time}?",
    "My {friend} says hello, by the way.",
    "Honestly, I need a break. A walk, {food}, anything.",
    "No worries, {who}. Take your time.",
    "Good luck with that! I keep my fingers crossed.",
    "It is funny how time flies. It feels like yesterday.",
    "I will send you a picture later, {who}.",
    "Let me know how it goes, {who}!",
    "I was thinking about you {time}, when I saw {detail}.",
    "Somebody mentioned {city} to me and I thought of you.",
    "I still have not decided about the {thing}. What would you do?",
    "Oh no, that is a pity. I hope that it works out.",
    "Same here. I am a little {feeling}, but it will pass.",
    "Have you talked to your {friend} lately?",
    "People keep asking me about {hobby}, and I have no idea why.",
    "Sleep well, {who}. Talk to you soon!",
    "Bye for now! Hugs to everybody.",
    "Is there anything that I can do for you, {who}?",
    "My {friend} would love that story.",
    "You always know what to say, {who}. Thank you.",
    "I saw a {colour} {thing} in a window and thought of your flat.",
)
"""What is said between the facts; its slots have random values, which no question is about."""

SMALL_TALK_SLOTS = {
    "detail": words.DETAILS, "food": words.FOODS, "feeling": words.FEELINGS, "friend": words.FRIENDS,
    "city": words.CITIES, "thing": words.THINGS, "hobby": words.HOBBIES, "colour": words.COLOURS,
}  # fmt: skip
