"""English."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.english_words import ALIKE, LIGHT, NAMED, PHRASES, ROWS, VERBS
from agentsvc_nb.agents.offline.languages.language import FollowingWords, Requests, Vocabulary, language

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="the|what|which|who|how|is|are|does|do|of|and|when|where|why|please|my|we|our|did|was|were|with|for|from"
    "|will|should|shall|there|their|they|she|he|has|have|had",
    polite="please|can you|could you|would you|will you|can you please|could you please|i want you to|i need you to"
    "|i would like you to|i d like you to|id like you to|help me|help me to|let us|lets|let s|now|then|also|and|ok"
    "|okay|hi|hello|hey|kindly|i need|i want|i would like|i d like|quickly|just|next|first|so|you should|you must"
    "|go ahead and|thanks|great|based on *|using *",
    commands="translate|rewrite|rephrase|reword|paraphrase|proofread|brainstorm|come up with|think of|make up"
    "|write me|write us|write code|write python|write sql|write an|write a|write the|write some|write copy|write new"
    "|give me ideas|give me some ideas|give me * ideas|give me feedback|give me your|give feedback|give me advice"
    "|give me * advice|give me * feedback|turn * into|convert * into a|make * sound|make * shorter|make * longer"
    "|make * better|make * more|make * less|spell check|spellcheck|criticize|criticise|role play|pretend|imagine"
    "|act as|tell me a joke|tell me a story|sing|advise me|advise us|reply to|respond to|suggest|recommend"
    "|continue the|finish the|invent|explain * as if|explain * like i|explain * to a|explain * simple"
    "|explain * simply|explain * in your own words",
    infinitives="",
    verbs="write|draft|improve|polish|shorten|compose|simplify|critique|condense|correct|edit|fix|review|judge"
    "|evaluate|assess|rate|appraise|analyse|analyze|interpret|design|plan|develop|propose|adapt|expand|prepare|revise"
    "|reformulate|transcribe|reflect on|comment on|predict|forecast",
    objects="a|an|the|me|us|this|that|these|those|my|our|your|it|them|some|any|one|two|three|four|five|ten|all|each"
    "|whether|how well|new|better|its|their",
    makers="create|draft|compose|make|generate|produce|build|give me|give us|i need|i want|prepare|send me|provide"
    "|find me|need|want",
    texts="slogan|slogans|tagline|taglines|headline|headlines|claim|claims|email|emails|e mail|mail|newsletter|post"
    "|posts|tweet|tweets|blog|article|story|stories|poem|essay|speech|letter|press release|ad copy|copy|caption"
    "|captions|text|texts|script|scripts|pitch|presentation|deck|proposal|strategy|concept|persona|personas|plan"
    "|agenda|job ad|bio|description|descriptions|cover letter|ideas|idea|suggestions|variants|alternatives|draft"
    "|rewrite|translation|opinion|advice|feedback|name ideas|jokes|joke|song|code|function|recommendation"
    "|recommendations|hashtags",
    opinions="do you think|do you like|do you feel|do you believe|do you prefer|do you recommend|do you suggest"
    "|would you recommend|would you suggest|would you say|would you do|would you choose|would you improve"
    "|would you change|your opinion|your view|your thoughts|your take|your advice|your recommendation|your impression"
    "|your favourite|your favorite|is it a good idea|is this a good idea|would it be better|makes sense to you"
    "|convince you|could be improved|can be improved|can we improve|could we improve|should be improved|can i improve"
    "|could i improve|how do i improve|how do we improve|in your eyes|pros and cons|strengths and weaknesses"
    "|any ideas|any suggestions|which is better|which one is better|which * is better a or b|should i choose"
    "|should we choose|should we launch|should we use|should we invest|should we change|should we hire"
    "|should we focus|what if we|how good is|how well does|how convincing|how realistic|what should we do"
    "|what should i do|what should i write|what do i write|what can i write|what should we write",
    is_it="is|are|was|were|isn t|does|do|sounds|seems|looks",
    judged="good|bad|reasonable|realistic|convincing|persuasive|effective|catchy|compelling|appropriate|sensible|ok"
    "|okay|sufficient|too high|too low|too long|too short|too expensive|enough|worth it|well written|interesting"
    "|boring|funny|beautiful|ugly|great|smart|risky|ambitious|attractive|professional|any good|make sense|sound right"
    "|sound good|look good|sounds good|good enough|clear enough|justified|wise|creative|understandable",
    describes="describe|what is in|what s in|whats in|what is on|what s on|what does * show|what do you see"
    "|what can you see|what can be seen|look at|caption|what is shown|who is in|who is on|what colour is"
    "|what color is|read the text in|alt text for|write alt text",
    pictures="picture|pictures|image|images|photo|photos|photograph|photographs|screenshot|screenshots|logo|drawing"
    "|illustration|video|videos|painting|banner|thumbnail",
    summaries="summarise|summarize|summary|summaries|sum up|summing up|outline|overview|tl dr|tldr|gist|recap"
    "|key points|main points|key takeaways|takeaways|key facts|key messages|main ideas|main idea|give me a summary"
    "|give me an overview|give me an outline|give me a short summary|give me a brief summary|give me a recap"
    "|give me the gist|give me the key points|give me the main points|a summary|an overview|an outline|short summary"
    "|brief summary|executive summary|write a summary|write a short summary|create a summary|make a summary"
    "|make an outline|create an outline|create an overview|what is * about|what s * about|what are * about"
    "|whats * about|what does * contain|what is in|what s in|whats in|what are the key points"
    "|what are the main points|what are the key takeaways|what are the main ideas|what is the gist"
    "|what is the main idea|what is the key message|tell me about|walk me through|boil * down|digest|condense"
    "|abstract|synopsis|brief me|show me what is in",
    shapes="one|two|three|four|five|sentence|sentences|word|words|bullet|bullets|points|point|short|briefly|paragraph"
    "|paragraphs|page|brief|quick|quickly|concise|content|contents|main|key|file|document|whole|entire|simple|terms"
    "|line|lines|overview|outline|summary|rows|table|detail|details|pages|please|everything|gist|takeaways|it|these",
    amounts="how many|how much|how long|how old|how often|how far|how tall|how high|how heavy|how big|how large"
    "|how wide|how deep|how fast|how hot|how cold|how late|how early|how soon|when|at what time|what time"
    "|what percentage|what date|what share|what percent|on which date|on what date|in which year|in what year"
    "|what year|which year|by how much|at how many|for how long|by when|until when|since when"
    "|what is the phone number|what number|what is the number",
    numbers="one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred"
    "|thousand|million|billion|dozen|once|twice|half|third|thirds|quarter|quarters|fifth|tenth|double|triple|none"
    "|zero|first|second|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may"
    "|june|july|august|september|october|november|december|spring|summer|autumn|winter|morning|noon|evening|night"
    "|midnight|dawn|daily|weekly|monthly|yearly|annually|every|each|today|tomorrow|yesterday|weekend|weekends|day"
    "|week|month|year|hour|minute|before|after|until|during|always|never|no|lifelong|several|many|few|century|decade"
    "|soon|immediately|free",
    prices="how much money|how much * cost|how much * costs|how much * price|how much * fee|how much * rent"
    "|how much * salary|how much * pay|how much * paid|how much * charge|how much * charged|how much * spend"
    "|how much * spent|how much * earn|how much * earned|what did * cost|what does * cost|what do * cost"
    "|what will * cost|what would * cost|what is the price|what was the price|what is the cost|what was the cost"
    "|what is the fee|what is the rent|what rent|what price|what fee|what salary",
    free="free|nothing|no charge|without charge|complimentary",
    named=NAMED,
    irregular="sell sold|buy bought|pay paid|write wrote written|meet met|leave left|lose lost|win won"
    "|begin began begun|speak spoke spoken|think thought|send sent|spend spent|build built|teach taught|catch caught"
    "|feel felt|fall fell|fallen|grow grew grown|know knew known|draw drew drawn|drive drove driven"
    "|break broke broken|choose chose chosen|rise rose risen|hold held|sit sat|swim swam swum|sleep slept|feed fed"
    "|fly flew flown|ride rode ridden|wear wore worn|eat ate eaten|drink drank drunk|hear heard|tear tore torn"
    "|steal stole stolen|freeze froze frozen|forget forgot|forgotten|hide hid hidden|bear bore born|shake shook"
    "|lend lent|bend bent|deal dealt|seek sought|fight fought|child children|man men|woman women|person people"
    "|foot feet|tooth teeth|mouse mice|weigh weight|long length|high height|wide width|deep depth|strong strength"
    "|heavy weight|analysis analyses|life lives|die death dead|marry marriage|arrive arrival|refuse refusal"
    "|approve approval|decide decision|compete competitor|analyse analysis|choose choice|sell sale|lose loss"
    "|pay payment|grow growth|see sight|advise advice|succeed success|behave behaviour",
)

# What words mean in questions about tables.

_MEANINGS: Final = PHRASES | {
    "wh:thing": "what|which|what kind of|what type of|whats|which one|which ones|which of them|which of the",
    "wh:person": "who|whom",
    "wh:time": "when|what date|on what date|on which date",
    "wh:place": "where",
    "wh:list": "list|list all|show|show me|name|name all|tell me|give me|give|display|find|identify|tell"
    "|names of|the names of|a list of|list of",
    "count": "how many|count of|count|how many total|how many in total|how many of|tally of|tally|the count of",
    "count:number": "number of|the number of|total number of|total amount of|amount of|what number of|number",
    "count:in": "in how many|on how many|during how many",
    "much": "how much",
    "rows": "often|frequently|frequent|common|commonly|rows|row|entries|entry|records|record|times|occurrences|lines"
    "|time|line|row|record|entry|occurrence|appear|appears|appeared|occurs|occur|occurred",
    "op:sum": "total|sum|sum of|total of|sum up|overall|altogether|in total|together|combined|sum total|add up|summed"
    "|totals|all told|put together|taken together|added together|grand total|grand total of|in sum|in aggregate",
    "op:mean": "average|mean|avg|on average|average of|mean of|averaged|on an average|average value of|mean value of",
    "unweighted": "unweighted|not weighted|non weighted|without weights|without weighting|plain|simple|straight"
    "|arithmetic",
    "op:median": "median|median of|median value of|in the median",
    "op:stddev": "standard deviation|standard deviation of|stddev|std dev|std",
    "op:min": "minimum|min|minimum of|minimal|smallest value of|lowest value of",
    "op:max": "maximum|max|maximum of|maximal|largest value of|highest value of",
    "quantile": "quantile|percentile|quantile of|percentile of",
    "op:quartile1": "first quartile|lower quartile|1st quartile|25th percentile",
    "op:quartile3": "third quartile|upper quartile|3rd quartile|75th percentile",
    "op:p90": "90th percentile|p90",
    "op:p95": "95th percentile|p95",
    "op:p99": "99th percentile|p99",
    "op:p10": "10th percentile|p10",
    "distinct": "distinct|different|unique|separate|various|which values|what values|which values does|what values does"
    "|all values of|the values of",
    "share": "share|share of|percentage|percentage of|percent|percent of|proportion|proportion of|what fraction of"
    "|fraction of|%",
    "quote": "rate",
    "in_percent": "in percent|as a percentage|in percentages|by how many percent|by what percentage|in per cent"
    "|by what percent|percentage wise|by how much percent",
    "copula": "is|are|was|were|came|come|comes|went|go|goes|have|has|had|use|uses|used|ended|belong|live|lives|got",
    "among": "among|amongst|within",
    "among:out": "out of",
    "direction:desc": "highest first|largest first|biggest first|descending|in descending order|sorted descending"
    "|from highest to lowest|from largest to smallest|most first|from high to low|largest to smallest"
    "|highest to lowest|from most to least|best first",
    "direction:asc": "lowest first|smallest first|ascending|in ascending order|sorted ascending|least first"
    "|from lowest to highest|from smallest to largest|from low to high|smallest to largest|lowest to highest"
    "|from least to most",
    "all": "all|all of the|all the|across all|over all|of all|for all|across all the|over all the",
    "prep": "looked after by|taken care of by|by|to|through|from|via|against|over|under|on|until|within|across|per"
    "|in the case of",
    "relative": "whose|who|where|that|with|without|having|per|there|which|are|were|have|has|had|by|in|except|only",
    "having": "with a|with an|have a|have an|has a|has an|had a|having a|having an|used a|used an|use a|use an|using a"
    "|uses a|got a|that have a|that have an|left a|leave a|left any|gave a|gave any|wrote a|added a"
    "|entered a|provided a|made a|carry a|carries a",
    "anyone": "name a|name an|name one|name any|give me an example of|give an example of|an example of|give one"
    "|tell me a|tell me an|tell me one|tell me any|give me a|give me an|give me one|show me a|show me an|show me one"
    "|find a|find an|find one|find me a|find me an|list one|list a|list an|what is one|which is one",
    "in_one": "in a|in an|in one|in any one|in any|in a single|in one single|in any single|for a single|during a",
    "doing": "did|does|do",
    "truth:yes": "yes|true|ja|oui|sí",
    "truth:no": "no|false|nein|non",
    "neither": "neither|have neither|neither a|neither an",
    "commonest": "mode|mode of|the mode of|most popular|most typical|most used|most frequently used|most chosen",
    "compare": "compare|comparison of|compared",
    "along:running": "running total|running total of|running sum|running sum of|cumulative|cumulative sum of"
    "|cumulative total of|cumulated",
    "along:change": "growth|growth of|percentage change|percent change|percentage change in|growth rate of|growth rate"
    "|growth in|percent change in|percentage change of|change in percent of|relative change of|relative change in",
    "along:difference": "change|change of|change in|absolute change of|absolute change in|increase in|changed|grow|grew"
    "|rise|rose|increase|increased|fall|fell|decrease|decreased",
    "before_period:month": "from month to month|from the previous month|to the previous month|from the month before"
    "|compared to the previous month|versus the previous month|compared with the previous month|vs previous month"
    "|against the previous month|against the month before|to the month before|month over month|month on month",
    "before_period:year": "from year to year|compared to the previous year|from the previous year|year over year"
    "|year on year|against the previous year|versus the previous year|compared with the previous year"
    "|to the year before",
    "before_period:quarter": "from quarter to quarter|compared to the previous quarter|quarter over quarter"
    "|compared with the previous quarter|against the previous quarter|versus the previous quarter",
    "before_period:week": "from week to week|compared to the previous week|week over week|against the previous week",
    "before_period:": "against the period before|from the previous period|compared to the previous period"
    "|to the period before"
    "|from the period before|versus the previous period|compared with the previous period|against the previous period",
    "correlation": "correlation|correlation of|correlation between|correlate|correlated"
    "|correlation coefficient between",
    "difference": "difference|difference between|difference in|difference of|the difference|gap between",
    "ratio": "ratio|ratio of|ratio between|divided by|/|÷",
    "per": "per",
    "most:desc": "most|the most|greatest number of|highest number of|largest number of|largest amount of"
    "|highest amount of|most number of|greatest amount of|maximum number of|most amount of|biggest number of",
    "most:asc": "fewest|least|the least|the fewest|lowest number of|least number of|smallest number of"
    "|least amount of|smallest amount of|lowest amount of|fewest number of|minimum number of",
    "top": "top|best|highest|largest|biggest",
    "bottom": "bottom|lowest|smallest|worst",
    "top:first": "first|comes first",
    "bottom:last": "last|comes last",
    "ordered": "by|in terms of|ranked by|sorted by|ordered by|measured by|based on|according to|with regard to",
    "more": "more|larger|higher|bigger|greater",
    "less": "less|fewer|lower|smaller",
    "cmp:>": "more then|higher then|more than|greater than|larger than|higher than|bigger than|over|above|exceeding"
    "|exceeds|exceeded|exceed|longer than|better than|in excess of|>",
    "cmp:<": "less then|fewer then|lower then|less than|fewer than|lower than|smaller than|under|below|shorter than|<",
    "cmp:>=": "at least|not less than|no less than|no fewer than|not fewer than|a minimum of|minimum of|>=|≥|not below"
    "|not under",
    "cmp:<=": "at most|not more than|no more than|up to|a maximum of|maximum of|<=|≤|not over|not above|not exceeding"
    "|no higher than|up to and including|maximally|or fewer than|up to and incl",
    "cmp:=": "exactly|equal to|equals|equal|=|precisely|of exactly",
    "included": "both included|inclusive|both inclusive|both ends included|including both|both ends inclusive",
    "post:>=": "or hotter|or warmer|or newer|or heavier|or taller|or more recent|or more"
    "|or higher|or above|or greater|and above|and more|or over|and up|or later|or longer|plus|+"
    "|and over|or better|at least|or later on"
    "|or larger",
    "post:<=": "or colder|or cooler|or lighter|or shorter|or cheaper|or less|or fewer|or lower|or below|and below"
    "|or under|and under|or earlier|or smaller|and less|at most|at the most|or before",
    "time:<": "before|strictly before|prior to|earlier than",
    "time:>": "after|later than|following",
    "time:>=": "on or after|since|from|starting from|starting with|beginning with|beginning from",
    "time:<=": "on or before|until|till|up to|through|by the end of|to the end of|up to and including"
    "|until and including",
    "between": "between|ranging from|anywhere from",
    "from": "from",
    "to": "to|until|till|through|up to|-|–",
    "but": "but",
    "not:neither": "neither|have neither",
    "not:said": "ignore|skip|omit|disregard|dont count|do not count|dont include|do not include",
    "not:uncounted": "not counting",
    "not:aside": "rather than|not to be confused with|as opposed to|instead of",
    "not": "!=|<>|≠"
    "|not|other than|except|except for|excluding|without counting|apart from|aside from|but not|besides"
    "|non|without"
    "|not in|isnt|arent|wasnt|werent|dont|doesnt|didnt|leaving out|ignoring|outside|outside of|not from"
    "|everything but|all but|excludes|exclude|minus|leave out|except those with|except those where|except those"
    "|excluding those with|other than those with|but not those with|not those with|everything other than|anything but"
    "|is other than|are other than|was other than|havent|hasnt",
    "only": "only|count only|only count|include only|only include|consider only|only consider|use only"
    "|just|solely|exclusively|alone",
    "comma": ",",
    "and": "and|&|as well as|plus|both",
    "or": "or|nor",
    "than": "than|then",
    "versus": "versus|vs|compared to|compared with|against",
    "by": "by|down by|down per|for each|in each|of each|each|grouped by|group by|broken down by|split by|across"
    "|for every|by each|every|on each|from each|at each|within each|breakdown by|breakdown|along|for the different",
    "period:day": "day|days",
    "period:week": "week|weeks",
    "period:month": "month|months",
    "period:quarter": "quarter|quarters",
    "period:year": "year|years",
    "period:weekday": "weekday|weekdays|week day|week days|day of the week|days of the week|day of week",
    "each:day": "daily|day by day",
    "each:week": "weekly|week by week",
    "each:month": "monthly|month by month",
    "each:quarter": "quarterly|quarter by quarter",
    "each:year": "yearly|annual|annually|year by year",
    "weekend": "weekend|weekends",
    "empty": "empty|missing|blank|no value in|no value for|null|is missing|missing values in|missing values of"
    "|missing values|missing value|empty cells in|empty values in|empty cells|without a value in|without a value for"
    "|unknown|no value",
    "no": "no|without|without any|lack|lacks|lacking|waiting for|waiting for a|still waiting for|still waiting for a"
    "|awaiting|still without|still lack|do not have|dont have|do not have a|dont have a|do not have any|dont have any",
    "filled": "not empty|not missing|filled|filled in|not blank|with a value in|a value in|non empty|a value for"
    "|known|with any",
    "contains": "contain|contains|containing|include|includes|including|the word|with the word|contain the word"
    "|include the word|contains the word|includes the word|containing the word|the words|mention|mentions|mentioning",
    "starts": "start with|starts with|begin with|begins with|starting with|beginning with",
    "times_scale:1000": "thousand|k",
    "times_scale:1000000": "million|mio|m",
    "times_scale:1000000000": "billion|bn",
    "quarter:1": "q1|first quarter",
    "quarter:2": "q2|second quarter",
    "quarter:3": "q3|third quarter",
    "quarter:4": "q4|fourth quarter|last quarter of",
    "half:1": "h1|first half|first half of",
    "half:2": "h2|second half|second half of",
    "ordinal:2": "second|in second place|second place|comes second|ranks second|ranked second",
    "ordinal:3": "third|in third place|third place|comes third|ranks third|ranked third",
    "ordinal:4": "fourth|in fourth place|comes fourth|ranks fourth",
    "ordinal:5": "fifth|in fifth place|comes fifth|ranks fifth",
    "light": "i e|at all|right now|so far|thus far|year olds|year old|years of age|over all|over the|in all|out of all"
    "|all of|of all|as a whole",
    "here": "in the company|at the company|in our company|at our company|across the company|in the firm|at the firm"
    "|in our firm|in the business|in our business|in the organisation|in the organization|in our team",
    "times_sign": "times|multiplied by",
    "yesno:any": "are there|is there|was there|were there|are there any|is there any|was there any|were there any"
    "|did any|does any|do any|has any|have any|is any|are any|was any|were any|is there a|is there an|do we have any",
    "yesno": "is|are|was|were|does|do|did|has|have|had|isnt|arent|wasnt|doesnt|didnt",
    "same": "same|identical",
}
_LIGHT: Final = """
a an the is are was were be been being am do does did done has have had having of in on at to for from with that this
these those there their them they it its his her hers him he she we our us you your i me my as into onto within during
please can could would will should shall so also any some s t re which what who where when how
listed list listing lists table tables chart data dataset spreadsheet sheet file shown show shows given recorded
got get gets go goes went come came take took place taken held hold make made makes let know tell
give there's exist exists existed occur occurred occurs happen happened happens appear appears appeared value values
column columns cell cells whose called named here following respective one ones amount
sold gave everyone everybody anyone work lie lies lying sell sells selling bought buy purchased ordered
placed received receive receives earned earn earns
gained obtained
achieved played play plays participated participating competed competing completed complete done ran run runs running
released issued built produced scored recorded registered reported observed measured attended spent made credited
belong belongs belonging comes located situated based assigned happened used using consist consists contain
generated generate brought bring brings result results come coming people worked works working living live lives
where wherever whole entire actually ever according based calculate compute want need like see find
thanks thank kindly develop developed evolve evolved trend development something anything shipped via paid sent
delivered submitted started opened closed happening spent went through used uses use signed joined
answered said chose chosen picked selected preferred own owned manage manages managed handled led taken take takes
hi hello hey ok okay overall our ours altogether overview respectively among those ones them either
fall falls really actually if period starting beginning falling
counted counting written single individual directed starring starred won finished ranked
posted
reported both up report
enrolled registered booked stationed hosted housed stored kept employed classified labelled labeled tagged marked
described categorised categorized filed logged entered captured collected gathered titled entitled manufactured
supplied provided offered served visited travelled traveled arrived departed boarded available existing
figures figure stats statistics info information details numbers know like look looking wondering curious interested
yet now currently already charged

