"""The words of each language by which a brief or an order of pictures is understood. Only data: parts of patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class BriefLanguage:
    """The words of one language; each is alternatives of a regular expression, but for the first five."""

    code: str
    common: str
    """Frequent words, by which the language is known."""
    telling: str
    """Those of them, and other words, that no other language has: one is enough."""
    letters: str
    """Letters that few other languages have."""
    more: str
    """The call to action of an ad whose brief gives none."""
    polite: str
    """How a sentence begins that speaks to whoever makes the ad."""
    asking: str
    """How an order begins."""
    greetings: str
    """How a letter begins and ends, before a comma."""
    bids: str
    """Verbs that bid somebody do something, at the beginning of a sentence. An ad's own sentences begin so, too."""
    forbids: str
    """How a sentence begins that forbids something."""
    must: str
    making: str
    """Things that are spoken of by those who make an ad, not by the ad."""
    sections: str
    """Headings of what is only for those who make the ad."""
    make: str
    pictures: str
    """One picture, or several."""
    joins: str
    """With, and: what stands before `headline "Go"`."""
    articles: str
    about: str
    """What stands between an order and its subject."""
    numbers: str
    """One, two, three...: separated by spaces, alternatives by `|`."""


ENGLISH: Final = BriefLanguage(
    code="en",
    common="and for of to is a",
    telling="the with your our",
    letters="",
    more="Learn more",
    polite=r"please|kindly|make sure|ensure|be sure|remember to|note that|we(?:'d| would)? (?:need|want|like|require)|"
    r"we are looking|i(?:'d| would)? (?:need|want|like)|our (?:goal|aim|objective)|the (?:goal|aim|objective)|"
    r"you (?:should|must|may|can)|ignore (?:all|any|the|previous)|this (?:document|brief)",
    asking=r"please|(?:can|could|would) you|kindly",
    greetings=r"hi|hello|hey|dear|thanks|thank you|cheers|(?:best|kind) regards",
    bids=r"use|make|create|draw|design|write|keep|put|place|show|set|add|include|leave|highlight|mention|feature|"
    r"generate|produce|deliver|choose|try|stick|follow|focus|emphasi[sz]e|consider|let",
    forbids=r"do not|don't|never|no|not|avoid|without|refrain|mustn't|skip",
    must=r"should|must|has to|have to|needs? to|may not|can't|cannot|is to|are to|shall",
    making=r"ads?|adverts?|advertisements?|banners?|posters?|pictures?|images?|photos?|imagery|visuals?|"
    r"creatives?|copy|"
    r"text|texts|wording|headlines?|sublines?|slogans?|taglines?|logos?|fonts?|typefaces?|typography|colou?rs?|palette|"
    r"backgrounds?|layouts?|designs?|designers?|buttons?|cta|calls? to action|tone|style|variants?|variations?|"
    r"versions?|"
    r"formats?|brief|briefing|templates?|emojis?|exclamation marks?|characters|target audience|brand guidelines|"
    r"guidelines|instructions?|in (?:english|german|french|spanish)",
    sections=r"(?:target )?audience|target(?: group| market)?|personas?|tone(?: of voice)?|voice|budget|timing|"
    r"timeline|"
    r"schedule|deadlines?|deliverables?|formats?|sizes?|channels?|placements?|goals?|objectives?|kpis?|metrics|"
    r"instructions?(?: for .*)?|guidelines?|requirements?|mandator(?:y|ies)|do'?s(?: (?:and|&) don'?t'?s)?|don'?t'?s|"
    r"do not|avoid|constraints?|restrictions?|notes?|context|background|internal|approvals?|contacts?|legal|"
    r"competitors?|competition|references?|inspiration|design|visuals?|imagery|layout|style|look and feel|"
    r"(?:brand )?colou?rs?|palette|fonts?|typography|logos?|market|research|history|process|next steps|stakeholders?",
    make=r"create|draw|make|generate|design|produce|render|paint",
    pictures=r"(?:(?:image|display|static|banner|story|square) )?(?:ads?|adverts?|creatives?|visuals?)|images?|"
    r"pictures?|"
    r"banners?|posters?|motifs?",
    joins="with|and|using|(?:that|which) (?:has|have|says?)",
    articles="the|a|an|its",
    about="for|of|about|on|with",
    numbers="one|an|a two three four five six seven eight nine ten eleven twelve",
)

