"""German."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.requests import Requests

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="der|die|das|und|ist|wie|wer|welche|welcher|welches|wann|wo|warum|den|dem|im|ein|eine|einen|nicht|auf|mit|zu"
    "|für|von|bei|wird|sind|gibt|viel|viele|hat|haben|mir|wieso|laut|aus|sich|kann",
    polite="bitte|kannst du|könntest du|würdest du|kannst du bitte|könntest du bitte|können sie|könnten sie|würden sie"
    "|könnt ihr|ich möchte dass du|ich will dass du|ich brauche|ich möchte|ich hätte gern|hilf mir|hallo|jetzt|dann|und"
    "|auch|mal|nun|magst du|kannst du mir|könntest du mir|kannst du mir bitte|kannst du mal",
    commands="übersetze|übersetz|übersetzen sie|formuliere|formulier|umformulieren|verfasse|verfass|schreib|schreibe"
    "|schreiben sie|schreib mir|dichte|erfinde|überlege dir|überleg dir|denk dir|denke dir|verbessere|verbesser|korrigiere"
    "|korrigier|überarbeite|kürze|kürz|vereinfache|schlage|schlag|empfiehl|bewerte|beurteile|berate|rate mir"
    "|gib mir ideen|gib mir feedback|gib mir * ideen|gib mir * tipps|gib mir einen rat|entwickle|konzipiere|interpretiere"
    "|kommentiere|brainstorme|erzähl mir einen witz|erzähle einen witz|mach * kürzer|mach * besser|mach * länger"
    "|mach * lustiger|mache * kürzer|erkläre * als wäre|erkläre * einfach|programmiere|texte|prüfe ob * gut|entwirf|redigiere"
    "|lektoriere|antworte auf|beantworte die mail|führe * fort|stell dir vor|tu so",
    infinitives="übersetzen|umformulieren|formulieren|schreiben|verfassen|verbessern|korrigieren|überarbeiten|kürzen"
    "|vereinfachen|vorschlagen|empfehlen|bewerten|beurteilen|entwerfen|entwickeln|umschreiben|erfinden|texten|ausdenken"
    "|einschätzen|programmieren|kommentieren",
    verbs="schreiben",
    objects="einen|eine|ein|den|die|das|mir|uns|diesen|diese|dieses|meinen|meine|unsere|es",
    makers="erstelle|erstell|mach|mache|generiere|gib mir|ich brauche|ich möchte|erzeuge|produziere|brauche|bereite|liefere",
    texts="slogan|slogans|claim|claims|überschrift|überschriften|headline|headlines|text|texte|mail|email|e mail|newsletter"
    "|post|posts|beitrag|beiträge|artikel|geschichte|gedicht|rede|brief an|pressemitteilung|werbetext|werbetexte|skript"
    "|konzept|strategie|persona|personas|plan|agenda|vorschlag|vorschläge|ideen|idee|varianten|entwurf|übersetzung"
    "|meinung|rat|feedback|tipps|witz|code|empfehlung|empfehlungen|hashtags|namensideen|drehbuch|präsentation",
    opinions="was hältst du|was halten sie|was meinst du|was meinen sie|was denkst du|was denken sie|wie findest du"
    "|wie finden sie|findest du|finden sie|gefällt dir|gefällt ihnen|deine meinung|ihre meinung|deiner meinung"
    "|ihrer meinung|würdest du|würden sie|was würdest du|glaubst du|glauben sie|dein eindruck|dein rat"
    "|könnte man verbessern|kann man verbessern|können wir verbessern|kann ich verbessern|könnten wir verbessern"
    "|stärken und schwächen|vor und nachteile|was rätst du|was empfiehlst du|empfiehlst du|wäre es besser|sollten wir"
    "|was sollen wir tun|was soll ich tun|wie gut ist|hast du ideen|hast du vorschläge",
    is_it="ist|sind|war|waren|klingt|wirkt|scheint|macht",
    judged="gut|schlecht|sinnvoll|realistisch|überzeugend|angemessen|passend|ausreichend|zu hoch|zu niedrig|zu lang|zu kurz"
    "|zu teuer|genug|gelungen|interessant|langweilig|lustig|schön|hässlich|fair|riskant|ehrgeizig|attraktiv|sinn"
    "|verständlich|gerechtfertigt|in ordnung|ok|okay|klug|kreativ",
    describes="beschreibe|beschreib|was ist auf|was zeigt|was siehst du|was kann man sehen|was sieht man|wer ist auf"
    "|was ist zu sehen|was steht auf|welche farbe hat|schau dir",
    pictures="bild|bilder|bildes|foto|fotos|fotografie|aufnahme|screenshot|screenshots|logo|zeichnung|illustration|video"
    "|videos|gemälde|banner|grafik",
    summaries="fasse|fass|fassen sie|zusammenfassung|zusammenfassen|überblick|übersicht|gliederung|kurzfassung|kernpunkte"
    "|hauptpunkte|kernaussagen|wichtigste punkte|gib mir eine zusammenfassung|gib mir eine kurze zusammenfassung"
    "|gib mir einen überblick|gib einen überblick|eine zusammenfassung|kurze zusammenfassung|einen überblick"
    "|schreib eine zusammenfassung|schreibe eine zusammenfassung|erstelle eine zusammenfassung|erstelle eine gliederung"
    "|erstelle eine übersicht|mach eine zusammenfassung|worum geht es|worum geht s|wovon handelt|wovon handeln"
    "|was steht in|was ist in|was enthält|was sind die kernpunkte|was sind die wichtigsten punkte|gliedere|resümiere"
    "|verschaff mir einen überblick|ich möchte eine zusammenfassung|kannst du * zusammenfassen|könntest du * zusammenfassen",
    shapes="zusammen|einem|zwei|drei|vier|fünf|satz|sätze|sätzen|wort|worte|worten|wörter|wörtern|stichpunkt|stichpunkte"
    "|stichpunkten|stichworten|kurz|knapp|absatz|inhalt|inhalte|wichtigste|wichtigsten|datei|dokument|text|ganze|ganzen"
    "|geht|handelt|überblick|zusammenfassung|gliederung|zusammenfassen|es|tabelle|zeilen|punkte|punkten|seite",
    amounts="wie viel|wie viele|wieviel|wieviele|wie lange|wie alt|wie oft|wie weit|wie groß|wie hoch|wie schwer|wie breit"
    "|wie tief|wie schnell|wie warm|wie kalt|wann|um wie viel|wie spät|welches datum|an welchem tag|an welchem datum|in welchem jahr|bis wann"
    "|seit wann|ab wann|um wieviel|welcher prozentsatz|welcher anteil|wie teuer|wie früh",
    numbers="eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|vierzig|fünfzig|hundert|tausend"
    "|million|millionen|milliarde|milliarden|dutzend|einmal|zweimal|dreimal|halb|hälfte|drittel|viertel|fünftel|zehntel"
    "|doppelt|kein|keine|null|ersten|zweiten|dritten|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar"
    "|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|frühling|sommer|herbst|winter|morgens"
    "|mittags|abends|nachts|mitternacht|täglich|wöchentlich|monatlich|jährlich|jeden|jede|jedes|heute|morgen|gestern"
    "|wochenende|tag|woche|monat|jahr|stunde|minute|vor|nach|bis|während|immer|nie|mehrere|einige|bald|sofort|kostenlos"
    "|sobald|nachdem|bevor",
    irregular="gehen ging gegangen|kommen kam gekommen|sehen sah gesehen|nehmen nahm genommen|sprechen sprach gesprochen"
    "|finden fand gefunden|schreiben schrieb geschrieben|bleiben blieb geblieben|liegen lag gelegen|tragen trug getragen"
    "|verlieren verlor verloren|gewinnen gewann gewonnen|beginnen begann begonnen|treffen traf getroffen|bieten bot"
    "|geboten|schließen schloss geschlossen|reißen riss gerissen|raten rät riet geraten|empfehlen empfiehlt empfahl"
    "|empfohlen|messen maß gemessen|steigen stieg gestiegen|sinken sank gesunken|brechen brach gebrochen|fahren fuhr"
    "|gefahren|wachsen wuchs gewachsen|laufen lief gelaufen|halten hielt gehalten|kaufen gekauft|zahlen gezahlt bezahlt"
    "|testen getestet|prüfen geprüft prüfung",
)
