"""English: what asks for a name, superlatives, nouns and verbs of daily life for columns, and what rows are called."""

from __future__ import annotations

from typing import Final

_OFFICES: Final = (
    "secretary|treasurer|chair|chairman|chairwoman|president|director|manager|owner|captain|coach|conductor|founder"
    "|author|editor|mayor|principal|landlord|caretaker|ceo|cfo"
)
NAMED: Final = "|".join(
    (
        "what is the name|what are the names|what was the name|what were the names|what is * called|what are * called",
        "which make|what make|which brand|what brand|which model|what model|which manufacturer|what manufacturer",
        *(f"who {verb} the * {office}" for verb in ("is", "was") for office in _OFFICES.split("|")),
    )
)
"""Beginnings of questions whose answer is a name."""

SUPERLATIVES: Final = {
    "sup:desc": "highest|largest|greatest|biggest|top|max|maximum|strongest|heaviest|steepest|widest|peak|longest",
    "sup:asc": "lowest|smallest|least|min|minimum|weakest|lightest|tiniest|shortest",
    "implied:cost desc": "most expensive|priciest|costliest|dearest",
    "implied:cost asc": "cheapest|least expensive",
    "implied:length desc": "longest",
    "implied:length asc": "shortest",
    "implied:height desc": "tallest",
    "implied:weight desc": "heaviest",
    "implied:weight asc": "lightest",
    "implied:depth desc": "deepest",
    "implied:depth asc": "shallowest",
    "implied:population desc": "most populous|most populated",
    "implied:population asc": "least populous|least populated",
    "implied:heat desc": "hottest|warmest",
    "implied:heat asc": "coldest|coolest|chilliest|iciest",
    "implied:rain desc": "wettest|rainiest",
    "implied:rain asc": "driest",
    "implied:wind desc": "windiest",
    "implied:sun desc": "sunniest",
    "implied:snow desc": "snowiest",
    "implied:satisfaction desc": "happiest|most satisfied",
    "implied:satisfaction asc": "unhappiest|least satisfied|least happy|most dissatisfied",
    "implied:rating desc": "rated best|rated highest|rated the best|rated the highest"
    "|best rated|highest rated|top rated|best reviewed",
    "implied:rating asc": "rated worst|rated lowest|rated the worst|rated the lowest"
    "|worst rated|lowest rated|poorest rated|worst reviewed",
    "implied:quantity desc": "best selling|bestselling|best seller|best sellers|bestseller|bestsellers|top selling"
    "|top seller|top sellers|most sold|sold best|sells best|sold the best|sell best",
    "implied:quantity asc": "worst selling|worst seller|least sold|slowest selling|sold worst|sells worst"
    "|sold the worst",
    "implied:pay desc": "best paid|highest paid|top earning|highest earning|best earning|top earner|highest earner",
    "implied:pay asc": "worst paid|lowest paid|lowest earning|lowest earner",
    "implied:time desc": "latest|newest|most recent|most recently",
    "implied:time asc": "earliest|longest ago|longest standing|longest serving|longest tenured",
    "busy:desc": "busiest",
    "busy:asc": "quietest|least busy",
    "implied_more:rain desc": "wetter|rainier",
    "implied_more:rain asc": "drier|dryer",
    "implied_more:rows desc": "busier",
    "implied_more:rows asc": "quieter",
    "implied_more:depth desc": "deeper",
    "implied_more:length desc": "longer",
    "implied_more:length asc": "shorter",
    "implied_more:height desc": "taller",
    "implied_more:weight desc": "heavier",
    "implied_more:weight asc": "lighter",
    "implied_more:cost desc": "more expensive|pricier",
    "implied_more:cost asc": "cheaper|less expensive",
    "implied_more:time asc": "earlier|older",
    "implied_more:time desc": "later|newer|more recent",
    "implied:age desc": "oldest",
    "implied:age asc": "youngest",
}

RATES: Final = {
    "rate:ctr": "ctr|click through rate|clickthrough rate|click rate",
    "rate:cvr": "cvr|conversion rate",
    "rate:cpc": "cpc",
    "rate:cpa": "cpa",
    "rate:roas": "roas|return on ad spend",
}

PHRASES: Final = SUPERLATIVES | RATES

LIGHT: Final = """
sit sits sat sitting land lands landed ended put puts going gone gotten owns behind currently already
break breaks split divide divided charged billed invoiced incurred awarded granted donated raised contributed
harvested picked packed stocked carry carries carried stay stays stayed staying hail hails hailing
wrote drew rack racked clocked chalked pull pulled rang folks guys stands standing stood
particular specific apiece charge charging bill billing invoicing ship ships deliver delivers send sends submit
submits strongly closely pearson
coefficient blow blows blew blown stand park parks parked drive drives drove driven driving load loads loaded loading
"""
"""Verbs of being somewhere, of having, moving and recording, which add no meaning to a row."""