GERMAN: Final = BriefLanguage(
    code="de",
    common="der die das von zu bis ein den",
    telling="und für mit ist eine nicht im auf aus bei nach oder zum zur vom wir unsere jetzt neue anzeige angebot "
    "rabatt zielgruppe marke überschrift",
    letters="äöüß",
    more="Mehr erfahren",
    polite=r"bitte|achtet? (?:auf|darauf)|denkt? (?:daran|an)|beachtet?|wir (?:brauchen|benötigen|möchten|"
    r"wollen|wünschen)|"
    r"ich (?:brauche|möchte|will)|unser ziel|(?:das )?ziel ist|ihr sollt|sie sollen|du sollst|stell(?:t|"
    r"en sie)? sicher",
    asking=r"bitte|(?:kannst|könntest|würdest) du|(?:können|könnten) sie",
    greetings=r"hallo|liebe[rs]?|guten (?:tag|morgen)|danke|vielen dank|(?:viele|liebe|beste) grüße",
    bids=r"(?:verwende|nutze|benutze|nimm|mach|mache|erstelle|zeichne|gestalte|schreibe?|halte?|setze?|"
    r"platziere|zeige?|"
    r"füge|lass|lasse|betone|erwähne|wähle|generiere|vermeide)(?:n|t)?(?: sie)?|haltet|nehmt",
    forbids=r"kein\w*|nicht|nie|niemals|ohne|vermeide\w*|verzichte\w*|auf keinen fall",
    must=r"soll|sollen|sollte|sollten|muss|müssen|darf|dürfen|ist zu|sind zu",
    making=r"anzeigen?\w*|werbe\w+|banner\w*|plakate?|\w*bild(?:er|ern|es|sprache)?|\w*fotos?|motive?|visuals?|"
    r"kreation\w*|\w*texte?|überschriften?|schlagzeilen?|unterzeilen?|slogans?|logos?|schrift(?:en|arten|art)?|"
    r"farb\w+|hintergr[uü]nde?|"
    r"layouts?|gestaltung|buttons?|cta|handlungsaufforderung|ton|tonalität|stil|varianten?|versionen?|formate?|"
    r"briefing|"
    r"vorlagen?|emojis?|ausrufezeichen|zeichen|zielgruppe|richtlinien|anweisungen?|headlines?|"
    r"auf (?:deutsch|englisch|französisch|spanisch)",
    sections=r"zielgruppen?|tonalität|ton|budget|zeitplan|termine?|timing|formate?|größen|kanäle|ziele?|kennzahlen|"
    r"anweisung(?:en)?.*|hinweise?.*|vorgaben|richtlinien|anforderungen|pflichtangaben|vermeiden|no-?gos?|"
    r"einschränkungen|"
    r"stil|gestaltung|bildsprache|farben|schrift(?:en)?|ansprechpartner|wettbewerb\w*|hintergrund|kontext|intern\w*|"
    r"freigaben?|abnahme|umfang|lieferumfang|notizen?|referenzen|inspiration",
    make=r"erstelle?n?|zeichne\w*|mache?n?|mach|generiere\w*|entwirf|gestalte\w*",
    pictures=r"(?:werbe)?anzeigen?(?:motive?)?|(?:werbe)?bild(?:er)?|werbebanner|plakate?|motive?",
    joins="mit|und|sowie",
    articles="der|die|das|dem|den|einer|einem|eine|einen",
    about="für|zu|zum|zur|über|mit|von",
    numbers="ein|eine|einen|eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
)

