"""The words of the set of many topics: things, actions and details by topic.

A record is ``topic | things | actions | details``. ``stove=cooker`` is a word of a text and the
other words by which a question means the same.
"""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """A thing or an action: as a text says it, and as a question may say it."""

    stated: str
    paraphrased: str


class Topic(NamedTuple):
    """A topic, with its things, its actions and its details."""

    name: str
    things: list[Term]
    actions: list[Term]
    details: list[str]


_RECORDS = """
kitchen | stove=cooker, fridge=refrigerator, kettle=water boiler, sink=basin, oven=baking chamber |
scrub=clean, mend=repair, replace=swap, measure=size up | vinegar, sponge, gasket, hinge, ladle, tray,
drain, thermostat, enamel, burner, soda, bristle

cycling | bicycle=bike, brake=stopping lever, tyre=wheel rubber, saddle=seat, gear=derailleur | adjust=tune,
oil=lubricate, fit=install, patch=mend a hole in | spanner, puncture, spoke, cable, pump, chain, pedal, rim,
valve, lever, sprocket, tube

garden | hedge=row of bushes, lawn=grass, rose=thorny flower, compost=rotted waste, pond=small lake |
prune=cut back, water=irrigate, feed=fertilise, protect=shield | shears, mulch, frost, slug, trowel, bark,
manure, bulb, weed, rake, seedling, hose

vegetables | tomato=red fruit, carrot=orange root, bean=pulse, pumpkin=squash, spinach=leafy green |
sow=plant, harvest=pick, store=keep, stake=prop up | greenhouse, soil, cane, cellar, drill, sand, row,
ripeness, crate, net, slope, spacing

dogs | puppy=young dog, collar=neck strap, leash=lead, kennel=dog house, muzzle=snout guard | train=teach,
wash=bathe, calm=soothe, choose=select | whistle, biscuit, paw, bark, obedience, shampoo, treat, fur,
breeder, patience, nap, vet

cats | kitten=baby cat, litter box=cat toilet, claw=nail, whisker=facial hair, basket=carrier | clean=tidy,
trim=shorten, coax=persuade, tame=domesticate | gravel, tuna, catnip, purr, tail, blanket, scissors, flea,
window sill, hiss, bowl, towel

wine | bottle=flask, cork=stopper, grape=vine fruit, cask=barrel, cellar=vault | taste=sample, age=mature,
serve=pour, buy=purchase | tannin, acidity, vintage, oak, sommelier, decanter, label, estate, aroma,
sediment, glass, harvest

coffee | espresso=strong coffee, bean=roasted seed, grinder=mill, filter=paper cone, milk foam=froth |
brew=prepare, roast=toast, clean=rinse, compare=contrast | scale, crema, bitterness, temperature,
portafilter, barista, tamper, steam, blend, pitcher, roastery, lime

bread | dough=batter, sourdough=wild yeast loaf, crust=outer shell, flour=ground grain, roll=bun |
knead=work, bake=cook, freeze=deep-chill, slice=cut | yeast, salt, rye, sieve, rack, crumb, starter, spelt,
tin, proofing, knife, stone

cheese | curd=clotted milk, rind=skin, goat cheese=chevre, fondue=melted dish, wheel=round block |
ripen=mature, grate=shred, wrap=pack, melt=liquefy | rennet, mould, brine, cave, whey, dairy, paper, fork,
pasture, pan, nutmeg, cloth

fishing | rod=angling pole, hook=barb, bait=lure, trout=river fish, net=mesh | cast=throw, catch=land,
release=set free, repair=mend | reel, line, worm, float, licence, waders, gill, knot, bank, current,
feather, pond

sailing | mast=upright spar, rope=line, rudder=steering blade, hull=ship's body, anchor=mooring iron |
raise=hoist, tie=fasten, paint=coat, inspect=check | harbour, knot, gust, varnish, tide, compass, jib, buoy,
keel, deck, barnacle, marina

hiking | boot=walking shoe, trail=path, tent=canvas shelter, backpack=rucksack, map=chart | pack=fill,
waterproof=seal, mark=signpost, carry=haul | blister, ridge, gaiter, summit, stove, wax, cairn, strap, pole,
lamp, contour, meadow

skiing | slope=piste, binding=boot clamp, goggles=eye guard, lift=cable seat, snow chain=tyre chain |
wax=polish, adjust=set, rent=hire, check=inspect | edge, powder, avalanche, ticket, helmet, glove, chalet,
ice, resort, iron, turn, fog

swimming | pool=basin, stroke=swimming style, goggles=water glasses, diver=underwater swimmer, lane=track |
heat=warm, teach=coach, cover=protect, test=examine | chlorine, lifeguard, ladder, pump, breath, kick,
locker, tile, towel, whistle, splash, float

running | marathon=long race, shoe=trainer, knee=leg joint, pace=speed, stopwatch=timer | prepare for=get
ready for, replace=renew, strengthen=build up, track=monitor | interval, sole, stretch, hydration, calf,
finish, medal, lap, heart rate, gel, hill, rest

chess | opening=first moves, knight=horse piece, endgame=last phase, clock=timer, pawn=foot soldier |
study=learn, defend=protect, trade=exchange, analyse=examine | gambit, castle, rank, tempo, fork, board,
blunder, draw, pin, grandmaster, notation, bishop

piano | key=ivory, pedal=foot lever, scale=note ladder, string=wire, metronome=beat counter | tune=adjust,
practise=rehearse, move=transport, polish=shine | hammer, octave, chord, stool, felt, damper, lid, tuner,
sonata, fingering, bench, dolly

guitar | fret=neck bar, amplifier=loudspeaker, chord=harmony, pick=plectrum, neck=fingerboard |
string=thread, learn=study, record=tape, repair=fix | capo, solo, bridge, tuner, blues, cable, nut, riff,
strap, studio, glue, tab

singing | choir=chorus, voice=vocal cords, breath=air support, hymn=church song, microphone=mike |
join=enter, warm up=loosen, control=master, arrange=set | soprano, alto, rehearsal, diaphragm, vowel, score,
pitch, conductor, throat, tea, hum, verse

painting | canvas=stretched cloth, brush=bristle tool, portrait=picture of a face, easel=stand,
watercolour=aquarelle | prime=undercoat, clean=wash, frame=mount, sketch=draft | turpentine, pigment,
palette, linen, gesso, varnish, charcoal, gallery, sable, tone, sponge, nail

photography | lens=objective, tripod=three-legged stand, darkroom=developing lab, portrait=headshot,
camera=picture taker | focus=sharpen, expose=light, store=archive, clean=dust | aperture, shutter, flash,
negative, print, sensor, film, blower, contrast, album, crop, filter

pottery | clay=earth, kiln=firing oven, glaze=shiny coat, wheel=turntable, vase=flower jar | shape=form,
fire=burn, mix=blend, dry=cure | slip, cone, handle, wedge, bisque, sponge, crack, rim, cobalt, shelf,
apron, trimming

sewing | hem=edge fold, zip=fastener, button=round clasp, pattern=template, curtain=drape | shorten=take up,
attach=join, cut=snip, iron=press | thimble, needle, bobbin, thread, seam, lining, pin, chalk, velvet,
elastic, stitch, fabric

knitting | jumper=pullover, sock=stocking, yarn=wool, needle=knitting pin, scarf=neck warmer | cast
on=begin, wash=launder, unravel=undo, darn=mend | gauge, purl, skein, merino, cuff, ribbing, row, lanolin,
moth, heel, cable stitch, button

woodwork | shelf=board, chisel=carving blade, drawer=sliding box, table=desk, joint=corner connection |
sand=smooth, glue=stick, saw=cut, stain=colour | plane, clamp, dowel, grain, walnut, screw, vice, sawdust,
varnish, pine, mitre, router

plumbing | tap=faucet, pipe=tube, toilet=lavatory, boiler=water heater, drain=outflow | unblock=clear,
tighten=screw down, descale=remove lime from, replace=exchange | washer, wrench, leak, plunger, solder,
valve, siphon, copper, pressure, bucket, tank, seal

electricity | fuse=circuit breaker, socket=outlet, lamp=light, wire=cable, switch=toggle | test=check,
install=put in, disconnect=unplug, insulate=wrap | voltage, screwdriver, earth, tape, meter, plug, bulb,
copper, spark, panel, conduit, watt

roof | tile=shingle, gutter=rain channel, chimney=smoke stack, beam=rafter, skylight=roof window |
repair=fix, clear=empty, insulate=pad, inspect=examine | ladder, slate, moss, flashing, ridge, nail, tar,
soot, hail, leaf, felt, scaffold

cars | tyre=wheel rubber, battery=accumulator, windscreen=front glass, engine=motor, exhaust=tailpipe |
change=swap, charge=power up, wash=clean, tow=pull | jack, wrench, oil, coolant, wiper, garage, cable, spark
plug, rust, bumper, fog lamp, torque

trains | ticket=fare, platform=station track, seat=place, timetable=schedule, luggage=baggage |
book=reserve, reach=get to, refund=get money back for, check=look up | conductor, delay, carriage, discount,
app, compartment, border, sleeper, connection, window, counter, rail

flights | passport=travel document, suitcase=baggage, boarding pass=flight ticket, visa=entry permit,
layover=stopover | renew=extend, weigh=find the weight of, print=put on paper, request=apply for | gate,
customs, embassy, scale, terminal, photo, lounge, airline, liquid, queue, kiosk, stamp

hotels | room=chamber, breakfast=morning meal, key card=door chip, lobby=entrance hall, bill=invoice |
book=reserve, cancel=call off, pay=settle, clean=make up | pillow, minibar, receipt, towel, deposit,
reception, balcony, discount, porter, lift, laundry, robe

taxes | tax return=fiscal declaration, receipt=proof of payment, deduction=allowance, donation=charity gift,
salary=wage | file=submit, keep=retain, claim=ask for, declare=report | deadline, form, accountant,
spreadsheet, audit, bracket, pension, stamp, office, income, folder, signature

banking | account=bank record, loan=credit, card=plastic money, mortgage=house loan, savings=nest egg |
open=set up, repay=pay off, block=freeze, compare=weigh up | interest, branch, statement, transfer, pin
code, fee, teller, balance, bond, guarantee, currency, overdraft

insurance | policy=contract of cover, claim=damage report, premium=monthly fee, burglary=break-in,
liability=legal duty | cancel=terminate, file=hand in, lower=reduce, document=record | broker, excess,
photo, police, theft, clause, insurer, valuer, hail, renewal, inventory, notice

housing | lease=rental contract, deposit=security money, landlord=house owner, flat=apartment,
neighbour=person next door | sign=put a name to, recover=get back, contact=get in touch with, view=visit |
notice, heating, utilities, mould, key, meter, stairwell, inspection, noise, agent, cellar, parking

moving | box=carton, van=truck, wardrobe=closet, piano=grand, address=place of residence | load=fill,
hire=rent, dismantle=take apart, change=update | bubble wrap, strap, screw, trolley, label, stairs, friend,
tape, glassware, mailbox, registration, blanket

medicine | pill=tablet, fever=high temperature, cough=throat irritation, wound=injury, vaccine=jab |
take=swallow, lower=bring down, treat=cure, bandage=dress | dose, nurse, syrup, plaster, thermometer,
pharmacy, allergy, ointment, clinic, infection, honey, prescription

teeth | toothbrush=dental brush, filling=cavity plug, brace=teeth straightener, crown=dental cap, gum=mouth
tissue | clean=brush, replace=renew, wear=have on, soothe=ease | floss, dentist, paste, enamel, mirror,
molar, rinse, tartar, drill, jaw, clove, retainer

sleep | mattress=bed cushion, snoring=noisy breathing, insomnia=sleeplessness, alarm=wake-up bell,
pillow=head rest | choose=pick out, reduce=lessen, fight=combat, air=freshen | curtain, lavender, routine,
spring, screen, melatonin, nap, foam, dream, snooze, bedroom, caffeine

babies | pram=baby carriage, nappy=diaper, bottle=feeding flask, cot=crib, tooth=first bite | fold=collapse,
change=swap, warm=heat, assemble=put together | dummy, wipe, lullaby, rash, powder, teat, midwife, rattle,
bib, steriliser, screw, blanket

school | essay=written paper, exam=test, timetable=class plan, teacher=instructor, homework=school task |
write=compose, pass=succeed in, plan=organise, hand in=submit | outline, notebook, grade, library, pen,
chapter, tutor, marker, semester, quiz, draft, locker

languages | verb=action word, accent=pronunciation, vocabulary=word list, grammar=sentence rules,
dialect=regional speech | memorise=learn by heart, improve=make better, practise=exercise, teach=instruct in
| flashcard, tandem, tense, podcast, tutor, vowel, textbook, subtitle, ear, phrase, idiom, exchange

computers | laptop=notebook computer, printer=printing machine, keyboard=typing board, screen=monitor,
disk=hard drive | repair=fix, connect=link up, back up=copy, clean=dust off | driver, cable, adapter,
cartridge, fan, update, screw, password, memory, port, cloud, reboot

internet | router=wireless box, password=secret phrase, website=home page, e-mail=electronic letter,
virus=malware | reset=restart, protect=secure, publish=put online, remove=get rid of | firewall, domain,
spam, browser, backup, provider, certificate, link, scanner, antenna, cookie, inbox

astronomy | telescope=star glass, comet=tailed star, eclipse=covering of the sun, planet=wandering world,
meteor=shooting star | set up=assemble, observe=watch, photograph=take a picture of, locate=find | mirror,
tripod, orbit, filter, eyepiece, horizon, nebula, zenith, chart, dusk, lens, constellation

birds | nest=bird's home, feeder=seed dispenser, owl=night hunter, egg=shell, song=call | build=construct,
fill=stock, spot=notice, identify=recognise | twig, binoculars, seed, feather, perch, dawn, robin, moss,
guidebook, migration, sparrow, hide

bees | hive=bee house, honey=bee nectar, queen=mother bee, swarm=flying colony, wax=comb | inspect=look
into, harvest=gather, introduce=bring in, capture=catch | smoker, frame, pollen, veil, brood, mite, nectar,
clover, drone, extractor, jar, sugar

weddings | bride=woman who marries, ring=band of gold, guest list=invited people, cake=tiered dessert,
speech=address | congratulate=give good wishes to, engrave=inscribe, shorten=cut down, order=commission |
veil, bouquet, registry, toast, florist, chapel, tailor, champagne, jeweller, seating, band, baker

funerals | coffin=casket, will=testament, grave=burial place, obituary=death notice, wreath=ring of flowers
| choose=decide on, read=open, tend=look after, write=compose | priest, heir, notary, candle, stone,
cemetery, ashes, lily, condolence, hymn, newspaper, ribbon

law | contract=agreement, witness=person who saw it, fine=penalty, trademark=brand right, patent=inventor's
right | terminate=end, question=interview, appeal=contest, register=enter | clause, court, lawyer, deadline,
judge, signature, fee, evidence, office, objection, notary, search

jobs | application=candidacy, interview=hiring talk, reference=letter of recommendation, contract=work
agreement, pay rise=higher wage | write=draft, prepare for=get ready for, request=ask for, negotiate=bargain
over | portfolio, cover letter, recruiter, suit, strength, salary, deadline, notice, manager, skill,
template, figure
"""


