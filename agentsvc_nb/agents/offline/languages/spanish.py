"""Spanish."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.requests import Requests

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="el|los|las|es|y|quién|qué|cuál|cuáles|dónde|cuándo|cómo|por|del|una|para|con|cuánto|cuántos|cuántas|cuánta|al"
    "|son|hay|tiene|se|su|sus|está|lo|en",
    polite="por favor|puedes|podrías|puede|podría|puedes por favor|podrías por favor|me puedes|me podrías|quiero que"
    "|quiero|necesito que|necesito|me gustaría|ayúdame a|ahora|luego|y|también|hola|gracias",
    commands="traduce|traduzca|traducir|traducirme|escribe|escriba|escribir|escribirme|escríbeme|redacta|redacte|redactar"
    "|redáctame|reformula|reformule|reformular|reescribe|reescriba|reescribir|corrige|corrija|corregir|mejora|mejore"
    "|mejorar|propón|proponga|proponer|proponme|sugiere|sugiera|sugerir|inventa|invente|inventar|imagina|imagine|acorta"
    "|acorte|simplifica|simplifique|evalúa|evalúe|evaluar|juzga|comenta|comente|aconseja|recomienda|recomiende|recomendar"
    "|recomiéndame|dame ideas|dame * ideas|dame tu opinión|dame un consejo|cuéntame un chiste|cuenta un chiste|compón"
    "|interpreta|responde a|programa|haz * más|piensa en|finge|explica * como si|explica * sencillamente",
    infinitives="traducir|escribir|redactar|reformular|reescribir|corregir|mejorar|proponer|sugerir|inventar|evaluar",
    verbs="diseña|diseñe|desarrolla|desarrolle|prepara|prepare|analiza|analice|critica|revisa|revise",
    objects="un|una|el|la|los|las|este|esta|estos|estas|mi|mis|nuestro|nuestra|me|nos|unos|unas",
    makers="crea|cree|crear|haz|haga|hacer|hazme|genera|genere|dame|deme|produce|necesito|quiero|prepara|elabora",
    texts="eslogan|eslóganes|slogan|titular|titulares|texto|textos|correo|email|e mail|mail|boletín|newsletter|post"
    "|publicación|artículo|historia|poema|discurso|carta|comunicado|comunicado de prensa|guion|guión|concepto|estrategia"
    "|plan|propuesta|propuestas|ideas|idea|variantes|borrador|traducción|opinión|consejo|consejos|chiste|código"
    "|recomendación|recomendaciones|hashtags|presentación",
    opinions="qué opinas|qué opina|qué piensas|qué piensa|qué te parece|qué le parece|te parece|te gusta|crees que|cree usted"
    "|tu opinión|su opinión|qué harías|qué recomiendas|qué recomienda usted|qué aconsejas|qué sugieres|prefieres"
    "|cómo mejorar|cómo puedo mejorar|cómo podemos mejorar|se puede mejorar|ventajas y desventajas|fortalezas y"
    "|deberíamos|es una buena idea|sería mejor|tienes ideas|qué debemos hacer",
    is_it="es|son|era|está|están|parece|suena|tiene|el|la|los|las",
    judged="bueno|buena|malo|mala|razonable|realista|convincente|eficaz|adecuado|adecuada|suficiente|demasiado alto"
    "|demasiado caro|demasiado largo|demasiado corto|interesante|aburrido|divertido|bonito|feo|justo|arriesgado|ambicioso"
    "|sentido|justificado|claro|clara|creativo|bien",
    describes="describe|describa|describir|qué muestra|qué se ve|qué ves|qué hay en|quién está en|quién sale en|mira"
    "|de qué color",
    pictures="imagen|imágenes|foto|fotos|fotografía|captura|logo|logotipo|dibujo|ilustración|vídeo|video|vídeos|cuadro|banner",
    summaries="resume|resuma|resumir|resúmeme|resumen|un resumen|sumario|sinopsis|síntesis|esquema|visión general|haz un resumen"
    "|hazme un resumen|haga un resumen|dame un resumen|deme un resumen|dame una visión general|de qué trata|de qué tratan"
    "|de qué habla|de qué va|qué contiene|qué contienen|qué hay en|puntos clave|los puntos clave"
    "|cuáles son los puntos clave|puntos principales|sintetiza|escribe un resumen|redacta un resumen|en resumen|haz un esquema",
    shapes="una|dos|tres|cuatro|cinco|frase|frases|palabra|palabras|punto|puntos|clave|breve|brevemente|corto|corta|párrafo"
    "|contenido|archivo|fichero|documento|texto|esencial|principal|principales|línea|líneas|resumen|página|tabla",
    amounts="cuánto|cuánta|cuántos|cuántas|cuándo|a qué hora|desde cuándo|hasta cuándo|en qué fecha|en qué año|qué año"
    "|qué fecha|qué edad|qué porcentaje|a cuántos|por cuánto|durante cuánto",
    numbers="dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|quince|veinte|treinta|cuarenta|cincuenta|cien|ciento"
    "|mil|millón|millones|docena|medio|media|mitad|tercio|cuarto|doble|ningún|ninguno|ninguna|cero|primero|primer|primera"
    "|lunes|martes|miércoles|jueves|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
    "|octubre|noviembre|diciembre|primavera|verano|otoño|invierno|mañana|mediodía|tarde|noche|medianoche|día|semana|mes"
    "|año|hora|minuto|cada|hoy|ayer|antes|después|hasta|durante|siempre|nunca|varios|varias|pronto|gratis|mensual|anual"
    "|diario|semanal|vez|veces|tras",
    irregular="vender vendió venta|comprar compra|pagar pago|perder pérdida|costar costo coste cuesta|empezar empieza",
)
