"""The words of dialogues, changing facts and people: names with frequencies, places, jobs, pets, things.

``pottery=making things from clay`` is a term: as a text says it, and as a question may say it.
"""

from __future__ import annotations

from tests.bench.retrieval.topics_language import Term


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", " ").split(",") if part.strip()]


def _terms(text: str) -> list[Term]:
    return [Term(*part.split("=")) for part in _words(text)]


GIVEN_NAMES = _words("""
James, Mary, John, Linda, Robert, Susan, Michael, Karen, David, Lisa, William, Nancy, Thomas, Sandra, Daniel,
Ashley, Matthew, Emily, Anthony, Donna, Mark, Michelle, Steven, Carol, Andrew, Amanda, Joshua, Melissa,
Kevin, Deborah, Brian, Stephanie, George, Rebecca, Edward, Laura, Ronald, Sharon, Timothy, Cynthia, Jason,
Kathleen, Jeffrey, Amy, Ryan, Shirley, Jacob, Angela, Gary, Helen, Nicholas, Anna, Eric, Brenda, Jonathan,
Pamela, Stephen, Nicole, Larry, Ruth, Justin, Katherine, Scott, Samantha, Brandon, Christine, Benjamin, Emma,
Samuel, Catherine, Gregory, Debra, Frank, Virginia, Alexander, Rachel, Raymond, Carolyn, Patrick, Janet,
Jack, Maria, Dennis, Heather, Jerry, Diane, Tyler, Julie, Aaron, Joyce, Jose, Victoria, Henry, Kelly, Adam,
Christina, Douglas, Joan, Nathan, Evelyn, Peter, Lauren, Zachary, Judith, Kyle, Olivia, Walter, Frances,
Harold, Martha, Jeremy, Cheryl, Ethan, Megan, Carl, Andrea, Keith, Hannah, Roger, Jacqueline, Gerald, Priya,
Arjun, Meera, Ravi, Ananya, Vikram, Kavya, Nikhil, Ingrid, Lars, Astrid, Bjorn, Sigrid, Magnus, Freya, Soren,
Yuki, Haruto, Sakura, Kenji, Naoko, Wei, Ming, Xiu, Jun, Lan, Fatima, Omar, Leila, Hassan, Yasmin, Karim,
Amina, Tariq, Zainab, Chidi, Ngozi, Emeka, Adaeze, Kwame, Abena, Kofi, Thandiwe, Sipho, Lucia, Mateo, Camila,
Diego, Valentina, Santiago, Paloma, Rafael, Ines, Joaquim, Beatriz, Tiago, Giulia, Marco, Chiara, Luca,
Elena, Dmitri, Katya, Pavel, Irina, Milan, Zora, Tomasz, Agnieszka, Piotr, Zofia, Andras, Ilona, Dieter,
Greta, Klaus, Heidi, Jurgen, Anneliese, Pierre, Colette, Luc, Margaux, Etienne, Solange, Niamh, Eoin,
Siobhan, Declan, Aoife, Callum, Isla, Hamish, Fiona, Rhys, Cerys, Gethin, Bronwen, Noor, Idris, Selma, Emre,
Defne, Aylin
""")
"""In the order of their frequency."""