def _terms(text: str) -> list[Term]:
    return [Term(*part.strip().split("=")) for part in text.split(",")]


def _topic(record: str) -> Topic:
    name, things, actions, details = " ".join(record.split()).split(" | ")
    return Topic(name, _terms(things), _terms(actions), [word.strip() for word in details.split(",")])


TOPICS = [_topic(record) for record in _RECORDS.strip().split("\n\n")]

TEXTS = (
    "To {action} the {thing}, take {a} and {b}, and mind the {c}.",
    "Whoever wants to {action} the {thing} should begin with the {a}; the {b} comes later.",
    "Notes about the {thing}. The {a}, the {b} and the {c} help to {action} it.",
    "We had to {action} the {thing} again last winter. The {a} was the hard part, not the {b}.",
    "My aunt showed me how to {action} the {thing}: first the {a}, then the {b}, and never without {c}.",
    "A {thing} is easy to {action} once you know about the {a} and the {b}.",
    "What I read about the {thing}: people {action} it with {a}, or, if there is time, with {b} and {c}.",
    "Three rules before you {action} any {thing}. Look at the {a}. Keep the {b} dry. Forget the {c}.",
)
QUESTIONS = (
    "How do I {action} the {thing}?",
    "What helps to {action} a {thing}?",
    "What is the best way to {action} the {thing}?",
    "I have to {action} the {thing}, what do I need?",
    "Is there any advice for people who {action} a {thing}?",
    "Tell me how one can {action} the {thing}.",
)
