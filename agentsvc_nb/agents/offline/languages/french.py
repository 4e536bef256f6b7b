"""French."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.language import Vocabulary, language
from agentsvc_nb.agents.offline.languages.requests import Requests

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="le|la|les|est|et|qui|que|quel|quelle|quels|quelles|où|quand|comment|pourquoi|des|du|une|dans|pour|avec"
    "|sur|combien|qu|d|l|il|elle|sont|au|aux|ce|cette|ont|à|elles|ils|y|ai|as|avons|avez|aura|auront|sera|seront"
    "|était|étaient|peut|on|je|tu|vous|nous|par|ne|pas",
    polite="s il te plaît|s il vous plaît|peux tu|pouvez vous|pourrais tu|pourriez vous|peux tu me|pouvez vous me"
    "|pourrais tu me|pourriez vous me|veux tu|voulez vous|je veux que tu|je voudrais|j aimerais|j ai besoin d"
    "|j ai besoin de|aide moi à|aidez moi à|maintenant|puis|et|aussi|bonjour|salut|merci de",
    commands="traduis|traduisez|traduire|rédige|rédigez|rédiger|écris|écrivez|écrire|reformule|reformulez|reformuler"
    "|corrige|corrigez|corriger|améliore|améliorez|améliorer|propose|proposez|proposer|suggère|suggérez|invente"
    "|inventez|inventer|imagine|imaginez|raccourcis|raccourcissez|simplifie|simplifiez|évalue|évaluez|évaluer|juge"
    "|jugez|commente|commentez|conseille|conseillez|recommande|recommandez|donne moi des idées|donne moi * idées"
    "|donne moi ton avis|donnez moi votre avis|donne moi un conseil|trouve moi|trouve * idées|trouve * slogan|raconte"
    "|compose|composez|interprète|interprétez|réponds à|répondez à|programme|rends * plus|fais comme si|relis|relisez"
    "|explique * simplement|explique * comme si|récris|réécris|réécrivez|réécrire",
    infinitives="traduire|rédiger|écrire|reformuler|corriger|améliorer|proposer|suggérer|inventer|simplifier|évaluer",
    verbs="conçois|concevez|développe|développez|prépare|préparez|analyse|analysez|critique|critiquez",
    objects="un|une|le|la|les|l|des|ce|cet|cette|ces|mon|ma|mes|notre|nos|moi|nous",
    makers="crée|créez|créer|fais|faites|faire|génère|générez|donne moi|donnez moi|produis|produisez|j ai besoin d"
    "|il me faut|je veux|je voudrais|prépare",
    texts="slogan|slogans|accroche|accroches|titre accrocheur|texte|textes|mail|email|e mail|courriel|newsletter|post"
    "|publication|article|histoire|poème|discours|lettre|communiqué|communiqué de presse|script|concept|stratégie"
    "|persona|plan d action|proposition|propositions|idées|idée|variantes|brouillon|traduction|avis|conseil|conseils"
    "|blague|code|recommandation|recommandations|hashtags|présentation",
    opinions="que penses tu|que pensez vous|qu en penses tu|qu en pensez vous|qu est ce que tu penses|penses tu"
    "|pensez vous|crois tu|croyez vous|ton avis|votre avis|ton opinion|votre opinion|aimes tu|aimez vous"
    "|que ferais tu|que feriez vous|que recommandes tu|que recommandez vous|que conseilles tu|que conseillez vous"
    "|que suggères tu|préfères tu|comment trouves tu|comment trouvez vous|comment améliorer|peut on améliorer"
    "|pourrait on améliorer|points forts et|avantages et inconvénients|devrions nous|est ce une bonne idée"
    "|as tu des idées|faut il lancer|que dois je écrire|que dois je * écrire|que puis je écrire|quoi écrire",
    is_it="est|sont|était|est ce|semble|paraît|le|la|les|l|ce|cette|a",
    judged="bon|bonne|mauvais|mauvaise|raisonnable|réaliste|convaincant|convaincante|efficace|approprié|appropriée"
    "|suffisant|suffisante|trop élevé|trop cher|trop long|trop court|intéressant|ennuyeux|drôle|beau|belle|risqué"
    "|ambitieux|du sens|justifié|pertinent|pertinente|clair|claire|créatif",
    describes="décris|décrivez|décrire|que montre|que voit on|qu y a t il sur|que vois tu|que voyez vous|qui est sur"
    "|qu est ce qu on voit|regarde|de quelle couleur",
    pictures="image|images|photo|photos|photographie|capture|logo|dessin|illustration|vidéo|vidéos|tableau peint"
    "|bannière",
    summaries="résume|résumez|résumer|résumé|un résumé|sommaire|aperçu|synthèse|plan du|fais un résumé"
    "|fais moi un résumé|faites un résumé|faites moi un résumé|donne moi un résumé|donnez moi un résumé"
    "|donne moi un aperçu|donne un aperçu|fais une synthèse|fais moi une synthèse|de quoi parle|de quoi parlent"
    "|de quoi s agit il|de quoi traite|que contient|que contiennent|qu y a t il dans|points clés|les points clés"
    "|quels sont les points clés|points principaux|l essentiel|synthétise|récapitule|écris un résumé|rédige un résumé"
    "|en bref",
    shapes="une|deux|trois|quatre|cinq|phrase|phrases|mot|mots|point|points|clés|bref|brièvement|court|courte"
    "|paragraphe|contenu|fichier|document|texte|essentiel|principal|principaux|ligne|lignes|résumé|aperçu|synthèse"
    "|page|tableau",
    amounts="combien|quand|à quelle heure|depuis quand|jusqu à quand|à quelle date|en quelle année|quelle année"
    "|quelle date|à combien|quel âge|quel pourcentage|quelle part|pendant combien|de combien|quelle taille|quel prix"
    "|quel est le prix|quel est le poids",
    numbers="deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|quarante|cinquante|cent"
    "|mille|million|millions|milliard|milliards|douzaine|demi|moitié|tiers|quart|double|aucun|aucune|zéro|premier"
    "|première|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|mai|juin|juillet|août"
    "|septembre|octobre|novembre|décembre|printemps|été|automne|hiver|matin|midi|soir|nuit|minuit|jour|semaine|mois"
    "|année|heure|minute|chaque|aujourd|demain|hier|avant|après|jusqu|pendant|toujours|jamais|plusieurs|quelques"
    "|bientôt|gratuit|mensuel|annuel|quotidien|hebdomadaire|fois",
    irregular="vendre vendu vente|acheter achat|payer paiement|perdre perdu perte|coûter coût",
)

# What words mean in questions about tables.

_MEANINGS: Final = {
    "wh:thing": "quel|quelle|quels|quelles|que|quoi|qu est ce que|quel est|quelle est",
    "wh:person": "qui",
    "wh:time": "quand|à quelle date",
    "wh:place": "où",
    "wh:list": "liste|montre|montrez|donne|donnez|affiche|affichez|nomme|lister|montre moi|donne moi|indique",
    "count": "combien de|combien d|nombre de|nombre d|le nombre de|combien",
    "much": "combien|à combien",
    "rows": "lignes|ligne|entrées|fois|souvent|enregistrements",
    "op:sum": "total|totale|totaux|somme|somme de|somme des|somme du|au total|total de|total des|total du|en tout",
    "op:mean": "moyenne|moyen|moyenne de|moyenne des|moyenne du|en moyenne|moyens|moyennes",
    "op:median": "médiane|médian|médiane de|médiane du|médiane des",
    "op:stddev": "écart type|écart type de|écart type des|écart type du",
    "op:min": "minimum|minimal|minimale|minimum de",
    "op:max": "maximum|maximal|maximale|maximum de",
    "distinct": "différents|différentes|distincts|distinctes|différent|uniques",
    "share": "part|part de|part des|part du|pourcentage|pourcentage de|pourcentage des|pourcentage du|proportion"
    "|proportion de",
    "along:running": "cumul|cumul de|cumul du|cumulé|cumulée|total cumulé|somme cumulée|total cumulé de"
    "|total cumulé du",
    "along:change": "croissance|croissance de|croissance du|croissance des|variation en pourcentage"
    "|évolution en pourcentage",
    "along:difference": "variation|variation de|variation du|évolution|évolution de|évolution du",
    "before_period:month": "de mois en mois|par rapport au mois précédent|d un mois à l autre",
    "before_period:year": "d une année à l autre|par rapport à l année précédente",
    "before_period:quarter": "par rapport au trimestre précédent",
    "correlation": "corrélation|corrélation entre|corrélation de",
    "difference": "différence|différence entre|différence de|écart|écart entre|écart de",
    "ratio": "rapport|rapport entre|ratio|ratio de|ratio entre|divisé par",
    "per": "par",
    "most:desc": "le plus de|le plus d|le plus",
    "most:asc": "le moins de|le moins d|le moins",
    "sup:desc": "le plus élevé|la plus élevée|plus élevé|plus élevée|plus grand|plus grande|le plus grand"
    "|la plus grande|le plus haut|la plus haute|plus haut|plus haute|plus fort|plus forte",
    "sup:asc": "le plus bas|la plus basse|plus bas|plus basse|le plus petit|la plus petite|plus petit|plus petite"
    "|le plus faible|la plus faible|plus faible",
    "implied:cost desc": "le plus cher|la plus chère|plus cher|plus chère",
    "implied:cost asc": "le moins cher|la moins chère|moins cher|moins chère",
    "implied:length desc": "le plus long|la plus longue|plus long|plus longue",
    "implied:length asc": "le plus court|la plus courte|plus court|plus courte",
    "implied:time desc": "le plus récent|la plus récente|plus récent|plus récente",
    "implied:time asc": "le plus ancien|la plus ancienne|plus ancien|plus ancienne",
    "top": "top|premiers|premières|meilleurs|meilleures",
    "bottom": "derniers|dernières",
    "ordered": "par|selon|en termes de|d après",
    "more": "plus de|plus",
    "less": "moins de|moins",
    "cmp:>": "plus de|plus que|supérieur à|supérieure à|supérieurs à|au dessus de|plus grand que|plus d",
    "cmp:<": "moins de|moins que|inférieur à|inférieure à|inférieurs à|en dessous de|moins d",
    "cmp:>=": "au moins|au minimum|pas moins de|minimum",
    "cmp:<=": "au plus|au maximum|pas plus de|jusqu à",
    "cmp:=": "exactement|égal à|égale à",
    "post:>=": "ou plus|et plus",
    "post:<=": "ou moins|et moins",
    "time:<": "avant|avant le",
    "time:>": "après|après le",
    "time:>=": "depuis|depuis le|à partir de|à partir du|dès",
    "time:<=": "jusqu au|jusqu à|jusqu en",
    "between": "entre",
    "from": "de|du",
    "to": "à|au|jusqu à|jusqu au",
    "not": "pas|sauf|sans|hors|excepté|à l exception de|autre que|autres que|hormis|ne pas|à part|en dehors de",
    "only": "seulement|uniquement|seul|seule",
    "comma": ",",
    "and": "et|ainsi que|&",
    "or": "ou|soit",
    "than": "que",
    "versus": "contre|par rapport à|vs",
    "by": "par|pour chaque|selon|de chaque|chaque|ventilé par|groupé par|dans chaque",
    "period:day": "jour|jours",
    "period:week": "semaine|semaines",
    "period:month": "mois",
    "period:quarter": "trimestre|trimestres",
    "period:year": "année|années|an|ans",
    "period:weekday": "jour de la semaine|jours de la semaine",
    "each:day": "quotidien|quotidienne",
    "each:week": "hebdomadaire",
    "each:month": "mensuel|mensuelle|mensuels",
    "each:quarter": "trimestriel|trimestrielle",
    "each:year": "annuel|annuelle|annuels",
    "weekend": "week end|weekend",
    "empty": "vide|vides|manquant|manquante|manquants|manquantes",
    "no": "sans|aucun|aucune|pas de",
    "filled": "non vide|renseigné|renseignée",
    "contains": "contient|contiennent|contenant|le mot",
    "times_scale:1000": "mille",
    "times_scale:1000000": "million|millions",
    "times_scale:1000000000": "milliard|milliards",
    "yesno": "est ce que|est|sont|a|ont|était|étaient",
    "quarter:1": "t1|q1|premier trimestre",
    "quarter:2": "t2|q2|deuxième trimestre|second trimestre",
    "quarter:3": "t3|q3|troisième trimestre",
    "quarter:4": "t4|q4|quatrième trimestre",
    "half:1": "premier semestre",
    "half:2": "second semestre|deuxième semestre",
}
_LIGHT: Final = """
le la les l un une des du de d en dans au aux à a ont eu est sont était étaient été fut furent il elle ils elles
y ce cet cette ces se s sur avec pour qui que quel quelle quels quelles par nous vous je tu moi me mon ma mes
notre nos son sa ses leur leurs svp peux tu pouvez tous toutes tout toute chaque fait font vendu vendus vendues
vendue acheté achetés obtenu reçu réalisé provient proviennent vient viennent valeur valeurs colonne tableau
fichier table données calcule calculer dont t c ne s'il plait
"""
_LEVELS: Final = """
prix taux ratio âge taille poids hauteur longueur largeur température note moyenne rang durée distance temps
année superficie population salaire vitesse price rate age height weight score rating temperature
"""
_UNSUMMED: Final = """
unitaire unit taux âge température note rang année age rating temperature rate rank year
"""

FRENCH: Final[Vocabulary] = language(
    "fr",
    _MEANINGS,
    _LIGHT,
    "",
    _LEVELS,
    _UNSUMMED,
    months="janvier janv|février févr|mars|avril avr|mai|juin|juillet juil|août|septembre sept|octobre oct"
    "|novembre nov|décembre déc",
    weekdays="lundi lundis|mardi mardis|mercredi mercredis|jeudi jeudis|vendredi vendredis|samedi samedis"
    "|dimanche dimanches",
    numbers="zéro|un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze",
)
"""French."""
