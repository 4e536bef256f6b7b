"""French."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.requests import Requests

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="le|la|les|est|et|qui|que|quel|quelle|quels|quelles|où|quand|comment|pourquoi|des|du|une|dans|pour|avec|sur"
    "|combien|qu|d|l|il|elle|sont|au|aux|ce|cette|ont|à",
    polite="s il te plaît|s il vous plaît|peux tu|pouvez vous|pourrais tu|pourriez vous|peux tu me|pouvez vous me"
    "|pourrais tu me|pourriez vous me|veux tu|voulez vous|je veux que tu|je voudrais|j aimerais|j ai besoin d"
    "|j ai besoin de|aide moi à|aidez moi à|maintenant|puis|et|aussi|bonjour|salut|merci de",
    commands="traduis|traduisez|traduire|rédige|rédigez|rédiger|écris|écrivez|écrire|reformule|reformulez|reformuler|corrige"
    "|corrigez|corriger|améliore|améliorez|améliorer|propose|proposez|proposer|suggère|suggérez|invente|inventez|inventer"
    "|imagine|imaginez|raccourcis|raccourcissez|simplifie|simplifiez|évalue|évaluez|évaluer|juge|jugez|commente|commentez"
    "|conseille|conseillez|recommande|recommandez|donne moi des idées|donne moi * idées|donne moi ton avis"
    "|donnez moi votre avis|donne moi un conseil|trouve moi|trouve * idées|trouve * slogan|raconte|compose|composez"
    "|interprète|interprétez|réponds à|répondez à|programme|rends * plus|fais comme si|relis|relisez|explique * simplement"
    "|explique * comme si|récris|réécris|réécrivez|réécrire",
    infinitives="traduire|rédiger|écrire|reformuler|corriger|améliorer|proposer|suggérer|inventer|simplifier|évaluer",
    verbs="conçois|concevez|développe|développez|prépare|préparez|analyse|analysez|critique|critiquez",
    objects="un|une|le|la|les|l|des|ce|cet|cette|ces|mon|ma|mes|notre|nos|moi|nous",
    makers="crée|créez|créer|fais|faites|faire|génère|générez|donne moi|donnez moi|produis|produisez|j ai besoin d"
    "|il me faut|je veux|je voudrais|prépare",
    texts="slogan|slogans|accroche|accroches|titre accrocheur|texte|textes|mail|email|e mail|courriel|newsletter|post"
    "|publication|article|histoire|poème|discours|lettre|communiqué|communiqué de presse|script|concept|stratégie"
    "|persona|plan d action|proposition|propositions|idées|idée|variantes|brouillon|traduction|avis|conseil|conseils"
    "|blague|code|recommandation|recommandations|hashtags|présentation",
    opinions="que penses tu|que pensez vous|qu en penses tu|qu en pensez vous|qu est ce que tu penses|penses tu|pensez vous"
    "|crois tu|croyez vous|ton avis|votre avis|ton opinion|votre opinion|aimes tu|aimez vous|que ferais tu|que feriez vous"
    "|que recommandes tu|que recommandez vous|que conseilles tu|que conseillez vous|que suggères tu|préfères tu"
    "|comment trouves tu|comment trouvez vous|comment améliorer|peut on améliorer|pourrait on améliorer"
    "|points forts et|avantages et inconvénients|devrions nous|est ce une bonne idée|as tu des idées|faut il lancer",
    is_it="est|sont|était|est ce|semble|paraît|le|la|les|l|ce|cette|a",
    judged="bon|bonne|mauvais|mauvaise|raisonnable|réaliste|convaincant|convaincante|efficace|approprié|appropriée|suffisant"
    "|suffisante|trop élevé|trop cher|trop long|trop court|intéressant|ennuyeux|drôle|beau|belle|risqué|ambitieux|du sens"
    "|justifié|pertinent|pertinente|clair|claire|créatif",
    describes="décris|décrivez|décrire|que montre|que voit on|qu y a t il sur|que vois tu|que voyez vous|qui est sur"
    "|qu est ce qu on voit|regarde|de quelle couleur",
    pictures="image|images|photo|photos|photographie|capture|logo|dessin|illustration|vidéo|vidéos|tableau peint|bannière",
    summaries="résume|résumez|résumer|résumé|un résumé|sommaire|aperçu|synthèse|plan du|fais un résumé|fais moi un résumé"
    "|faites un résumé|faites moi un résumé|donne moi un résumé|donnez moi un résumé|donne moi un aperçu|donne un aperçu"
    "|fais une synthèse|fais moi une synthèse|de quoi parle|de quoi parlent|de quoi s agit il|de quoi traite"
    "|que contient|que contiennent|qu y a t il dans|points clés|les points clés|quels sont les points clés"
    "|points principaux|l essentiel|synthétise|récapitule|écris un résumé|rédige un résumé|en bref",
    shapes="une|deux|trois|quatre|cinq|phrase|phrases|mot|mots|point|points|clés|bref|brièvement|court|courte|paragraphe"
    "|contenu|fichier|document|texte|essentiel|principal|principaux|ligne|lignes|résumé|aperçu|synthèse|page|tableau",
    amounts="combien|quand|à quelle heure|depuis quand|jusqu à quand|à quelle date|en quelle année|quelle année|quelle date"
    "|à combien|quel âge|quel pourcentage|quelle part|pendant combien|de combien|quelle taille|quel prix|quel est le prix"
    "|quel est le poids",
    numbers="deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|quarante|cinquante|cent|mille"
    "|million|millions|milliard|milliards|douzaine|demi|moitié|tiers|quart|double|aucun|aucune|zéro|premier|première"
    "|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|mai|juin|juillet|août|septembre"
    "|octobre|novembre|décembre|printemps|été|automne|hiver|matin|midi|soir|nuit|minuit|jour|semaine|mois|année|heure"
    "|minute|chaque|aujourd|demain|hier|avant|après|jusqu|pendant|toujours|jamais|plusieurs|quelques|bientôt|gratuit"
    "|mensuel|annuel|quotidien|hebdomadaire|fois",
    irregular="vendre vendu vente|acheter achat|payer paiement|perdre perdu perte|coûter coût",
)