d ll ve m quick question simply kindly give gives giving gave return returning calculate computed compute work out
"""
_ALIKE: Final = """
song songs track tracks title titles single singles | film films movie movies title titles |
book books novel novels title titles | album albums record title titles |
game games match matches fixture fixtures opponent opponents | player players name | team teams club clubs squad |
school schools university universities college colleges |
person people name player players athlete athletes | person people employee employees |
person people customer customers |
athlete athletes swimmer swimmers runner runners rider riders driver drivers cyclist cyclists name racer racers |
country countries nation nations | city cities town towns place | location locations place places venue venues |
stadium stadiums venue venues arena arenas | price prices priced cost costs |
cost costs spend spending spent expense expenses expenditure | revenue revenues turnover |
salary salaries pay wage wages | attendance attendees spectators crowd attended attending |
population people inhabitants residents | duration length time runtime | quantity qty units pieces |
product products item items article articles | customer customers client clients buyer buyers |
weight weighs weighed weigh | height tall | age old aged | rating rated ratings | points point pts |
position place rank ranking | won wins win | lost losses loss | medals medal total | episode episodes title |
show shows programme program series title | candidate candidates name | party parties | vote votes | date day dates |
category categories genre type | director directors directed | author authors writer writers wrote written |
publisher published publishers | producer producers produced | coach coaches coached | manager managers managed |
owner owners owned | winner winners winning champion champions | score scores result | language languages |
nationality nationalities | department departments dept | employee employees staff | year years season seasons |
born birth birthday | hired hire hiring | signed signup | delivery delivered deliveries | amount worth | value worth |
rain rainfall precipitation | shipment shipped shipping ship | start started begin | end ended ending | date dates
"""
_LEVELS: Final = """
gust gusts satisfaction likelihood ease
price prices rate rates ratio temperature temp age height weight score scores rating ratings
rank percent percentage share average avg mean median speed length width depth distance duration time year size altitude
elevation latitude longitude lat lon pressure humidity density margin ctr cpc cpm cpa roas roi aov index position grade
gpa level horsepower mpg displacement acceleration wind radius area salary income population gdp expectancy
magnitude capacity pace frequency
"""

_UNSUMMED: Final = """
unit temperature temp age latitude longitude lat lon rating ratings rate pressure humidity density grade gpa
index year speed rank mpg
"""

ENGLISH: Final[Vocabulary] = language(
    "en",
    _MEANINGS,
    _LIGHT + LIGHT,
    f"{_ALIKE.rstrip()} | {ALIKE}",
    _LEVELS,
    _UNSUMMED,
    months="january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept"
    "|october oct|november nov|december dec",
    weekdays="monday mondays|tuesday tuesdays|wednesday wednesdays|thursday thursdays|friday fridays|saturday saturdays"
    "|sunday sundays",
    numbers="zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
    verbs=VERBS,
    rows=ROWS,
)
"""English."""

# What goes on from the question before.

FOLLOWING: Final = FollowingWords(
    leads="and what about|what about|and how about|how about|and|but|now|then|also|ok|okay|so|and now|and then|and also"
    "|the same for|the same with|same for|same with|the same|same"
    "|do the same for|do the same|break it down|break that down|break this down|split it|split that|show it|show that"
    "|show me that|show me|list it|give it|give me that",
    of_them="of them|of these|of those|out of them|out of these|among them|among these|among those",
    theirs="their|its|they|them|these|those",
    instead="instead|rather",
    compares="compare|compared|comparison|versus|vs|difference",
    refers="as it that this them these those the result results table figures answer show me draw plot"
    " make give us in a an of"
    " please can could you for with",
    best="best",
    worst="worst",
)