ALIKE: Final = """
rain rainfall precipitation | temp temps temperature temperatures | wind winds | humidity moisture |
loan loans lent borrow borrowed borrows borrowing borrowings checkout checkouts | pages pagecount |
publication published publishing | acquired acquisition bought | referee referees ref umpire | goal goals scored |
salary salaries earnings paycheck | tip tips gratuity gratuities | fare fares ticket |
shipping freight postage delivery | discount discounts rebate rebates reduction reductions |
tax taxes vat | fee fees charge charges | budget budgets budgeted | actual actuals actually |
email emails mail | phone telephone phones | supplier suppliers vendor vendors |
store stores shop shops branch branches | shopper shoppers buyer buyers customer customers |
warehouse warehouses depot depots | stage stages phase phases | status statuses state | priority priorities urgency |
segment segments tier tiers | channel channels | employee employees worker workers staffer staffers |
manager managers boss bosses | owner owners rep reps salesperson salespeople seller sellers |
rep reps salesperson salespeople seller sellers salesman |
company companies firm firms business businesses organisation organisations organization organizations |
reason reasons cause causes | comment comments remark remarks note notes | duration durations |
mileage odometer | quantity qty units pairs pair | stock inventory | satisfaction satisfied happiness |
doctor doctors physician physicians | ward wards unit | diagnosis diagnoses |
passenger passengers traveller travellers |
visitor visitors guest guests | night nights | brand brands make maker makers | calories kcal |
"""

VERBS: Final = {
    "earning": "make|made|take|took|take in|took in|taken in|bring in|brought in|earn|earned|gross|grossed|turn over"
    "|turned over|pull in|pulled in|ring up|rang up|rake in|raked in|generate|generated|bring home|brought home",
    "spending": "spend|spent|eat up|ate up|shell out|shelled out|lay out|laid out|pay out|paid out|fork out|cost"
    "|burn|burned|burnt|burn through|swallow|swallowed|pay|paid|use up|used up",
    "income": "revenue|sales|turnover|takings|proceeds",
    "coming": "come to|came to|comes to|amount to|amounted to|amounts to",
    "billing": "bill|billed|invoice|invoiced|charge|charged",
}
"""Verbs of `how much did we ...`, by what is asked for; and nouns for income."""

ROWS: Final = """
match matches game games fixture fixtures : home away opponent referee attendance kickoff goals score |
person persons people individuals participants respondents interviewees attendees members residents
 : gender sex age birth born surname nationality response respondent occupation firstname lastname participant |
employee employees staff workers colleagues coworkers staffers
 : salary hired hire position job department wage payroll manager surname employee staff |
patient patients : diagnosis ward admission admitted discharge doctor treatment symptoms patient |
film films movie movies : director runtime cast studio genre film movie |
book books title titles novel novels : author isbn pages publisher publication book |
song songs track tracks : artist album bpm song track |
car cars vehicle vehicles : mileage model make horsepower engine fuel vehicle car odometer |
home homes house houses property properties flat flats apartment apartments listing listings
 : bedrooms bathrooms sqft sqm rent floor rooms listing property |
trip trips ride rides journey journeys : pickup dropoff fare driver passenger departure distance trip ride |
flight flights : airline departure arrival flight gate origin destination |
stay stays booking bookings reservation reservations : nights checkin checkout room guest guests booking arrival |
student students pupil pupils : grade gpa class semester school score teacher student pupil |
ticket tickets case cases issue issues : priority assignee resolved agent severity ticket opened closed requester |
deal deals opportunity opportunities : stage probability owner amount deal pipeline |
product products item items article articles : sku price stock supplier category product |
order orders purchase purchases transaction transactions : customer product quantity qty payment order total |
shipment shipments parcel parcels package packages delivery deliveries : carrier tracking destination weight shipment |
session sessions visit visits : bounce pageviews duration session visitor browser device |
run runs workout workouts activity activities : pace distance calories heartrate duration |
class classes course courses workshop workshops : instructor room participants trainer course seats |
invoice invoices bill bills : due invoice paid vendor client |
customer customers client clients member members : since segment loyalty newsletter birth customer membership joined |
project projects : deadline milestone project lead budget client
"""
"""Nouns for rows, and words of headers: of a table with two of these the rows may be called so."""
