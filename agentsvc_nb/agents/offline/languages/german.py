"""German."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.language import FollowingWords, Requests, Vocabulary, language

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="der|die|das|und|ist|wie|wer|welche|welcher|welches|wann|wo|warum|den|dem|im|ein|eine|einen|nicht|auf|mit"
    "|zu|für|von|bei|wird|sind|gibt|viel|viele|hat|haben|mir|wieso|laut|aus|sich|kann|darf|dürfen|muss|müssen|soll"
    "|sollen|werden|wurde|können|es|sie|er|ich|als|was|des",
    polite="bitte|kannst du|könntest du|würdest du|kannst du bitte|könntest du bitte|können sie|könnten sie"
    "|würden sie|könnt ihr|ich möchte dass du|ich will dass du|ich brauche|ich möchte|ich hätte gern|hilf mir|hallo"
    "|jetzt|dann|und|auch|mal|nun|magst du|kannst du mir|könntest du mir|kannst du mir bitte|kannst du mal",
    commands="übersetze|übersetz|übersetzen sie|formuliere|formulier|umformulieren|verfasse|verfass|schreib|schreibe"
    "|schreiben sie|schreib mir|dichte|erfinde|überlege dir|überleg dir|denk dir|denke dir|verbessere|verbesser"
    "|korrigiere|korrigier|überarbeite|kürze|kürz|vereinfache|schlage|schlag|empfiehl|bewerte|beurteile|berate"
    "|rate mir|gib mir ideen|gib mir feedback|gib mir * ideen|gib mir * tipps|gib mir einen rat|entwickle|konzipiere"
    "|interpretiere|kommentiere|brainstorme|erzähl mir einen witz|erzähle einen witz|mach * kürzer|mach * besser"
    "|mach * länger|mach * lustiger|mache * kürzer|erkläre * als wäre|erkläre * einfach|programmiere|texte"
    "|prüfe ob * gut|entwirf|redigiere|lektoriere|antworte auf|beantworte die mail|führe * fort|stell dir vor|tu so",
    infinitives="übersetzen|umformulieren|formulieren|schreiben|verfassen|verbessern|korrigieren|überarbeiten|kürzen"
    "|vereinfachen|vorschlagen|empfehlen|bewerten|beurteilen|entwerfen|entwickeln|umschreiben|erfinden|texten"
    "|ausdenken|einschätzen|programmieren|kommentieren",
    verbs="schreiben",
    objects="einen|eine|ein|den|die|das|mir|uns|diesen|diese|dieses|meinen|meine|unsere|es",
    makers="erstelle|erstell|mach|mache|generiere|gib mir|ich brauche|ich möchte|erzeuge|produziere|brauche|bereite"
    "|liefere",
    texts="slogan|slogans|claim|claims|überschrift|überschriften|headline|headlines|text|texte|mail|email|e mail"
    "|newsletter|post|posts|beitrag|beiträge|artikel|geschichte|gedicht|rede|brief an|pressemitteilung|werbetext"
    "|werbetexte|skript|konzept|strategie|persona|personas|plan|agenda|vorschlag|vorschläge|ideen|idee|varianten"
    "|entwurf|übersetzung|meinung|rat|feedback|tipps|witz|code|empfehlung|empfehlungen|hashtags|namensideen|drehbuch"
    "|präsentation",
    opinions="was hältst du|was halten sie|was meinst du|was meinen sie|was denkst du|was denken sie|wie findest du"
    "|wie finden sie|findest du|finden sie|gefällt dir|gefällt ihnen|deine meinung|ihre meinung|deiner meinung"
    "|ihrer meinung|würdest du|würden sie|was würdest du|glaubst du|glauben sie|dein eindruck|dein rat"
    "|könnte man verbessern|kann man verbessern|können wir verbessern|kann ich verbessern|könnten wir verbessern"
    "|stärken und schwächen|vor und nachteile|was rätst du|was empfiehlst du|empfiehlst du|wäre es besser|sollten wir"
    "|was sollen wir tun|was soll ich tun|wie gut ist|hast du ideen|hast du vorschläge|was soll ich * schreiben"
    "|was sollen wir * schreiben|was kann ich * schreiben",
    is_it="ist|sind|war|waren|klingt|wirkt|scheint|macht",
    judged="gut|schlecht|sinnvoll|realistisch|überzeugend|angemessen|passend|ausreichend|zu hoch|zu niedrig|zu lang"
    "|zu kurz|zu teuer|genug|gelungen|interessant|langweilig|lustig|schön|hässlich|fair|riskant|ehrgeizig|attraktiv"
    "|sinn|verständlich|gerechtfertigt|in ordnung|ok|okay|klug|kreativ",
    describes="beschreibe|beschreib|was ist auf|was zeigt|was siehst du|was kann man sehen|was sieht man|wer ist auf"
    "|was ist zu sehen|was steht auf|welche farbe hat|schau dir",
    pictures="bild|bilder|bildes|foto|fotos|fotografie|aufnahme|screenshot|screenshots|logo|zeichnung|illustration"
    "|video|videos|gemälde|banner|grafik",
    summaries="fasse|fass|fassen sie|zusammenfassung|zusammenfassen|überblick|übersicht|gliederung|kurzfassung"
    "|kernpunkte|hauptpunkte|kernaussagen|wichtigste punkte|gib mir eine zusammenfassung"
    "|gib mir eine kurze zusammenfassung|gib mir einen überblick|gib einen überblick|eine zusammenfassung"
    "|kurze zusammenfassung|einen überblick|schreib eine zusammenfassung|schreibe eine zusammenfassung"
    "|erstelle eine zusammenfassung|erstelle eine gliederung|erstelle eine übersicht|mach eine zusammenfassung"
    "|worum geht es|worum geht s|wovon handelt|wovon handeln|was steht in|was ist in|was enthält"
    "|was sind die kernpunkte|was sind die wichtigsten punkte|gliedere|resümiere|verschaff mir einen überblick"
    "|ich möchte eine zusammenfassung|* zusammenfassen",
    shapes="zusammen|einem|zwei|drei|vier|fünf|satz|sätze|sätzen|wort|worte|worten|wörter|wörtern|stichpunkt"
    "|stichpunkte|stichpunkten|stichworten|kurz|knapp|absatz|inhalt|inhalte|wichtigste|wichtigsten|datei|dokument"
    "|text|ganze|ganzen|geht|handelt|überblick|zusammenfassung|gliederung|zusammenfassen|es|tabelle|zeilen|punkte"
    "|punkten|seite",
    amounts="wie viel|wie viele|wieviel|wieviele|wie lange|wie alt|wie oft|wie weit|wie groß|wie hoch|wie schwer"
    "|wie breit|wie tief|wie schnell|wie warm|wie kalt|wann|um wie viel|wie spät|welches datum|an welchem tag"
    "|an welchem datum|in welchem jahr|bis wann|seit wann|ab wann|um wieviel|welcher prozentsatz|welcher anteil"
    "|wie teuer|wie früh",
    numbers="eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|vierzig|fünfzig|hundert"
    "|tausend|million|millionen|milliarde|milliarden|dutzend|einmal|zweimal|dreimal|halb|hälfte|drittel|viertel"
    "|fünftel|zehntel|doppelt|kein|keine|null|ersten|zweiten|dritten|montag|dienstag|mittwoch|donnerstag|freitag"
    "|samstag|sonntag|januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|frühling"
    "|sommer|herbst|winter|morgens|mittags|abends|nachts|mitternacht|täglich|wöchentlich|monatlich|jährlich|jeden"
    "|jede|jedes|heute|morgen|gestern|wochenende|tag|woche|monat|jahr|stunde|minute|vor|nach|bis|während|immer|nie"
    "|mehrere|einige|bald|sofort|kostenlos|sobald|nachdem|bevor",
    prices="wie viel * kostet|wie viel * kosten|wie viel * kostete|wie viel * gekostet|wie viel * bezahlt"
    "|wie viel * bezahlen|wie viel * zahlt|wie viel * zahlen|wie viel * verdient|wie viel * verdienen"
    "|was kostet|was kosten|was kostete|was hat * gekostet|wie teuer|welche miete|welcher preis"
    "|wie hoch ist die miete|wie hoch ist der preis|wie hoch ist die gebühr",
    free="kostenlos|gratis|umsonst|kostenfrei|nichts|gebührenfrei",
    irregular="gehen ging gegangen|kommen kam gekommen|sehen sah gesehen|nehmen nahm genommen"
    "|sprechen sprach gesprochen|finden fand gefunden|schreiben schrieb geschrieben|bleiben blieb geblieben"
    "|liegen lag gelegen|tragen trug getragen|verlieren verlor verloren|gewinnen gewann gewonnen"
    "|beginnen begann begonnen|treffen traf getroffen|bieten bot|geboten|schließen schloss geschlossen"
    "|reißen riss gerissen|raten rät riet geraten|empfehlen empfiehlt empfahl|empfohlen|messen maß gemessen"
    "|steigen stieg gestiegen|sinken sank gesunken|brechen brach gebrochen|fahren fuhr|gefahren"
    "|wachsen wuchs gewachsen|laufen lief gelaufen|halten hielt gehalten|kaufen gekauft|zahlen gezahlt bezahlt"
    "|testen getestet|prüfen geprüft prüfung",
)

# What words mean in questions about tables.

_MEANINGS: Final = {
    "wh:thing": "was|welche|welcher|welches|welchen|welchem|was für|welche von|welcher der|welches der|welche der",
    "wh:person": "wer|wem|wen|wessen",
    "wh:time": "wann|an welchem tag",
    "wh:place": "wo|woher",
    "wh:list": "liste|zeige|zeig|nenne|nenn|gib|gib mir|zeige mir|zeig mir|nenne mir|liste auf|zeigen|nennen"
    "|liste mir|listen|führe auf|gib mir eine liste",
    "count": "wie hoch ist die anzahl|wie hoch ist die anzahl der|wie hoch war die anzahl|wie hoch war die anzahl der"
    "|wie groß ist die anzahl|wie groß ist die anzahl der|wie hoch ist die zahl der|wie hoch ist die zahl"
    "|wie viele|wieviele|anzahl|anzahl der|anzahl an|zahl der|anzahl von|die anzahl der|wie vielen|gesamtzahl"
    "|gesamtanzahl|gesamtzahl der|zahl",
    "much": "wie viel|wieviel|wieviele",
    "much:high": "wie hoch|wie groß|wie hohe|wie hoher",
    "rows": "zeilen|zeile|einträge|eintrag|datensätze|datensatz|mal|häufigsten|oft|häufig|seltensten",
    "op:sum": "gesamtwert der|gesamthöhe der|summe|summe der|summe des|gesamt|insgesamt|gesamte|gesamter|gesamtes"
    "|gesamten|summe von|zusammen"
    "|in summe",
    "op:mean": "durchschnitt|durchschnittlich|durchschnittliche|durchschnittlicher|durchschnittliches"
    "|durchschnittlichen|mittelwert|mittlere|mittlerer|im schnitt|im durchschnitt|durchschnitt der|mittelwert der"
    "|mittelwert von|durchschnitt des|durchschnittswert|im mittel|mittel|mittleres|mittleren|durchschnitts",
    "unweighted": "ungewichtet|ungewichtete|ungewichteter|ungewichteten|ungewichtetes|nicht gewichtet|ohne gewichtung"
    "|einfacher|einfachen|einfaches|einfache|schlichter|schlichten|arithmetisches|arithmetischer|arithmetischen"
    "|arithmetische",
    "op:median": "median|median der|median des|median von|medianwert|mediane|medianer",
    "op:stddev": "standardabweichung|standardabweichung der|standardabweichung von",
    "op:min": "minimum|minimale|minimaler|kleinster wert|minimum der|minimales|minimalen|niedrigster wert",
    "op:max": "maximum|maximale|maximaler|größter wert|maximum der|maximales|maximalen|höchster wert",
    "distinct": "verschiedene|verschiedenen|unterschiedliche|unterschiedlichen|eindeutige|verschiedener"
    "|unterschiedlicher|verschiedenste",
    "share": "anteil|anteil der|anteil des|anteil von|anteil am|prozentsatz|prozent der|prozentualer anteil"
    "|wie viel prozent|wie viel prozent der|wieviel prozent|wie viel prozent des|prozentuale anteil"
    "|prozentualen anteil|prozentuale verteilung|prozentanteil|wieviel prozent der|wie viel prozent vom"
    "|wieviel prozent des|prozent des|prozent vom|anteile|prozentuale anteile",
    "quote": "quote|rate|quoten",
    "along:running": "laufende summe|kumuliert|kumulierte|kumulierter|kumulierte summe|laufende summe des"
    "|laufende summe der|kumuliertes|kumulierten|kumulativ|kumulative|kumulativer|laufender|aufsummiert|aufgelaufen"
    "|aufgelaufener",
    "along:change": "wachstum|wachstum des|wachstum der|prozentuale veränderung|veränderung in prozent"
    "|prozentuale veränderung des|prozentuale änderung des|prozentuale veränderung der|prozentuales wachstum"
    "|wachstumsrate|prozentuale entwicklung|wachsen|gewachsen",
    "along:difference": "veränderung|veränderung des|veränderung der|änderung|änderung des|änderung der|verändert"
    "|veränderte|geändert|änderte|anstieg|zunahme|absolute veränderung|absolute änderung|entwickelt|veränderungen",
    "before_period:month": "von monat zu monat|zum vormonat|gegenüber dem vormonat|im vergleich zum vormonat"
    "|gegenüber vormonat|zum monat davor|im monatsvergleich|verglichen mit dem vormonat|vom vormonat"
    "|je monat zum vormonat|gegenüber dem monat davor|gegenüber dem vorherigen monat|zum vorherigen monat",
    "before_period:year": "von jahr zu jahr|zum vorjahr|gegenüber dem vorjahr|im vergleich zum vorjahr"
    "|gegenüber vorjahr|verglichen mit dem vorjahr|zum jahr davor|vom vorjahr|gegenüber dem jahr davor",
    "before_period:quarter": "von quartal zu quartal|zum vorquartal|gegenüber dem vorquartal"
    "|im vergleich zum vorquartal|gegenüber vorquartal|verglichen mit dem vorquartal|vom vorquartal",
    "correlation": "korrelation|korrelation zwischen|korrelation von|zusammenhang|zusammenhang zwischen|korrelieren"
    "|korreliert|korrelationskoeffizient|korrelationskoeffizient zwischen",
    "difference": "differenz|unterschied|differenz zwischen|unterschied zwischen|unterschied beim|unterschied im"
    "|differenz des|differenz der|differenz im|differenz beim|abstand zwischen|differenz von|unterschied von",
    "truth:yes": "ja|wahr|yes|true",
    "truth:no": "nein|falsch|no|false",
    "rate:ctr": "ctr|klickrate|klick rate|durchklickrate|click through rate",
    "rate:cvr": "cvr|conversion rate|conversionrate|konversionsrate|konversions rate",
    "rate:cpc": "cpc|kosten pro klick|kosten je klick",
    "rate:cpa": "cpa|kosten pro conversion|kosten je conversion",
    "rate:roas": "roas",
    "ratio": "/|÷|verhältnis|verhältnis von|verhältnis zwischen|geteilt durch|quotient|quotient aus|verhältnis aus",
    "per": "pro|je",
    "most:desc": "meisten|die meisten|am meisten|am häufigsten",
    "most:asc": "wenigsten|die wenigsten|am wenigsten|am seltensten|seltensten",
    "sup:desc": "höchste|höchster|höchstes|höchsten|größte|größter|größtes|größten|am höchsten|am größten|höchstem"
    "|größtem|stärkste|stärksten|stärkster|stärkstes|am stärksten",
    "sup:asc": "niedrigste|niedrigster|niedrigstes|niedrigsten|geringste|geringster|geringsten|kleinste|kleinster"
    "|kleinsten|tiefste|tiefsten|am niedrigsten|am geringsten|am kleinsten|geringstes|kleinstes|schwächste"
    "|schwächsten|schwächster|am schwächsten|niedrigstem",
    "implied:cost desc": "teuerste|teuerster|teuerstes|teuersten|am teuersten",
    "implied:cost asc": "billigste|billigster|billigsten|günstigste|günstigster|günstigsten|preiswerteste|günstigstes"
    "|billigstes|am billigsten|am günstigsten|preisgünstigste",
    "implied:length desc": "längste|längster|längsten|längstes|am längsten",
    "implied:length asc": "kürzeste|kürzester|kürzesten|kürzestes|am kürzesten",
    "implied:weight desc": "schwerste|schwersten|schwerster|am schwersten",
    "implied:weight asc": "leichteste|leichtesten|leichtester|am leichtesten",
    "implied:time desc": "neueste|neuester|neuesten|späteste|spätester|jüngste|letzte bestellung|jüngsten|zuletzt",
    "implied:time asc": "früheste|frühester|älteste|ältester|ältesten",
    "implied:age asc": "jüngste|jüngster|jüngsten|am jüngsten|jüngstes",
    "implied:age desc": "älteste|ältester|ältesten|am ältesten",
    "top": "top|besten|ersten|größten|höchsten",
    "bottom": "letzten|schlechtesten|kleinsten|niedrigsten",
    "ordered": "nach|gemessen an|sortiert nach|bezogen auf",
    "more": "mehr|höher|größer|höheren|größeren|höhere",
    "less": "weniger|geringer|kleiner|niedriger|niedrigeren|geringeren",
    "cmp:>": "mehr als|größer als|höher als|über|oberhalb von|länger als|von mehr als|von über|überschreiten"
    "|überschreitet|übersteigt|übersteigen|teurer als|schwerer als|höhere als|größere als|mit mehr als|>|oberhalb",
    "cmp:<": "weniger als|kleiner als|unter|niedriger als|geringer als|unterhalb von|kürzer als|von weniger als"
    "|von unter|unterschreiten|unterschreitet|billiger als|günstiger als|leichter als|kleinere als|mit weniger als"
    "|<|unterhalb",
    "cmp:>=": "mindestens|wenigstens|nicht weniger als|nicht unter|nicht kleiner als|nicht geringer als|größer gleich"
    "|größer oder gleich|von mindestens|>=|≥|minimal",
    "cmp:<=": "höchstens|maximal|nicht mehr als|bis zu|nicht über|nicht größer als|nicht höher als|kleiner gleich"
    "|kleiner oder gleich|von höchstens|von maximal|<=|≤",
    "cmp:=": "genau|gleich|exakt|=|genau gleich",
    "post:>=": "oder mehr|oder höher|oder größer|oder später|und mehr|und höher|und größer|oder länger|oder älter"
    "|und später|oder danach|+|aufwärts",
    "post:<=": "oder weniger|oder niedriger|oder früher|und weniger|oder kleiner|und niedriger|oder kürzer"
    "|oder jünger|und früher|oder davor",
    "time:<": "vor|vor dem|bevor|früher als|vor dem jahr",
    "time:>": "nach|nach dem|später als|nach dem jahr",
    "time:>=": "seit|ab|seit dem|ab dem|beginnend mit|ab anfang|seit anfang|seit beginn|ab beginn|beginnend ab",
    "time:<=": "bis|bis zum|bis ende|bis einschließlich|bis zum ende|bis einschliesslich zum",
    "between": "zwischen",
    "from": "von|vom",
    "to": "bis|zu|zum|auf",
    "count:in": "in wie vielen|an wie vielen|in wievielen|an wievielen",
    "not:neither": "weder",
    "nor": "noch|noch aus|noch in|noch von",
    "not": "!=|<>|≠"
    "|nicht|außer|ohne|ausgenommen|abgesehen von|andere als|anderer als|anderen als|mit ausnahme von|nicht aus"
    "|bis auf|keine|kein|aber nicht|nicht in|nicht von|nicht mit|nicht im|nicht zu|ausschließen|exklusive|abzüglich"
    "|unter ausschluss von|mit ausnahme der|mit ausnahme des|nichts|außerhalb von|außerhalb|außerhalb der",
    "only": "nur|ausschließlich|lediglich|allein",
    "comma": ",",
    "and": "und|sowie|&|sowohl|als auch|plus",
    "or": "oder|entweder|beziehungsweise|bzw",
    "than": "als",
    "versus": "gegen|gegenüber|verglichen mit|vs|im vergleich zu|im vergleich mit|im gegensatz zu",
    "by": "nach|je|pro|für jeden|für jede|für jedes|aufgeteilt nach|gruppiert nach|aufgeschlüsselt nach|jeder|jedes"
    "|jede|jedem|aufgeteilt auf|verteilt auf|gegliedert nach|unterteilt nach|getrennt nach|für die einzelnen"
    "|pro einzelnem|jeden|im jeweiligen|in jedem|in jeder|von jedem|von jeder|je nach|pro jeweiligem|per|auf die",
    "period:day": "tag|tage|tagen",
    "period:week": "woche|wochen|kalenderwoche",
    "period:month": "monat|monate|monaten",
    "period:quarter": "quartal|quartale|quartalen",
    "period:year": "jahr|jahre|jahren",
    "period:weekday": "wochentag|wochentage|wochentagen",
    "each:day": "täglich|tagesweise|tägliche|täglicher|tageweise|täglichen",
    "each:week": "wöchentlich|wöchentliche|wöchentlicher|wochenweise|wöchentlichen",
    "each:month": "monatlich|monatliche|monatlicher|monatlichen|monatsweise|monatliches|monatlichem|monat für monat",
    "each:quarter": "quartalsweise|vierteljährlich|vierteljährliche|vierteljährlicher|quartalsmäßig|vierteljährlichen",
    "each:year": "jährlich|jährliche|jährlicher|jährliches|jährlichen|jahresweise|jahr für jahr",
    "weekend": "wochenende|wochenenden|wochenendes",
    "empty": "nicht hinterlegt|nicht vermerkt|nicht erfasst|nicht bekannt|keine angaben|leer|leere|leeren|fehlend"
    "|fehlende|fehlenden|fehlt|fehlen|leer ist|leeren wert|leerer|keinen wert"
    "|keinen eintrag|keine angabe|ohne angabe|ohne wert|ohne eintrag|nicht angegeben|nicht ausgefüllt"
    "|nicht eingetragen|unbekannt|fehlende werte|fehlende werte bei|fehlende werte in",
    "no": "kein|keine|keinen|ohne|keinem|keiner|keines|gar keine|gar keinen|gar kein|ganz ohne",
    "filled": "hinterlegt|vermerkt|nicht leer|ausgefüllt|gefüllt|angegeben|eingetragen|nicht fehlt|mit angabe",
    "contains": "enthalten|enthält|das wort|beinhaltet|beinhalten|enthält das wort|enthalten das wort|mit dem wort",
    "times_scale:1000": "tausend|tsd",
    "times_scale:1000000": "million|millionen|mio",
    "times_scale:1000000000": "milliarde|milliarden|mrd",
    "yesno": "ist|sind|hat|hatte|hatten|haben|war|waren|wurde|wurden|gibt|gab",
    "quarter:1": "q1|erstes quartal|ersten quartal|1 quartal|ersten quartals|erste quartal",
    "quarter:2": "q2|zweites quartal|zweiten quartal|2 quartal|zweiten quartals|zweite quartal",
    "quarter:3": "q3|drittes quartal|dritten quartal|3 quartal|dritten quartals|dritte quartal",
    "quarter:4": "q4|viertes quartal|vierten quartal|4 quartal|vierten quartals|vierte quartal|letzten quartal"
    "|letztes quartal",
    "half:1": "erstes halbjahr|ersten halbjahr|h1|1 halbjahr|erste halbjahr|ersten jahreshälfte|erste jahreshälfte",
    "half:2": "zweites halbjahr|zweiten halbjahr|h2|2 halbjahr|zweite halbjahr|zweiten jahreshälfte"
    "|zweite jahreshälfte",
    "count_after": "wie viele sind es|wie viele sind das|wie viele gibt es|wie viele waren es"
    "|wie viele sind das insgesamt",
    "op:quartile1": "erstes quartil|unteres quartil|1 quartil|erste quartil|untere quartil|25 perzentil",
    "op:quartile3": "drittes quartil|oberes quartil|3 quartil|dritte quartil|obere quartil|75 perzentil",
    "op:p90": "90 perzentil",
    "op:p95": "95 perzentil",
    "op:p99": "99 perzentil",
    "op:p10": "10 perzentil",
    "before_period:week": "zur vorwoche|gegenüber der vorwoche|im vergleich zur vorwoche|von woche zu woche"
    "|verglichen mit der vorwoche",
    "before_period:": "zur vorperiode|gegenüber der vorperiode|im vergleich zur vorperiode",
    "implied:quantity desc": "am meisten verkauft|am meisten verkaufte|am meisten verkauften|meistverkaufte"
    "|meistverkauftes|meistverkaufter|meistverkauften|am häufigsten verkauft|am besten verkauft|bestverkaufte"
    "|bestverkaufter|bestverkauften|bestverkauftes|meistgekaufte|meistgekauften|am meisten gekauft"
    "|verkauft sich am besten|verkaufen sich am besten|verkauften sich am besten",
    "implied:quantity asc": "am wenigsten verkauft|am wenigsten verkaufte|am schlechtesten verkauft"
    "|am wenigsten gekauft",
    "implied:spent desc": "am meisten bezahlt|am meisten gezahlt|am meisten ausgegeben|zahlte am meisten"
    "|zahlt am meisten"
    "|gab am meisten aus|bringt am meisten ein|am meisten eingebracht",
    "implied:pay desc": "am besten verdient|verdient am meisten|bestbezahlte|bestbezahlter|am besten bezahlt"
    "|bestverdienende"
    "|verdient am besten",
    "implied:pay asc": "verdient am wenigsten|am schlechtesten bezahlt",
    "implied:population desc": "bevölkerungsreichste|bevölkerungsreichsten|bevölkerungsreichstes|einwohnerreichste"
    "|einwohnerstärkste",
    "implied_more:age desc": "älter",
    "implied_more:age asc": "jünger",
    "implied_more:cost desc": "teurer",
    "implied_more:cost asc": "billiger|günstiger",
    "implied_more:length desc": "länger",
    "implied_more:length asc": "kürzer",
    "implied_more:weight desc": "schwerer",
    "implied_more:weight asc": "leichter",
    "cmp_of:age >": "älter als",
    "cmp_of:age <": "jünger als",
    "aged": "jahre alt|jahre|jahren|jahre alte",
    "times_sign": "multipliziert mit|mal genommen mit",
    "light": "im gesamten zeitraum|über den gesamten zeitraum|im ganzen zeitraum|während des gesamten zeitraums"
    "|in der liste|der liste|auf der liste|in der tabelle|in der datei|wie stark|für alle|über alle|von allen"
    "|unter allen|zum zeitpunkt|kommen vor|kommt vor",
    "all": "aller|alle|allen|sämtlicher|sämtliche",
    "included": "einschließlich|inklusive",
    "in_percent": "in prozent|prozentual|in prozentzahlen|um wie viel prozent|um wieviel prozent",
    "copula": "ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|hatten|kam|kamen|kommen|kommt|entfällt|stammt",
    "among": "unter|innerhalb|innerhalb von|innerhalb der|von allen",
    "direction:desc": "absteigend|absteigend sortiert|vom größten zum kleinsten|höchste zuerst|größte zuerst"
    "|in absteigender reihenfolge",
    "direction:asc": "aufsteigend|aufsteigend sortiert|vom kleinsten zum größten|niedrigste zuerst|kleinste zuerst"
    "|in aufsteigender reihenfolge",
    "quantile": "quantil|perzentil|quantil der|quantil des|perzentil der|perzentil des|perzentil von",
    "commonest": "modus|modus von|häufigster wert von|häufigster wert|häufigste|häufigster|häufigstes"
    "|am häufigsten vorkommende|am häufigsten genannte",
    "having": "nutzten einen|nutzten eine|nutzten ein|verwendeten einen|mit|mit einem|mit einer|haben einen"
    "|haben eine|hatten einen|hatten eine|mit angegebenem"
    "|mit eingetragener",
    "prep": "über|durch|via|per|auf|gegen|unter",
    "compare": "vergleiche|vergleich|vergleich von|vergleiche mir|vergleichen|im vergleich",
}
_LIGHT: Final = """
der die das den dem des ein eine einen einem einer eines ist sind war waren wird wurde wurden werden hat hatte hatten
haben gibt gab es in im an am auf aus bei mit von vom zu zum zur für durch um sich mir mich uns wir ich du sie er
bitte kann könntest du denn so alle aller allen beim man dieser diese dieses diesem diesen deren dessen wie was welche
sein ihr ihre kam kamen kommt kommen stammen stammt verkauft verkauften verkaufte erzielt erzielte erzielten gekauft
kaufte kauften bestellt gemacht machte brachte wert werte spalte spalten tabelle datei liegt liegen betrug beträgt
welchen welcher welches wo denen uns auch berechne berechnen sage sag tabelle daten insgesamt entfällt entfallen davon
da gehört gehören möchte will wissen hätte hätten gern gerne brauche würde würden können könnten könnte kannst dir
ihnen euch aufgegeben eingegangen eingegangenen getätigt getätigten entfielen entfiel erfolgt erfolgten stattgefunden
angefallen anfielen fiel verzeichnet verzeichnete verzeichneten erreicht erreichte erreichten arbeiten arbeitet
arbeiteten arbeitete leben lebt lebten wohnen wohnt betragen beliefen beläuft belief hätte machen macht abgegeben
vorhanden existieren existiert überhaupt eigentlich jeweils jeweilige jeweiligen einzelne einzelnen noch schon bereits
generiert generierte eingebracht brachten erwirtschaftet erwirtschafteten vorliegen vorkommen befindet befinden
besitzt besitzen trägt tragen weist aufweisen steht stehen stand lag lagen unsere unser unserer unseren meine meiner
jener anzeigen ausgeben ermittle ermitteln finde heißt heißen lautet lauten gewesen worden sei hin etwa dort dabei
dazu hierbei namens registriert erfasst erfasste erfassten gezählt zählt zählen bekommen bekommt erhielt erhielten
erhalten hallo danke eben welch wieviel jemand leute person verteilt verteilung aufteilung gingen teilgenommen
abonniert nahmen teil beantwortet geantwortet beschäftigt beschäftigen tätig angestellt genau denn derzeit aktuell
momentan genutzt nutzen nutzt gewählt geht gehen ging gingen ungefähr circa verfügen verfügt führen führt gelten
gilt zählte umfasst umfassen nehmen nimmt genommen lassen
lässt ließen verbucht abgewickelt angelegt aufgeführt gelistet verwendet nutzten entstanden entstand entstehen
"""
_LEVELS: Final = """
preis preise rate quote alter höhe gewicht größe länge breite tiefe temperatur bewertung note
durchschnitt mittelwert anteil rang platz dauer distanz zeit jahr fläche index geschwindigkeit einwohner
bevölkerung gehalt price rate age height weight score rating temperature
"""
_UNSUMMED: Final = """
einzelpreis stückpreis unit temperatur alter bewertung note rate quote jahr rang age rating temperature rate rank year
"""

GERMAN: Final[Vocabulary] = language(
    "de",
    _MEANINGS,
    _LIGHT,
    "",
    _LEVELS,
    _UNSUMMED,
    months="januar jan jänner|februar feb|märz mrz maerz|april apr|mai|juni jun|juli jul|august aug"
    "|september sep sept|oktober okt|november nov|dezember dez",
    weekdays="montag montags montage montagen|dienstag dienstags dienstage dienstagen|mittwoch mittwochs mittwoche"
    " mittwochen|donnerstag donnerstags donnerstage donnerstagen|freitag freitags freitage freitagen"
    "|samstag samstags samstage samstagen sonnabend sonnabends|sonntag sonntags sonntage sonntagen",
    compounds="bestell=|gesamt=gesamt|durchschnitts=durchschnitt|median=median|monats=monatlich|jahres=jährlich"
    "|quartals=quartalsweise|wochen=wöchentlich|tages=täglich|höchst=maximum|maximal=maximum|mindest=minimum"
    "|minimal=minimum",
    numbers="null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf",
    ties="bezahlt bezahlte bezahlten bezahlen zahlten zahlen zahlt beglichen=zahlungsart,bezahlart"
    "|geliefert beliefert liefert liefern lieferten bezogen beziehen=lieferant,versand"
    "|eingetreten angefangen eingestellt begonnen angestellt=eintrittsdatum,startdatum"
    "|gedauert dauerte dauerten andauerten=dauer|geendet endete endeten ausgegangen=ergebnis,status,austritt"
    "|gekommen angekommen anreisten angereist eingegangen=kanal,anreise,ankunft,herkunft"
    "|gebucht buchten bucht=kanal,buchung|angemeldet registriert eingeschrieben=anmeldung,startdatum"
    "|lagern lagert gelagert=lager,standort|unterrichtet unterrichten=lehrer,fach"
    "|spricht sprechen gesprochen=sprache|geschrieben schrieb verfasst=autor|geleitet leitet=leiter"
    "|betreut betreuen betreute=manager,verkäufer,berater|gewählt wählten entschieden=tarif,kategorie,typ"
    "|stattfanden fanden findet=ort,datum|behandelt behandelten=abteilung,arzt",
)
"""German."""

# What goes on from the question before.

FOLLOWING: Final = FollowingWords(
    leads="und|und was ist mit|was ist mit|und wie ist es mit|wie ist es mit|und wie sieht es mit|wie sieht es mit"
    "|und wie sieht es in|wie sieht es in|aber|jetzt|nun|dann|auch|ok|und jetzt|und dann|dasselbe für|dasselbe mit"
    "|das gleiche für|das gleiche mit|das gleiche|dasselbe"
    "|mach das gleiche für|zeig es|zeige es|zeig das|zeige das|zeig mir das|das ganze",
    of_them="davon|von ihnen|von denen|von diesen|darunter|unter ihnen",
    theirs="deren|dessen|ihr|ihre|ihrer|ihren|diese|diesen|dieser",
    instead="stattdessen|lieber",
    compares="vergleich|vergleiche|verglichen|gegenüber|unterschied",
    refers="als es das dies diese sie den die ergebnis ergebnisse tabelle zahlen zeig zeige mir uns"
    " zeichne mach mache bitte"
    " kannst du in einem einer ein eine im davon dar stelle",
    best="beste|besten|bester|bestes",
    worst="schlechteste|schlechtesten|schlechtester",
)
