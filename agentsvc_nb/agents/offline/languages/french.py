"""French."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.language import FollowingWords, Requests, Vocabulary, language

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
    prices="combien * coûte|combien * coûtent|combien * coûté|combien * coûter|combien * paie|combien * paient"
    "|combien * payer|combien * payé|combien * gagne|combien * gagnent|quel prix|quel est le prix"
    "|quel loyer|quel est le loyer|quel tarif|quel est le tarif",
    free="gratuit|gratuite|gratuits|gratuites|gratuitement|rien|offert",
    named="comment s appelle|comment s appellent|quel est le nom|quels sont les noms",
    irregular="vendre vendu vente|acheter achat|payer paiement|perdre perdu perte|coûter coût",
)

# What words mean in questions about tables.

_MEANINGS: Final = {
    "wh:thing": "quel|quelle|quels|quelles|que|quoi|qu est ce que|quel est|quelle est|lequel|laquelle|lequel des"
    "|laquelle des|lesquels des|lesquelles des",
    "wh:person": "qui",
    "wh:time": "quand|à quelle date",
    "wh:place": "où",
    "wh:list": "liste|montre|montrez|donne|donnez|affiche|affichez|nomme|lister|montre moi|donne moi|indique"
    "|liste moi|montrez moi|donnez moi|affiche moi|énumère|cite|nommer|liste des|liste de|indiquez",
    "count": "combien de|combien d|nombre de|nombre d|le nombre de|combien|nombre total de|nombre total d"
    "|le nombre total de|combien y a t il de|combien y a t il d|combien y a t il|nombre|nombre des",
    "much": "combien|à combien|à combien s élève|à combien s élevait|combien vaut",
    "rows": "lignes|ligne|entrées|fois|souvent|enregistrements",
    "op:sum": "montant total des|montant total de|montant des|valeur totale des|valeur totale de|total|totale|totaux"
    "|somme|somme de|somme des|somme du|au total|total de|total des|total du|en tout"
    "|somme de la|somme de l|total de la|total de l|global|globale|globaux|cumul total|totales|la somme de"
    "|la somme des|la somme du",
    "op:mean": "moyenne|moyen|moyenne de|moyenne des|moyenne du|en moyenne|moyens|moyennes|moyenne de la|moyenne de l"
    "|en moyenne par",
    "unweighted": "non pondéré|non pondérée|sans pondération|simple|arithmétique",
    "op:median": "médiane|médian|médiane de|médiane du|médiane des|médiane de la|médiane de l|médians|médianes"
    "|valeur médiane",
    "op:stddev": "écart type|écart type de|écart type des|écart type du",
    "op:min": "minimum|minimal|minimale|minimum de|minimale de|plus petite valeur de|minimaux|minimales",
    "op:max": "maximum|maximal|maximale|maximum de|maximale de|plus grande valeur de|maximaux|maximales",
    "distinct": "différents|différentes|distincts|distinctes|différent|uniques|distinct|distincte|divers|diverses",
    "share": "part|part de|part des|part du|pourcentage|pourcentage de|pourcentage des|pourcentage du|proportion"
    "|proportion de|part de la|part de l|part d|quelle part|proportion des|proportion du|pourcentage de la"
    "|pourcentage de l|pourcentage d|parts|quel pourcentage|répartition en pourcentage",
    "along:running": "cumul|cumul de|cumul du|cumulé|cumulée|total cumulé|somme cumulée|total cumulé de"
    "|total cumulé du|cumulés|cumulées|cumulative|cumulatif|total cumulé des|total cumulé de la|somme cumulée de"
    "|somme cumulée du|somme cumulée des|total courant",
    "along:change": "croissance|croissance de|croissance du|croissance des|variation en pourcentage"
    "|évolution en pourcentage|taux de croissance|taux de croissance du|taux de croissance de"
    "|taux de croissance des|croissance de la|variation en pourcentage du|variation en pourcentage de"
    "|variation en pourcentage des|variation relative|évolution en pourcentage du|évolution en pourcentage de"
    "|progression en pourcentage",
    "along:difference": "variation|variation de|variation du|évolution|évolution de|évolution du|variation des"
    "|évolution des|variation de la|évolution de la|évolué|varié|changé|variation absolue|changement|changement de"
    "|changement du|progression|progression de|progression du|augmentation|augmentation de|augmentation du",
    "before_period:month": "de mois en mois|par rapport au mois précédent|d un mois à l autre|d un mois sur l autre"
    "|mois sur mois|par rapport au mois d avant|comparé au mois précédent|vs mois précédent|face au mois précédent"
    "|sur le mois précédent|au mois précédent",
    "before_period:year": "d une année à l autre|par rapport à l année précédente|d une année sur l autre"
    "|comparé à l année précédente|par rapport à l an dernier|par rapport à l année d avant",
    "before_period:quarter": "par rapport au trimestre précédent|d un trimestre à l autre|d un trimestre sur l autre"
    "|comparé au trimestre précédent|au trimestre précédent",
    "correlation": "corrélation|corrélation entre|corrélation de|corrélé|corrélés|corrélées"
    "|coefficient de corrélation|coefficient de corrélation entre|lien entre|corrélation linéaire entre",
    "difference": "différence|différence entre|différence de|écart|écart entre|écart de|différence du|différence des"
    "|différence en|l écart entre|écart du|écart des",
    "truth:yes": "oui|vrai|yes|true",
    "truth:no": "non|faux|no|false",
    "rate:ctr": "ctr|taux de clic|taux de clics",
    "rate:cvr": "cvr|taux de conversion",
    "rate:cpc": "cpc|coût par clic",
    "rate:cpa": "cpa|coût par acquisition|coût par conversion",
    "rate:roas": "roas",
    "ratio": "/|÷|rapport|rapport entre|ratio|ratio de|ratio entre|divisé par|rapport du|quotient|quotient de"
    "|divisés par|divisée par|rapport de",
    "per": "par",
    "most:desc": "le plus de|le plus d|le plus|le plus grand nombre de|le plus grand nombre d|le plus souvent"
    "|la plus grande quantité de|le nombre le plus élevé de",
    "most:asc": "le moins de|le moins d|le moins|le plus petit nombre de|le plus petit nombre d|le moins souvent",
    "sup:desc": "le plus élevé|la plus élevée|plus élevé|plus élevée|plus grand|plus grande|le plus grand"
    "|la plus grande|le plus haut|la plus haute|plus haut|plus haute|plus fort|plus forte|plus élevés|plus élevées"
    "|plus grands|plus grandes|plus hauts|plus hautes|plus forts|plus fortes|plus important|plus importante"
    "|plus importants|plus importantes|plus gros|plus grosse|plus grosses|meilleur|meilleure|meilleur en"
    "|meilleure en|le meilleur|la meilleure|le meilleur en|la meilleure en",
    "sup:asc": "le plus bas|la plus basse|plus bas|plus basse|le plus petit|la plus petite|plus petit|plus petite"
    "|le plus faible|la plus faible|plus faible|plus basses|plus petits|plus petites|plus faibles|moins élevé"
    "|moins élevée|moins élevés|moins élevées|moins important|moins importante",
    "implied:cost desc": "le plus cher|la plus chère|plus cher|plus chère|plus chers|plus chères|plus coûteux"
    "|plus coûteuse",
    "implied:cost asc": "le moins cher|la moins chère|moins cher|moins chère|moins chers|moins chères|moins coûteux"
    "|meilleur marché",
    "implied:length desc": "le plus longtemps|plus longtemps|le plus long|la plus longue|plus long|plus longue"
    "|plus longs|plus longues",
    "implied:length asc": "le plus court|la plus courte|plus court|plus courte|plus courts|plus courtes",
    "implied:time desc": "le plus récent|la plus récente|plus récent|plus récente|plus récents|plus récentes",
    "implied:time asc": "le plus ancien|la plus ancienne|plus ancien|plus ancienne|plus anciens|plus anciennes",
    "top": "top|premiers|premières|meilleurs|meilleures|premier|première|top des",
    "bottom": "derniers|dernières|pires|moins bons|moins bonnes",
    "ordered": "par|selon|en termes de|d après|classés par|classé par|triés par|trié par|en fonction du",
    "more": "plus de|plus|davantage|davantage de",
    "less": "moins de|moins|moins d",
    "cmp:>": "plus de|plus que|supérieur à|supérieure à|supérieurs à|au dessus de|plus grand que|plus d|supérieur au"
    "|supérieure au|supérieurs au|supérieures à|supérieur aux|supérieure aux|dépasse|dépassent|dépassant|dépasser"
    "|excède|excèdent|de plus de|à plus de|de plus d|plus grande que|plus élevé que|au delà de|>|supérieur"
    "|supérieure",
    "cmp:<": "moins de|moins que|inférieur à|inférieure à|inférieurs à|en dessous de|moins d|inférieures à"
    "|inférieur au|inférieure au|de moins de|à moins de|de moins d|plus petit que|en deçà de|sous|<|inférieur"
    "|inférieure",
    "cmp:>=": "au moins|au minimum|pas moins de|minimum|d au moins|supérieur ou égal à|supérieure ou égale à"
    "|pas moins d|>=|≥|minimum de|un minimum de",
    "cmp:<=": "au plus|au maximum|pas plus de|jusqu à|d au plus|inférieur ou égal à|inférieure ou égale à|pas plus d"
    "|maximum de|un maximum de|<=|≤",
    "cmp:=": "exactement|égal à|égale à|égaux à|égales à|précisément|=",
    "post:>=": "ou plus|et plus|au moins|au minimum|minimum|ou davantage|et au delà|ou plus tard|et au dessus"
    "|et ultérieures|+",
    "post:<=": "ou moins|et moins|au plus|au maximum|maximum|ou plus tôt|et en dessous|max",
    "time:<": "avant|avant le|avant la|avant l|antérieures au|antérieur au|antérieurs au|précédant le",
    "time:>": "après|après le|après la|après l|postérieures au|postérieur au|postérieurs au",
    "time:>=": "depuis|depuis le|à partir de|à partir du|depuis la|à compter du|à compter de|à partir de l|dès le"
    "|depuis l|depuis début|depuis le début de|à partir de la",
    "time:<=": "jusqu au|jusqu à|jusqu en|jusqu à la|jusqu à fin|jusqu à la fin de",
    "between": "entre",
    "from": "de|du|depuis",
    "to": "à|au|jusqu à|jusqu au|jusqu en|et le",
    "count:in": "pendant combien de|dans combien de|en combien de|durant combien de",
    "not:neither": "ni|ne ni",
    "not": "!=|<>|≠"
    "|pas|sauf|sans|hors|excepté|à l exception de|autre que|autres que|hormis|ne pas|à part|en dehors de|non"
    "|n est pas|à l exception du|à l exception des|à l exception d|à l exception de la|à l exception de l|autre qu"
    "|autres qu|en excluant|excluant|excluez|exclure|en dehors du|en dehors des|en dehors d|mis à part|hors de"
    "|sans compter|différents de|différent de|différente de|différentes de|mais pas",
    "only": "seulement|uniquement|seul|seule|seuls|seules|exclusivement|rien que|juste",
    "comma": ",",
    "and": "et|ainsi que|&|puis",
    "or": "ou|ni|soit|ou bien",
    "than": "que|qu",
    "versus": "contre|par rapport à|vs|comparé à|comparée à|par rapport à la|par rapport au|face à",
    "by": "par|pour chaque|selon|de chaque|chaque|ventilé par|groupé par|dans chaque|par chacun des|pour chacun des"
    "|pour chacune des|en fonction du|en fonction de|répartis par|réparti par|répartie par|ventilée par|groupés par"
    "|regroupé par|regroupés par|dans chacun des|selon le|selon la|d après le",
    "period:day": "jour|jours",
    "period:week": "semaine|semaines",
    "period:month": "mois",
    "period:quarter": "trimestre|trimestres",
    "period:year": "année|années|an|ans",
    "period:weekday": "jour de la semaine|jours de la semaine",
    "each:day": "quotidien|quotidienne|quotidiens|quotidiennes|journalier|journalière|jour par jour",
    "each:week": "hebdomadaire|hebdomadaires|semaine par semaine",
    "each:month": "mensuel|mensuelle|mensuels|mensuelles|mois par mois",
    "each:quarter": "trimestriel|trimestrielle|trimestriels|trimestrielles|trimestre par trimestre",
    "each:year": "annuel|annuelle|annuels|annuelles|année par année",
    "weekend": "week end|weekend|week ends|fin de semaine|fins de semaine",
    "empty": "non indiqué|non indiquée|non indiqués|pas indiqué|pas indiquée|pas renseigné|pas renseignée|pas précisé"
    "|pas précisée|non précisé|non précisée|n est pas renseigné|n est pas renseignée|pas connu|pas connue|vide|vides"
    "|manquant|manquante|manquants|manquantes|non renseigné|non renseignée|non renseignés"
    "|non renseignées|valeur manquante|valeurs manquantes|manque|manquent|est vide|sont vides|sans valeur"
    "|valeur vide|inconnu|inconnue|non rempli|non remplie",
    "no": "sans|aucun|aucune|pas de|sans aucun|sans aucune|pas d",
    "filled": "indiqué|indiquée|indiqués|indiquées|précisé|précisée|connu|connue|non vide|renseigné|renseignée"
    "|non vides|rempli|remplie|renseignés|renseignées|pas vide",
    "contains": "contient|contiennent|contenant|le mot|contenant le mot|contient le mot|contiennent le mot"
    "|avec le mot|comprend|comprennent",
    "times_scale:1000": "mille",
    "times_scale:1000000": "million|millions",
    "times_scale:1000000000": "milliard|milliards",
    "yesno": "est ce que|est|sont|a|ont|était|étaient",
    "quarter:1": "t1|q1|premier trimestre|1er trimestre|1 trimestre|trimestre 1",
    "quarter:2": "t2|q2|deuxième trimestre|second trimestre|2e trimestre|2 trimestre|2ème trimestre|trimestre 2",
    "quarter:3": "t3|q3|troisième trimestre|3e trimestre|3 trimestre|3ème trimestre|trimestre 3",
    "quarter:4": "t4|q4|quatrième trimestre|4e trimestre|4 trimestre|4ème trimestre|dernier trimestre|trimestre 4",
    "half:1": "premier semestre|1er semestre|s1|première moitié de",
    "half:2": "second semestre|deuxième semestre|2e semestre|2ème semestre|s2|seconde moitié de|deuxième moitié de",
    "count_after": "combien y en a t il|combien sont elles|combien sont ils|combien y en a",
    "op:quartile1": "premier quartile|1er quartile|quartile inférieur|25e percentile|25e centile",
    "op:quartile3": "troisième quartile|3e quartile|quartile supérieur|75e percentile|75e centile",
    "op:p90": "90e percentile|90e centile|neuvième décile",
    "op:p95": "95e percentile|95e centile",
    "op:p99": "99e percentile|99e centile",
    "op:p10": "10e percentile|10e centile|premier décile",
    "before_period:week": "par rapport à la semaine précédente|d une semaine à l autre|d une semaine sur l autre",
    "before_period:": "par rapport à la période précédente|à la période précédente",
    "implied:quantity desc": "le plus vendu|la plus vendue|les plus vendus|les plus vendues|plus vendu|plus vendue"
    "|plus vendus|plus vendues|le mieux vendu|se vend le mieux|se vend le plus|vendu le plus|vendu le plus de"
    "|vendu le plus d|acheté le plus|acheté le plus de|acheté le plus d|commandé le plus|commandé le plus de"
    "|commandé le plus d|plus acheté|plus achetés|plus commandé|plus commandés",
    "implied:quantity asc": "le moins vendu|la moins vendue|les moins vendus|les moins vendues|moins vendu"
    "|moins vendus|vendu le moins de|vendu le moins",
    "implied:spent desc": "payé le plus|a payé le plus|dépensé le plus|a dépensé le plus|plus dépensé|rapporté le plus"
    "|rapporte le plus|a rapporté le plus",
    "implied:pay desc": "gagne le plus|gagnent le plus|mieux payé|mieux payée|mieux payés|mieux payées",
    "implied:pay asc": "gagne le moins|moins bien payé|moins bien payée|moins bien payés",
    "implied:population desc": "plus peuplé|plus peuplée|plus peuplés|plus peuplées",
    "implied:population asc": "moins peuplé|moins peuplée|moins peuplés|moins peuplées",
    "implied:weight desc": "plus lourd|plus lourde|plus lourds|plus lourdes",
    "implied:weight asc": "plus léger|plus légère|plus légers|plus légères",
    "implied:age desc": "plus âgé|plus âgée|plus âgés|plus âgées|plus vieux|plus vieille",
    "implied:age asc": "plus jeune|plus jeunes",
    "implied:area desc": "plus vaste|plus étendu|plus vastes",
    "implied:area asc": "moins étendu",
    "cmp_of:age >": "plus âgé que|plus âgés que|plus âgées que|âgés de plus de|âgées de plus de|âgé de plus de"
    "|âgée de plus de|plus vieux que",
    "cmp_of:age <": "plus jeune que|plus jeunes que|âgés de moins de|âgées de moins de|âgé de moins de",
    "aged": "ans|ans d âge",
    "times_sign": "multiplié par|multipliée par|multipliés par",
    "all": "tous les|toutes les|de tous les|de toutes les|l ensemble des",
    "light": "sur toute la période|sur la période|pendant toute la période|sur l ensemble de la période"
    "|dans la liste|de la liste|dans la liste des|de la liste des|dans le fichier|dans le tableau"
    "|de l ensemble|sur l ensemble",
    "included": "inclus|incluse|compris",
    "in_percent": "en pourcentage|en pourcentages|de quel pourcentage|en pour cent|de combien de pour cent",
    "copula": "est|sont|était|étaient|a|ont|avait|avaient|vient|viennent|provient|proviennent|été",
    "among": "parmi|au sein de|parmi toutes|parmi tous",
    "direction:desc": "par ordre décroissant|en ordre décroissant|décroissant|du plus grand au plus petit"
    "|ordre décroissant",
    "direction:asc": "par ordre croissant|en ordre croissant|croissant|du plus petit au plus grand|ordre croissant",
    "quantile": "quantile|percentile|centile|quantile de|percentile de|centile de",
    "commonest": "plus populaire|plus populaires|plus répandu|plus répandue|plus utilisé|plus utilisée|plus représenté"
    "|plus représentée|mode|mode de|valeur la plus fréquente de|plus fréquent|plus fréquente|le plus fréquent"
    "|la plus fréquente|plus courant|plus courante|la plus courante|le plus courant",
    "having": "utilisé un|utilisé une|utilisent un|utilisent une|utilisant un|avec|avec un|avec une|ayant|ayant un"
    "|ayant une|ont un|ont une|ont eu un|ont eu une",
    "prep": "via|par|sur|chez|contre",
    "compare": "compare|comparez|comparaison|comparaison de|comparer|comparaison entre",
}
_LIGHT: Final = """
le la les l un une des du de d en dans au aux à a ont eu est sont était étaient été fut furent il elle ils elles y ce
cet cette ces se s sur avec pour qui que quel quelle quels quelles par nous vous je tu moi me mon ma mes notre nos son
sa ses leur leurs svp peux tu pouvez tous toutes tout toute chaque fait font vendu vendus vendues vendue acheté
achetés obtenu reçu réalisé provient proviennent vient viennent valeur valeurs colonne tableau fichier table données
calcule calculer dont t c ne s'il plait n avons avez as ai ayant passées passée passé passés faites faite effectuées
effectué effectuée effectués enregistrées enregistré enregistrés enregistrée réalisées réalisés réalisée générées
généré générés rapporté obtenus obtenue travaillent travaille travaillant travaillé compte comptent comptait possède
possèdent habite habitent vit vivent concerne concernent représente représentent revient correspond correspondent
existe existent trouve trouvent situe situé située situés comment dis dites dit savoir connaître voudrais aimerais
veux voulez pourrais pourriez merci veuillez afficher donner indiquer calculez trouver fus sera seront avait avaient
eues eue issues issu issus issue venant venaient provenant bonjour cela celui celle ceux celles lequel laquelle
lesquels lesquelles étant rapporte rapportent dégagé dégage faisons fais trouvait figurent figure appelle nommé nommée
apporte apportent montrer voir j pourrait pouvons reçus reçue perçu vendre vend vendons vendent atteint atteignent
reçoit reçoivent reçu on répartition distribution ventilation participé répondu abonnés qu ensemble revenant
concernées concernés concernant constaté constatés consigné consignés recensé recensés recensées dénombre dénombrer
actuellement environ exactement précisément bénéficie bénéficient dispose disposent détient détiennent relève
relèvent dépendent dépend affecté affectée affectés affectées basé basés basée rattaché rattachés employé
sélectionné donc alors encore déjà utilisé utilisée utilisés utilisées utilisent proposé proposés proposons
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
    articles="le la les",
    contracted="de=d du des|a=au aux|que=qu",
    numbers="zéro|un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze",
    ties="payé payée payés payées payer paient paye réglé réglée réglés réglées=mode de paiement,moyen de paiement"
    "|terminé terminée terminés terminées terminent termine fini finie finis soldé soldés soldées"
    "=issue,résultat,statut"
    "|fourni fournis fournit fournissent livre livrent livré livrés livrées=fournisseur,livraison"
    "|embauché embauchés embauchée embauchées entré entrée entrés entrées=date d'embauche,date d'entrée"
    "|duré dura durèrent=durée|arrivé arrivés arrivée arrivées venu venue venus venues"
    "=arrivée,origine,provenance,ville,commune,pays,canal"
    "|inscrit inscrite inscrits inscrites=date d'inscription,inscription"
    "|pratique pratiquent pratiqué font fait=activité,sport,discipline"
    "|suivi suivie suivis suivies suivent suit=cours,séances,formation"
    "|choisi choisie choisis choisies choisissent opté optent souscrit souscrits=formule,type,catégorie,offre"
    "|écrit écrits écrite écrites rédigé=auteur|parle parlent=langue"
    "|accueilli accueillie accueillis accueillies admis admise admises soigné soignés pris hospitalisés"
    "=service,département"
    "|stocké stockés stockée stockées entreposés=entrepôt,dépôt,stock"
    "|réservé réservés réservée réservées=réservation,canal|dirigé dirigée=responsable,directeur"
    "|gère gèrent géré gérés suit=responsable,gestionnaire,manager"
    "|gagné gagnés remporté=résultat|joué jouée=lieu,stade",
)
"""French."""

# What goes on from the question before.

FOLLOWING: Final = FollowingWords(
    leads="et|et qu'en est-il de|qu'en est-il de|et qu'en est-il|et si|mais|maintenant|alors|aussi|ok|et maintenant"
    "|la même chose pour|la même chose avec|pareil pour|pareil avec|idem pour|et à propos de|à propos de"
    "|fais la même chose pour|fais de même pour|de même pour|montre le|montre-le|montre cela",
    of_them="d'entre eux|d'entre elles|parmi eux|parmi elles|parmi ceux-ci|parmi celles-ci|de ceux-ci",
    theirs="leur|leurs|ceux|celles|ces",
    instead="plutôt|à la place",
    compares="compare|comparer|comparé|contre|différence",
    refers="en comme sous forme de d un une le la les l ce cela ça celui résultat résultats tableau"
    " chiffres montre montrez moi"
    " nous fais affiche trace dessine s il te vous plaît peux tu",
    best="meilleur|meilleure|meilleurs|meilleures",
    worst="pire|pires",
)