SURNAMES = _words("""
Smith, Johnson, Williams, Brown, Jones, Garcia, Miller, Davis, Rodriguez, Martinez, Hernandez, Lopez,
Gonzalez, Wilson, Anderson, Taylor, Moore, Jackson, Martin, Lee, Perez, Thompson, White, Harris, Sanchez,
Clark, Ramirez, Lewis, Robinson, Walker, Young, Allen, King, Wright, Torres, Nguyen, Hill, Flores, Green,
Adams, Nelson, Baker, Hall, Rivera, Campbell, Mitchell, Carter, Roberts, Gomez, Phillips, Evans, Turner,
Diaz, Parker, Cruz, Edwards, Collins, Reyes, Stewart, Morris, Morales, Murphy, Cook, Rogers, Gutierrez,
Ortiz, Morgan, Cooper, Peterson, Bailey, Reed, Howard, Ramos, Kim, Cox, Ward, Richardson, Watson, Brooks,
Chavez, Wood, Bennett, Gray, Mendoza, Ruiz, Hughes, Price, Alvarez, Castillo, Sanders, Patel, Myers, Long,
Ross, Foster, Jimenez, Powell, Jenkins, Perry, Russell, Sullivan, Bell, Coleman, Butler, Henderson, Barnes,
Fisher, Vasquez, Simmons, Graham, Murray, Ford, Hamilton, Wallace, Gibson, Shaw, Holmes, Palmer, Stone, Webb,
Black, Hunt, Mason, Dixon, Burns, Crawford, Kelley, Warren, Rice, Boyd, Arnold, Spencer, Hawkins, Grant,
Hansen, Castro, Hoffman, Hart, Elliott, Cunningham, Knight, Bradley, Carroll, Hudson, Duncan, Armstrong,
Berry, Andrews, Johnston, Lane, Riley, Carpenter, Perkins, Payne, Lawson, Bishop, Lynch, Fuller, Dean,
Gilbert, Garrett, Welch, Larson, Frazier, Burke, Hanson, Day, Moreno, Bowman, Fowler, Brewer, Silva, Pearson,
Douglas, Fleming, Jensen, Vargas, Byrd, Davidson, Hopkins, Terry, Herrera, Wade, Soto, Walters, Curtis, Neal,
Caldwell, Lowe, Jennings, Barnett, Graves, Shelton, Horton, Lindqvist, Okafor, Haugen, Novak, Kowalczyk,
Petrov, Yamamoto, Tanaka, Chaudhry, Banerjee, Iyer, Mensah, Abebe, Dlamini, Castellano, Moretti, Dubois,
Lefebvre, Vogel, Brandt, Schreiber, Keller, Oyelaran, Haddad, Nasser, Demir, Yilmaz, Kaplan, Rosen, Sokolov,
Horvath, Szabo, Popescu, Ionescu, Marinov, Georgiou, Papadakis, Costa, Ferreira, Almeida, Teixeira, Quispe,
Huaman, Salazar, Ibarra, Zapata, Villanueva, Abernathy, Thistlewood, Pemberton, Ashworth, Winterbourne,
Featherstone, Blackwood, Hollingsworth, Greenhalgh, Entwistle, Ramsbottom
""")
"""In the order of their frequency."""

SURNAME_BEGINNINGS = _words("""
Alder, Apple, Ash, Barn, Birch, Black, Bram, Brook, Cald, Chat, Clay, Cold, Crans, Dal, Den, Dun, East, Elm,
Fair, Fal, Far, Fox, Gold, Gran, Grim, Hal, Ham, Haw, Hazel, Hol, Horn, Ing, Kel, Kirk, Lang, Lin, Lock,
Mar, Mel, Mill, Mon, Nor, Oak, Old, Pem, Pick, Quar, Rad, Raven, Red, Rock, Rose, Row, Sand, Shel, South,
Staf, Stan, Sut, Swan, Thorn, Til, Tor, Under, Val, Wal, West, Whit, Wil, Wind, Win, Wy
""")
SURNAME_ENDINGS = _words("""
bank, bell, berry, born, bridge, brook, burn, bury, by, cliff, combe, cote, croft, dale, den, don, fell,
field, ford, gate, ham, hill, holm, hurst, ington, land, leigh, ley, low, man, mere, mond, more, ridge,
shaw, stead, stone, thorpe, ton, ville, ward, water, well, wick, wood, worth
""")
"""A beginning and an ending make one of the many rare surnames."""