FRENCH: Final = BriefLanguage(
    code="fr",
    common="le les et pour de des est une du",
    telling="avec votre notre nouveau nouvelle",
    letters="çœèêàù",
    more="En savoir plus",
    polite=r"merci de|veuillez|s'il vous plaît|nous (?:voulons|souhaitons|avons besoin)|je (?:veux|voudrais|souhaite)|"
    r"(?:notre|l')\s?objectif|assurez-vous|pensez à|vous (?:devez|pouvez)",
    asking=r"merci de|peux-tu|pourrais-tu|pouvez-vous",
    greetings=r"bonjour|salut|cher|chère|merci|cordialement",
    bids=r"utilise[rz]?|crée[rz]?|fais|faites|dessine[rz]?|écri(?:s|vez|re)|montre[rz]?|place[rz]?|ajoute[rz]?|"
    r"garde[rz]?|"
    r"mets|mettez|inclu(?:s|ez|re)|évite[rz]?|génère[rz]?",
    forbids=r"n['e]\s?\w+ (?:pas|jamais)|ne pas|jamais|pas d[e']|aucun\w*|sans|évite[rz]?",
    must=r"doit|doivent|devrait|devraient|faut",
    making=r"annonces?|publicités?|pub|affiches?|bannières?|images?|photos?|visuels?|textes?|titres?|accroches?|"
    r"slogans?|"
    r"logos?|polices?|couleurs?|fonds?|mise en page|boutons?|ton|style|variantes?|versions?|formats?|brief|modèles?|"
    r"émojis?|emojis?|points? d'exclamation|caractères|public cible|consignes?|instructions?|en (?:anglais|français)",
    sections=r"cibles?|public(?: cible)?|ton|budget|calendrier|délais?|formats?|canaux|objectifs?|consignes?|"
    r"instructions?|"
    r"contraintes?|à éviter|style|couleurs?|polices?|contexte|interne|notes?|références?|livrables?|mentions légales",
    make=r"crée[rz]?|dessine[rz]?|génère[rz]?|fais|faites|réalise[rz]?",
    pictures=r"images?|annonces?|visuels?|affiches?|bannières?|publicités?",
    joins="avec|et",
    articles="le|la|les|l'|un|une|du",
    about="pour|sur|de|avec",
    numbers="un|une deux trois quatre cinq six sept huit neuf dix onze douze",
)

SPANISH: Final = BriefLanguage(
    code="es",
    common="el los y con de es su una del las",
    telling="para nuestro nuestra nuevo nueva",
    letters="ñ¿¡",
    more="Más información",
    polite=r"por favor|queremos|necesitamos|quiero|necesito|nuestro objetivo|el objetivo|asegúrate|asegúrese|recuerda",
    asking=r"por favor|puedes|podrías|puede",
    greetings=r"hola|querid[oa]s?|estimad[oa]s?|gracias|saludos",
    bids=r"us[ae]|utili[zc][ae]|cre[ae]|haz|haga|dibuj[ae]|escrib[ae]|muestr[ae]|coloc?[aq]u?e?|añad[ae]|mant[eé]n|pon|"
    r"incluy[ae]|evit[ae]|gener[ae]",
    forbids=r"no|nunca|sin|evit[ae]|ningun[ao]?",
    must=r"debe|deben|debería|deberían|tiene que|tienen que",
    making=r"anuncios?|carteles?|pancartas?|im[aá]gen(?:es)?|fotos?|textos?|titular(?:es)?|títulos?|eslogan|logos?|"
    r"fuentes?|colores|color|fondos?|diseños?|botón|tono|estilo|variantes?|versiones|versión|formatos?|brief|"
    r"plantillas?|"
    r"emojis?|signos? de exclamación|caracteres|público objetivo|instrucciones|en (?:inglés|español)",
    sections=r"público(?: objetivo)?|audiencia|tono|presupuesto|calendario|plazos?|formatos?|canales|objetivos?|"
    r"instrucciones|requisitos|restricciones|evitar|estilo|colores|fuentes|contexto|interno|notas?|referencias?|"
    r"entregables?",
    make=r"crea[r]?|dibuja[r]?|genera[r]?|diseña[r]?|haz|hacer",
    pictures=r"im[aá]genes|im[aá]gen|anuncios?|carteles|cartel",
    joins="con|y|e",
    articles="el|la|los|las|un|una",
    about="para|sobre|de|con",
    numbers="un|uno|una dos tres cuatro cinco seis siete ocho nueve diez once doce",
)

LANGUAGES: Final = (ENGLISH, GERMAN, FRENCH, SPANISH)


def any_of(part: str) -> str:
    """The alternatives of all languages for one part, such as `make`.

    >>> any_of("joins")
    'with|and|using|(?:that|which) (?:has|have|says?)|mit|und|sowie|avec|et|con|y|e'
    """
    return "|".join(getattr(language, part) for language in LANGUAGES)
