"""Spanish."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.language import Vocabulary, language
from agentsvc_nb.agents.offline.languages.requests import Requests

# What a message wants: text to be written, an opinion, an outline.

REQUESTS: Final = Requests(
    markers="el|los|las|es|y|quién|qué|cuál|cuáles|dónde|cuándo|cómo|por|del|una|para|con|cuánto|cuántos|cuántas"
    "|cuánta|al|son|hay|tiene|se|su|sus|está|lo|en|un|yo|me|mi|ha|han|fue|fueron|será|serán|estuvo|puede|pueden|debe"
    "|a|o",
    polite="por favor|puedes|podrías|puede|podría|puedes por favor|podrías por favor|me puedes|me podrías|quiero que"
    "|quiero|necesito que|necesito|me gustaría|ayúdame a|ahora|luego|y|también|hola|gracias",
    commands="traduce|traduzca|traducir|traducirme|escribe|escriba|escribir|escribirme|escríbeme|redacta|redacte"
    "|redactar|redáctame|reformula|reformule|reformular|reescribe|reescriba|reescribir|corrige|corrija|corregir"
    "|mejora|mejore|mejorar|propón|proponga|proponer|proponme|sugiere|sugiera|sugerir|inventa|invente|inventar"
    "|imagina|imagine|acorta|acorte|simplifica|simplifique|evalúa|evalúe|evaluar|juzga|comenta|comente|aconseja"
    "|recomienda|recomiende|recomendar|recomiéndame|dame ideas|dame * ideas|dame tu opinión|dame un consejo"
    "|cuéntame un chiste|cuenta un chiste|compón|interpreta|responde a|programa|haz * más|piensa en|finge"
    "|explica * como si|explica * sencillamente",
    infinitives="traducir|escribir|redactar|reformular|reescribir|corregir|mejorar|proponer|sugerir|inventar|evaluar",
    verbs="diseña|diseñe|desarrolla|desarrolle|prepara|prepare|analiza|analice|critica|revisa|revise",
    objects="un|una|el|la|los|las|este|esta|estos|estas|mi|mis|nuestro|nuestra|me|nos|unos|unas",
    makers="crea|cree|crear|haz|haga|hacer|hazme|genera|genere|dame|deme|produce|necesito|quiero|prepara|elabora",
    texts="eslogan|eslóganes|slogan|titular|titulares|texto|textos|correo|email|e mail|mail|boletín|newsletter|post"
    "|publicación|artículo|historia|poema|discurso|carta|comunicado|comunicado de prensa|guion|guión|concepto"
    "|estrategia|plan|propuesta|propuestas|ideas|idea|variantes|borrador|traducción|opinión|consejo|consejos|chiste"
    "|código|recomendación|recomendaciones|hashtags|presentación",
    opinions="qué opinas|qué opina|qué piensas|qué piensa|qué te parece|qué le parece|te parece|te gusta|crees que"
    "|cree usted|tu opinión|su opinión|qué harías|qué recomiendas|qué recomienda usted|qué aconsejas|qué sugieres"
    "|prefieres|cómo mejorar|cómo puedo mejorar|cómo podemos mejorar|se puede mejorar|ventajas y desventajas"
    "|fortalezas y|deberíamos|es una buena idea|sería mejor|tienes ideas|qué debemos hacer|qué debo escribir"
    "|qué le escribo|qué puedo escribir",
    is_it="es|son|era|está|están|parece|suena|tiene|el|la|los|las",
    judged="bueno|buena|malo|mala|razonable|realista|convincente|eficaz|adecuado|adecuada|suficiente|demasiado alto"
    "|demasiado caro|demasiado largo|demasiado corto|interesante|aburrido|divertido|bonito|feo|justo|arriesgado"
    "|ambicioso|sentido|justificado|claro|clara|creativo|bien",
    describes="describe|describa|describir|qué muestra|qué se ve|qué ves|qué hay en|quién está en|quién sale en|mira"
    "|de qué color",
    pictures="imagen|imágenes|foto|fotos|fotografía|captura|logo|logotipo|dibujo|ilustración|vídeo|video|vídeos"
    "|cuadro|banner",
    summaries="resume|resuma|resumir|resúmeme|resumen|un resumen|sumario|sinopsis|síntesis|esquema|visión general"
    "|haz un resumen|hazme un resumen|haga un resumen|dame un resumen|deme un resumen|dame una visión general"
    "|de qué trata|de qué tratan|de qué habla|de qué va|qué contiene|qué contienen|qué hay en|puntos clave"
    "|los puntos clave|cuáles son los puntos clave|puntos principales|sintetiza|escribe un resumen|redacta un resumen"
    "|en resumen|haz un esquema",
    shapes="una|dos|tres|cuatro|cinco|frase|frases|palabra|palabras|punto|puntos|clave|breve|brevemente|corto|corta"
    "|párrafo|contenido|archivo|fichero|documento|texto|esencial|principal|principales|línea|líneas|resumen|página"
    "|tabla",
    amounts="cuánto|cuánta|cuántos|cuántas|cuándo|a qué hora|desde cuándo|hasta cuándo|en qué fecha|en qué año"
    "|qué año|qué fecha|qué edad|qué porcentaje|a cuántos|por cuánto|durante cuánto",
    numbers="dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|quince|veinte|treinta|cuarenta|cincuenta|cien"
    "|ciento|mil|millón|millones|docena|medio|media|mitad|tercio|cuarto|doble|ningún|ninguno|ninguna|cero|primero"
    "|primer|primera|lunes|martes|miércoles|jueves|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio|julio"
    "|agosto|septiembre|octubre|noviembre|diciembre|primavera|verano|otoño|invierno|mañana|mediodía|tarde|noche"
    "|medianoche|día|semana|mes|año|hora|minuto|cada|hoy|ayer|antes|después|hasta|durante|siempre|nunca|varios|varias"
    "|pronto|gratis|mensual|anual|diario|semanal|vez|veces|tras",
    irregular="vender vendió venta|comprar compra|pagar pago|perder pérdida|costar costo coste cuesta|empezar empieza",
)

# What words mean in questions about tables.

_MEANINGS: Final = {
    "wh:thing": "qué|cuál|cuáles|cuál es|cuál fue",
    "wh:person": "quién|quiénes",
    "wh:time": "cuándo|en qué fecha",
    "wh:place": "dónde",
    "wh:list": "lista|muestra|muéstrame|dame|enumera|nombra|muestra me|listar|indica",
    "count": "cuántos|cuántas|número de|cantidad de|el número de|la cantidad de",
    "much": "cuánto|cuánta",
    "rows": "filas|fila|registros|entradas|veces|frecuencia",
    "op:sum": "total|totales|suma|suma de|total de|en total|la suma de",
    "op:mean": "promedio|media|promedio de|media de|medio|en promedio|promedio del|media del",
    "op:median": "mediana|mediana de|mediana del",
    "op:stddev": "desviación estándar|desviación estándar de|desviación típica de",
    "op:min": "mínimo|mínima|mínimo de",
    "op:max": "máximo|máxima|máximo de",
    "distinct": "distintos|distintas|diferentes|únicos|únicas",
    "share": "porcentaje|porcentaje de|proporción|proporción de|participación|qué parte de|parte de|cuota de"
    "|porcentaje del|qué porcentaje de",
    "along:running": "acumulado|acumulada|total acumulado|total acumulado de|suma acumulada de",
    "along:change": "crecimiento|crecimiento de|variación porcentual|cambio porcentual|crecimiento del"
    "|variación porcentual de",
    "along:difference": "cambio|cambio de|variación|variación de|cambio en",
    "before_period:month": "de mes a mes|respecto al mes anterior|mes a mes|frente al mes anterior",
    "before_period:year": "de año en año|respecto al año anterior",
    "before_period:quarter": "respecto al trimestre anterior",
    "correlation": "correlación|correlación entre|correlación de",
    "difference": "diferencia|diferencia entre|diferencia de|diferencia en",
    "ratio": "relación|relación entre|razón entre|dividido por|ratio|ratio de",
    "per": "por",
    "most:desc": "más|la mayor cantidad de|el mayor número de",
    "most:asc": "menos|la menor cantidad de|el menor número de",
    "sup:desc": "mayor|mayores|más alto|más alta|más altos|el más alto|la más alta|más grande|el mayor|la mayor",
    "sup:asc": "menor|menores|más bajo|más baja|más pequeño|más pequeña|el menor|la menor",
    "implied:cost desc": "más caro|más cara",
    "implied:cost asc": "más barato|más barata",
    "implied:length desc": "más largo|más larga",
    "implied:length asc": "más corto|más corta",
    "implied:time desc": "más reciente",
    "implied:time asc": "más antiguo|más antigua",
    "top": "top|primeros|primeras|mejores",
    "bottom": "últimos|últimas|peores",
    "ordered": "por|según|en términos de",
    "more": "más",
    "less": "menos",
    "cmp:>": "más de|más que|mayor que|mayor a|mayores que|superior a|por encima de",
    "cmp:<": "menos de|menos que|menor que|menor a|menores que|inferior a|por debajo de",
    "cmp:>=": "al menos|como mínimo|por lo menos|no menos de",
    "cmp:<=": "como máximo|a lo sumo|no más de|hasta",
    "cmp:=": "exactamente|igual a",
    "post:>=": "o más|y más",
    "post:<=": "o menos|y menos",
    "time:<": "antes de|antes del",
    "time:>": "después de|después del|tras",
    "time:>=": "desde|a partir de|desde el|a partir del",
    "time:<=": "hasta|hasta el",
    "between": "entre",
    "from": "de|desde|del",
    "to": "a|hasta|al",
    "not": "no|excepto|sin|salvo|excluyendo|aparte de|distinto de|distintos de|que no sea|fuera de|menos",
    "only": "solo|sólo|solamente|únicamente",
    "comma": ",",
    "and": "y|e|así como|&",
    "or": "o|u",
    "than": "que",
    "versus": "frente a|comparado con|vs|contra",
    "by": "por|por cada|para cada|según|cada|de cada|agrupado por|desglosado por|en cada",
    "period:day": "día|días",
    "period:week": "semana|semanas",
    "period:month": "mes|meses",
    "period:quarter": "trimestre|trimestres",
    "period:year": "año|años",
    "period:weekday": "día de la semana|días de la semana",
    "each:day": "diario|diaria|diarios",
    "each:week": "semanal|semanales",
    "each:month": "mensual|mensuales",
    "each:quarter": "trimestral|trimestrales",
    "each:year": "anual|anuales",
    "weekend": "fin de semana|fines de semana",
    "empty": "vacío|vacía|vacíos|vacías|faltante|faltantes|falta|faltan",
    "no": "sin|ningún|ninguna|no tienen|no tiene",
    "filled": "no vacío|rellenado",
    "contains": "contiene|contienen|la palabra",
    "times_scale:1000": "mil",
    "times_scale:1000000": "millón|millones",
    "yesno": "es|son|hay|tiene|tienen|fue|fueron|hubo",
    "quarter:1": "t1|q1|primer trimestre",
    "quarter:2": "t2|q2|segundo trimestre",
    "quarter:3": "t3|q3|tercer trimestre",
    "quarter:4": "t4|q4|cuarto trimestre",
    "half:1": "primer semestre",
    "half:2": "segundo semestre",
}
_LIGHT: Final = """
el la los las lo un una unos unas de del en al a con para por que es son fue fueron era eran ser hay hubo ha han
tiene tienen tuvo tuvieron se su sus este esta estos estas ese esa mi mis nuestro nos me te yo favor todos todas
todo toda cada vendió vendieron vendido vendidos vendidas vendidas compró compraron comprado obtuvo proviene
provienen viene vienen generó valor valores columna tabla archivo datos calcula calcular cuyo cuya realizado qué
cuál cuáles dónde cuándo
"""
_LEVELS: Final = """
precio tasa ratio edad altura peso longitud temperatura nota media promedio rango duración distancia tiempo año
superficie población salario velocidad price rate age height weight score rating temperature
"""
_UNSUMMED: Final = """
unitario unit tasa edad temperatura nota rango año age rating temperature rate rank year
"""

SPANISH: Final[Vocabulary] = language(
    "es",
    _MEANINGS,
    _LIGHT,
    "",
    _LEVELS,
    _UNSUMMED,
    months="enero ene|febrero feb|marzo mar|abril abr|mayo may|junio jun|julio jul|agosto ago|septiembre sep sept"
    "|octubre oct|noviembre nov|diciembre dic",
    weekdays="lunes|martes|miércoles|jueves|viernes|sábado sábados|domingo domingos",
    numbers="cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce",
)
"""Spanish."""