NICKNAMES = dict(
    pair.split("=")
    for pair in _words("""
James=Jim, Robert=Bob, Michael=Mike, William=Bill, Thomas=Tom, Daniel=Dan, Matthew=Matt, Anthony=Tony,
Steven=Steve, Andrew=Andy, Joshua=Josh, Edward=Ted, Ronald=Ron, Timothy=Tim, Jeffrey=Jeff, Jacob=Jake,
Nicholas=Nick, Jonathan=Jon, Stephen=Steve, Benjamin=Ben, Samuel=Sam, Gregory=Greg, Alexander=Alex,
Raymond=Ray, Patrick=Pat, Douglas=Doug, Nathan=Nate, Peter=Pete, Zachary=Zach, Walter=Walt, Susan=Sue,
Sandra=Sandy, Melissa=Missy, Deborah=Debbie, Stephanie=Steph, Rebecca=Becky, Cynthia=Cindy, Kathleen=Kathy,
Angela=Angie, Pamela=Pam, Katherine=Kate, Samantha=Sam, Christine=Chris, Catherine=Cathy, Virginia=Ginny,
Rachel=Rae, Carolyn=Carrie, Victoria=Vicky, Christina=Tina, Judith=Judy, Frances=Fran, Jacqueline=Jackie,
Margaux=Margo, Valentina=Val, Santiago=Santi, Agnieszka=Aga, Anneliese=Anni, Elena=Lena
""")
)

