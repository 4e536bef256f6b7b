"""English."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.requests import Requests

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