CITIES = _words("""
Lisbon, Oslo, Lyon, Porto, Krakow, Ghent, Bologna, Seville, Utrecht, Leipzig, Gdansk, Tallinn, Riga, Vilnius,
Bergen, Malmo, Aarhus, Turku, Galway, Cardiff, Bristol, Leeds, Dundee, Bath, York, Exeter, Nantes, Toulouse,
Grenoble, Antwerp, Basel, Geneva, Graz, Salzburg, Ljubljana, Zagreb, Split, Sarajevo, Sofia, Athens, Izmir,
Ankara, Tbilisi, Yerevan, Cairo, Tunis, Dakar, Accra, Lagos, Nairobi, Kigali, Lusaka, Durban, Kyoto, Osaka,
Sapporo, Busan, Taipei, Hanoi, Bangkok, Jakarta, Manila, Perth, Hobart, Dunedin, Auckland, Suva, Honolulu,
Portland, Denver, Austin, Tucson, Memphis, Savannah, Boston, Toronto, Halifax, Quebec, Calgary, Havana,
Merida, Oaxaca, Bogota, Quito, Lima, Cusco, Santos, Salvador, Montevideo, Cordoba, Mendoza, Valparaiso,
Reykjavik, Dublin, Naples, Palermo, Verona, Valencia, Bilbao, Granada, Marseille, Dresden, Bremen, Rostock,
Budapest
""")
COUNTRIES = _words("""
Norway, Iceland, Portugal, Morocco, Kenya, Peru, Chile, Japan, Vietnam, Nepal, Georgia, Armenia, Croatia,
Scotland, Ireland, Tasmania, Sicily, Corsica, Madeira, Jordan, Oman, Bolivia, Ecuador, Cuba, Jamaica, Laos,
Cambodia, Indonesia, Mongolia, Namibia, Botswana, Senegal, Greenland, Estonia, Slovenia, Albania, Cyprus,
Malta
""")
JOBS = _terms("""
nurse=looking after patients, plumber=fixing pipes, baker=making bread, teacher=working at a school,
pilot=flying planes, florist=selling flowers, librarian=lending books, carpenter=building with wood,
barista=serving coffee, dentist=treating teeth, gardener=caring for plants, journalist=writing for a
newspaper, accountant=keeping the books of firms, electrician=laying cables, translator=moving texts between
languages, paramedic=riding in an ambulance, architect=designing houses, beekeeper=keeping hives,
tailor=sewing clothes, mechanic=repairing engines, chef=running a restaurant kitchen, welder=joining metal,
optician=fitting glasses, midwife=helping with births, locksmith=opening locked doors, veterinarian=treating
sick animals, surveyor=measuring land, bookseller=running a shop for novels, lifeguard=watching swimmers,
programmer=writing software, geologist=studying rocks, pharmacist=handing out medicine, jeweller=making
rings, lawyer=representing clients in court, forester=looking after woodland, cashier=taking payments in a
shop, conductor=leading an orchestra, courier=delivering parcels, fisherman=going out with the trawler,
glazier=putting in windows, hairdresser=cutting hair, judge=ruling in trials, miller=grinding grain,
photographer=taking pictures, sculptor=carving statues, tram driver=driving public transport
""")
EMPLOYERS = _words("""
Northgate, Bluefin, Halden, Ostrava Mills, Merrow, Quillfeather, Larkspur, Tidewater, Stonebridge, Amberley,
Fennel and Rye, Kestrel, Ironbark, Saltmarsh, Copperfield, Wrenhouse, Thornbury, Pinecrest, Harrowgate,
Silverbirch, Moorland, Ravensworth, Goldcrest, Eastfield, Brackenhill, Oakhaven, Clearwater, Redfern,
Windermere Works, Lantern Lane, Juniper, Foxglove, Marigold, Cobblestone, Driftwood, Evergreen, Hollybrook
""")
PETS = _terms("""
puppy=young dog, kitten=baby cat, parrot=talking bird, rabbit=bunny, tortoise=slow reptile, hamster=little
rodent, pony=small horse, goldfish=aquarium animal, gecko=lizard, ferret=weasel, canary=songbird,
hedgehog=spiny animal, goat=bearded farm animal, duck=water bird, guinea pig=small furry rodent, snake=scaly
crawler
""")
PET_NAMES = _words("""
Biscuit, Pickles, Mango, Waffles, Pepper, Noodle, Ziggy, Clementine, Marbles, Truffle, Bandit, Cricket,
Domino, Pebble, Sprout, Tofu, Olive, Peanut, Radish, Smokey, Thistle, Udon, Velcro, Widget, Yoyo, Acorn,
Bramble, Cinnamon, Dumpling, Echo, Figaro, Gizmo, Hazelnut, Indigo, Jellybean, Kumquat, Licorice, Mochi,
Nutmeg
""")
HOBBIES = _terms("""
pottery=making things from clay, birdwatching=looking for birds, rowing=moving a boat with oars,
archery=shooting arrows, calligraphy=beautiful handwriting, fencing=fighting with swords, juggling=keeping
balls in the air, baking=making cakes, origami=folding paper, kayaking=paddling, knitting=making jumpers,
chess=a board game of kings, beekeeping=looking after hives, climbing=going up rock walls, gardening=growing
plants, astronomy=watching the stars, fishing=catching trout, surfing=riding waves, photography=taking
pictures, carpentry=building furniture, salsa=a Latin dance, yoga=stretching and breathing, karate=a martial
art, painting=art with a brush, singing=using the voice in a choir, running=long races on foot,
cycling=riding a bike, swimming=doing laps in the pool, embroidery=stitching pictures, sailing=being out in a
boat, horse riding=sitting in the saddle, magic=tricks with cards
""")
FOODS = _terms("""
lasagne=layered pasta, paella=Spanish rice, pierogi=Polish dumplings, ramen=noodle soup, curry=a spicy stew,
tiramisu=a coffee dessert, moussaka=an aubergine bake, sushi=raw fish, falafel=chickpea balls, goulash=beef
with paprika, pancakes=flat cakes, risotto=creamy rice, chowder=seafood soup, borscht=beetroot soup,
tacos=filled corn shells, strudel=apple pastry, couscous=steamed grain, quiche=an egg tart, gumbo=a southern
stew, ceviche=lime-cured fish, focaccia=flat bread, dal=lentils, brownies=chocolate squares, cheesecake=a
creamy tart, kimchi=fermented cabbage
""")
THINGS = _terms("""
kettle=water boiler, couch=sofa, lamp=light, carpet=rug, bicycle=bike, laptop=computer, camera=picture taker,
watch=timepiece, necklace=piece of jewellery, jacket=coat, tent=camping shelter, telescope=star glass,
typewriter=writing machine, violin=string instrument, drum kit=percussion, mirror=looking glass,
scooter=small motorbike, blender=mixer, bookshelf=bookcase, hammock=hanging bed, teapot=brewing pot,
rucksack=backpack, umbrella=rain shield, fountain pen=ink writer, record player=turntable, sewing
machine=stitching device, wardrobe=closet, vase=flower jar, desk=work table, armchair=comfortable seat,
freezer=ice box, lawn mower=grass cutter, drone=flying camera
""")
COLOURS = _words("""
red, green, blue, yellow, purple, orange, brown, grey, turquoise, crimson, navy, beige, golden, silver,
ivory, scarlet, olive, violet, copper, maroon
""")
AILMENTS = _terms("""
sprained ankle=hurt foot, migraine=bad headache, broken wrist=fractured arm, flu=infection with fever, sore
throat=trouble swallowing, back pain=stiff spine, allergy=reaction to pollen, toothache=dental trouble,
sunburn=red skin, insomnia=sleepless nights, torn ligament=knee injury, appendicitis=emergency operation, ear
infection=hearing trouble, concussion=blow to the head, shingles=painful rash, pneumonia=lung trouble
""")
RELATIVES = _words("""
sister, brother, mother, father, aunt, uncle, cousin, niece, nephew, grandmother, grandfather, daughter, son,
mother-in-law, brother-in-law, stepsister, godson, godmother, husband, wife
""")
FRIENDS = _words("""
neighbour, colleague, flatmate, old school friend, boss, landlady, tennis partner, study group, book club,
choir, yoga teacher, physiotherapist, running mate, bandmate, apprentice, supervisor
""")
COURSES = _terms("""
Italian=a Romance language, first aid=helping the injured, statistics=working with numbers, sign
language=talking with hands, accounting=keeping books, welding=joining metal, ballet=classical dance,
screenwriting=writing films, bread making=baking loaves, machine learning=artificial intelligence,
Portuguese=the language of Brazil, upholstery=covering chairs, navigation=finding the way at sea,
massage=easing muscles, bookbinding=making volumes by hand, public speaking=addressing an audience,
animation=making cartoons, mushroom picking=finding edible fungi
""")
CAUSES = _terms("""
animal shelter=home for stray dogs, food bank=meals for the poor, hospice=care of the dying, beach
clean-up=collecting rubbish at the sea, library=lending of books, youth club=afternoons for teenagers,
refugee centre=help for people who fled, community garden=shared vegetable beds, soup kitchen=free hot lunch,
mountain rescue=saving lost hikers, repair café=mending broken appliances, reading circle=books with pupils
""")
EVENTS = _terms("""
half marathon=long run, triathlon=three-sport race, chess tournament=board game contest, pottery fair=market
of ceramics, jazz festival=open-air concert, quiz night=trivia evening, film festival=week of cinema, charity
auction=sale for a good cause, school reunion=meeting of old classmates, regatta=boat race, poetry
slam=reading of verse, street carnival=costume parade, flea market=sale of used things, science
fair=exhibition of experiments, cookery contest=competition of cooks, dance recital=ballet performance, photo
exhibition=show of pictures, spelling bee=letter contest, garden party=summer gathering
""")
TITLES = [
    f"The {first} {second}"
    for first, second in zip(
        _words("""
Quiet, Crooked, Paper, Glass, Hollow, Burning, Last, Salt, Winter, Borrowed, Silent, Hidden, Iron,
Velvet, Broken, Distant, Painted, Midnight, Wandering, Forgotten, Amber, Whispering
"""),
        _words("""
Harbour, Lighthouse, Orchard, Staircase, River, Cartographer, Apprentice, Road, Violinist, Moon,
Tower, Garden, Crown, Mask, Compass, Island, Elephant, Train, Clockmaker, Letter, Fortress, Forest
"""),
        strict=True,
    )
]
FEELINGS = _words("""
excited, nervous, proud, exhausted, relieved, grateful, curious, hopeful, thrilled, anxious, cheerful,
homesick, determined, puzzled, overwhelmed, calm, jealous, delighted, stubborn, sleepy
""")
DETAILS = _words("""
the view from the balcony, the smell of rain, the tiny staircase, a long queue, the kindest stranger, a
broken lift, free cake, a brass band, thick fog, the loud fan, an old tram, a missing button, the wrong
shoes, heavy traffic, a power cut, cold tea, perfect sunshine, an empty car park, three mosquitoes, a lost
glove, a crowded ferry, a paper lantern, the neighbour's radio, a muddy path, the last ticket, a wonky table,
warm socks, the blue hour, a leaky roof, candles everywhere, a squeaky door, fresh figs, a stack of
postcards, the midnight bus, the rusty gate, a bowl of cherries, a torn map, handwritten notes, a bag of
lemons, the slow receipt printer, goosebumps, an echo, church bells, the stony beach, a wool blanket, burnt
toast, the smell of varnish, a dozen tulips, the creaky floor
""")
