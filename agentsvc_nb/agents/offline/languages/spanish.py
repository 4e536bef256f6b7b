"""Spanish."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.languages.language import FollowingWords, Requests, Vocabulary, language

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
    prices="cuánto * cuesta|cuánto * cuestan|cuánto * costó|cuánto * costará|cuánto * paga|cuánto * pagan"
    "|cuánto * pagó|cuánto * pagamos|cuánto * pagar|cuánto * gana|cuánto * ganan|cuál es el precio"
    "|qué precio|cuál es el alquiler|qué alquiler|cuál es la tarifa",
    free="gratis|gratuito|gratuita|nada|sin coste",
    named="cómo se llama|cómo se llaman|cuál es el nombre|cuáles son los nombres",
    irregular="vender vendió venta|comprar compra|pagar pago|perder pérdida|costar costo coste cuesta|empezar empieza",
)

# What words mean in questions about tables.

_MEANINGS: Final = {
    "wh:thing": "qué|cuál|cuáles|cuál es|cuál fue|cuáles son|cuál ha sido",
    "wh:person": "quién|quiénes|a quién",
    "wh:time": "cuándo|en qué fecha|en qué día",
    "wh:place": "dónde",
    "wh:list": "lista|muestra|muéstrame|dame|enumera|nombra|muestra me|listar|indica|enséñame|lístame|dime|mostrar"
    "|lista de|dame una lista de|indícame|enumérame|enseña",
    "count": "cuántos|cuántas|número de|cantidad de|el número de|la cantidad de|número total de|cantidad total de"
    "|cuántos hay de|el número total de|cuántas hay de|número|recuento de|nº de",
    "much": "cuánto suman|cuánto suma|cuánto sumaron|cuánto|cuánta|a cuánto asciende|a cuánto ascienden|cuánto vale"
    "|a cuánto ascendió|a cuánto ascendieron",
    "rows": "filas|fila|registros|entradas|veces|frecuencia|frecuente|frecuentes|líneas",
    "op:sum": "importe total de|importe de|importe total de los|importe total de las|valor total de|valor total de los"
    "|valor total de las|total|totales|suma|suma de|total de|en total|la suma de|suma del|suma de la|suma de los"
    "|suma de las"
    "|total del|total de la|total de los|total de las|global|globales|sumados",
    "op:mean": "promedio|media|promedio de|media de|medio|en promedio|promedio del|media del|medios|medias"
    "|promedio de la|promedio de los|media de la|media de los|media de las|valor medio|de media|promedios"
    "|por término medio",
    "unweighted": "no ponderado|no ponderada|sin ponderar|simple|aritmética|aritmético",
    "op:median": "mediana|mediana de|mediana del|mediano|mediana de la|mediana de los|mediana de las|medianos|medianas",
    "op:stddev": "desviación estándar|desviación estándar de|desviación típica de|desviación estándar del"
    "|desviación estándar de la|desviación estándar de los|desviación típica",
    "op:min": "mínimo|mínima|mínimo de|mínimos|mínimas|valor mínimo de|mínimo del",
    "op:max": "máximo|máxima|máximo de|máximos|máximas|valor máximo de|máximo del",
    "distinct": "distintos|distintas|diferentes|únicos|únicas|distinto|diferente|único",
    "share": "porcentaje|porcentaje de|proporción|proporción de|participación|qué parte de|parte de|cuota de"
    "|porcentaje del|qué porcentaje de|porcentaje de los|porcentaje de las|porcentaje de la|qué porcentaje"
    "|qué proporción|proporción de los|proporción de las|proporción del|participación de|cuota del|qué parte de los"
    "|qué parte del|qué porcentaje del|qué porcentaje de los|qué porcentaje de las|porcentajes|peso porcentual"
    "|distribución porcentual|parte del",
    "along:running": "acumulado|acumulada|total acumulado|total acumulado de|suma acumulada de|acumulados|acumuladas"
    "|total acumulado del|total acumulado de los|suma acumulada|suma acumulada del|suma acumulada de los"
    "|acumulado de",
    "along:change": "crecimiento|crecimiento de|variación porcentual|cambio porcentual|crecimiento del"
    "|variación porcentual de|crecimiento de los|crecimiento de las|crecimiento de la|crecimiento porcentual"
    "|crecimiento porcentual de|variación porcentual del|variación porcentual de los|variación porcentual de las"
    "|cambio porcentual de|tasa de crecimiento|tasa de crecimiento de|crecieron|creció|variación en porcentaje"
    "|cambio en porcentaje",
    "along:difference": "cambio|cambio de|variación|variación de|cambio en|cambio de los|cambio del|cambios"
    "|variación del|variación de los|variación de las|cambiaron|cambió|variaron|varió|evolucionaron|evolucionó"
    "|han cambiado|ha cambiado|han evolucionado|ha evolucionado|cambio absoluto|aumento de|aumento",
    "before_period:month": "de mes a mes|respecto al mes anterior|mes a mes|frente al mes anterior"
    "|respecto del mes anterior|con respecto al mes anterior|comparado con el mes anterior"
    "|en comparación con el mes anterior|de un mes a otro|mes sobre mes|al mes anterior|frente al mes previo"
    "|con el mes anterior|sobre el mes anterior",
    "before_period:year": "de año en año|respecto al año anterior|con respecto al año anterior|frente al año anterior"
    "|comparado con el año anterior|de un año a otro|año a año|en comparación con el año anterior|interanual",
    "before_period:quarter": "respecto al trimestre anterior|con respecto al trimestre anterior"
    "|frente al trimestre anterior|de un trimestre a otro|comparado con el trimestre anterior",
    "correlation": "correlación|correlación entre|correlación de|correlación hay entre|correlacionados"
    "|correlacionadas|coeficiente de correlación|coeficiente de correlación entre|correlación existe entre"
    "|se correlacionan",
    "difference": "diferencia|diferencia entre|diferencia de|diferencia en|diferencia del|diferencia de los"
    "|diferencia en los|diferencia en el|diferencia hay entre|diferencia de las",
    "truth:yes": "sí|verdadero|yes|true",
    "truth:no": "falso|false",
    "rate:ctr": "ctr|tasa de clic|tasa de clics",
    "rate:cvr": "cvr|tasa de conversión",
    "rate:cpc": "cpc|coste por clic|costo por clic",
    "rate:cpa": "cpa|coste por adquisición|costo por adquisición|coste por conversión|costo por conversión",
    "rate:roas": "roas",
    "ratio": "/|÷|relación|relación entre|razón entre|dividido por|ratio|ratio de|cociente|cociente entre|cociente de"
    "|dividida por|divididos por|dividido entre|divididos entre|proporción entre|razón de",
    "per": "por",
    "most:desc": "más|la mayor cantidad de|el mayor número de|más cantidad de|mayor cantidad de|mayor número de"
    "|la mayoría de|con más frecuencia|mayores cantidades de",
    "most:asc": "menos|la menor cantidad de|el menor número de|menor cantidad de|menor número de|con menos frecuencia",
    "sup:desc": "mayor|mayores|más alto|más alta|más altos|el más alto|la más alta|más grande|el mayor|la mayor"
    "|más altas|más elevado|más elevada|más elevados|más elevadas|más grandes|mejor|los mayores|las mayores"
    "|los más altos|el mejor|la mejor|más fuerte",
    "sup:asc": "menor|menores|más bajo|más baja|más pequeño|más pequeña|el menor|la menor|más bajos|más bajas"
    "|más pequeños|más pequeñas|los menores|las menores|peor|el peor|la peor",
    "implied:cost desc": "más caro|más cara|más caros|más caras|más costoso|más costosa",
    "implied:cost asc": "más barato|más barata|más baratos|más baratas|menos caro|más económico",
    "implied:length desc": "más largo|más larga|más largos|más largas",
    "implied:length asc": "más corto|más corta|más cortos|más cortas",
    "implied:time desc": "más reciente|más recientes|último|última",
    "implied:time asc": "más antiguo|más antigua|más antiguos|más antiguas",
    "top": "top|primeros|primeras|mejores|primer|mayores",
    "bottom": "últimos|últimas|peores|menores",
    "ordered": "por|según|en términos de|ordenados por|ordenado por|clasificados por|en función de",
    "more": "más",
    "less": "menos",
    "cmp:>": "más de|más que|mayor que|mayor a|mayores que|superior a|por encima de|mayores a|superiores a|superan"
    "|supera|superaron|superó|superen|superan los|supera los|superan las|de más de|con más de|exceden|excede"
    "|excedan|superior al|mayor de|más alto que|>|arriba de",
    "cmp:<": "menos de|menos que|menor que|menor a|menores que|inferior a|por debajo de|menores a|inferiores a"
    "|de menos de|con menos de|inferior al|menor de|<|no llegan a|no llega a|abajo de",
    "cmp:>=": "al menos|como mínimo|por lo menos|no menos de|no inferior a|mayor o igual que|mayor o igual a"
    "|de al menos|de por lo menos|un mínimo de|mínimo|>=|≥|no menores de|no menor de",
    "cmp:<=": "como máximo|a lo sumo|no más de|hasta|menor o igual que|menor o igual a|un máximo de|máximo"
    "|de como máximo|<=|≤|no superior a|no mayores de|no mayor de|a lo más",
    "cmp:=": "exactamente|igual a|iguales a|precisamente|=|justo",
    "post:>=": "o más|y más|o mayor|como mínimo|por lo menos|al menos|en adelante|o posterior|o más tarde|+|o superior",
    "post:<=": "o menos|y menos|o menor|como máximo|a lo sumo|o anterior|o inferior|máximo",
    "time:<": "antes de|antes del|anteriores a|anterior a|anteriores al|anterior al|previos a",
    "time:>": "después de|después del|tras|posteriores a|posterior a|posteriores al|posterior al|después de la",
    "time:>=": "desde|a partir de|desde el|a partir del|a partir de el|desde la|a contar desde|desde principios de"
    "|desde inicios de|a partir de la",
    "time:<=": "hasta|hasta el|hasta finales de|hasta la|hasta fines de|hasta el final de",
    "between": "entre",
    "from": "de|desde|del",
    "to": "a|hasta|al|y el",
    "count:in": "en cuántos|en cuántas",
    "not:neither": "ni",
    "not": "!=|<>|≠"
    "|no|excepto|sin|salvo|excluyendo|aparte de|distinto de|distintos de|que no sea|fuera de|menos|excepto los"
    "|distintas de|distinta de|diferente de|diferentes de|diferente a|distinto a|distintos a|que no sean|que no son"
    "|que no es|exceptuando|a excepción de|con excepción de|a excepción del|con excepción del|sin contar"
    "|sin incluir|excluir|excluye|quitando|salvo los|no sea|aparte del|pero no",
    "only": "solo|sólo|solamente|únicamente|exclusivamente|únicos|nada más|sólo los|solo los",
    "comma": ",",
    "and": "y|e|así como|&",
    "or": "o|u|o bien|ni",
    "than": "que",
    "versus": "frente a|comparado con|vs|contra|comparada con|comparados con|respecto a|en comparación con|versus",
    "by": "por|por cada|para cada|según|cada|de cada|agrupado por|desglosado por|en cada|por cada uno de"
    "|para cada uno de|en función de|desglosados por|desglosada por|agrupados por|agrupadas por|separado por|a cada"
    "|según el|según la|dividido por cada",
    "period:day": "día|días",
    "period:week": "semana|semanas",
    "period:month": "mes|meses",
    "period:quarter": "trimestre|trimestres",
    "period:year": "año|años",
    "period:weekday": "día de la semana|días de la semana",
    "each:day": "diario|diaria|diarios|diarias|por días|día a día",
    "each:week": "semanal|semanales|por semanas|semana a semana",
    "each:month": "mensual|mensuales|mensualmente|por meses",
    "each:quarter": "trimestral|trimestrales|por trimestres",
    "each:year": "anual|anuales|por años|anualmente",
    "weekend": "fin de semana|fines de semana|los fines de semana",
    "empty": "no indicado|no indicada|no especificado|no especificada|no consta|sin indicar|no registrado|vacío"
    "|vacía|vacíos|vacías|faltante|faltantes|falta|faltan|vacío el|está vacío|está vacía|están vacíos"
    "|están vacías|sin valor|sin rellenar|sin especificar|desconocido|desconocida|no informado|valores faltantes"
    "|valores faltantes en|valores vacíos|nulo|nulos|le falta|les falta|le faltan",
    "no": "sin|ningún|ninguna|no tienen|no tiene|ninguno|no tenían|no tenía|no hay|sin ningún|sin ninguna|no llevan"
    "|no lleva|carecen de|no tuvieron|no tuvo",
    "filled": "indicado|indicada|indicados|indicadas|especificado|especificada|asignado|asignada|no vacío|rellenado"
    "|no vacía|no vacíos|rellenada|informado|con valor",
    "contains": "contiene|contienen|la palabra|contienen la palabra|contiene la palabra|con la palabra|incluye"
    "|incluyen",
    "times_scale:1000": "mil",
    "times_scale:1000000": "millón|millones",
    "yesno": "es|son|hay|tiene|tienen|fue|fueron|hubo",
    "quarter:1": "t1|q1|primer trimestre|1er trimestre|trimestre 1|1º trimestre|1 trimestre",
    "quarter:2": "t2|q2|segundo trimestre|2o trimestre|trimestre 2|2º trimestre|2 trimestre",
    "quarter:3": "t3|q3|tercer trimestre|3er trimestre|trimestre 3|3º trimestre|3 trimestre|tercero trimestre",
    "quarter:4": "t4|q4|cuarto trimestre|4o trimestre|trimestre 4|4º trimestre|4 trimestre|último trimestre",
    "half:1": "primer semestre|1er semestre|s1|primera mitad de|primera mitad del",
    "half:2": "segundo semestre|2o semestre|s2|segunda mitad de|segunda mitad del",
    "count_after": "cuántos son|cuántas son|cuántos hay|cuántas hay|cuántos fueron",
    "op:quartile1": "primer cuartil|cuartil inferior|cuartil 1|percentil 25",
    "op:quartile3": "tercer cuartil|cuartil superior|cuartil 3|percentil 75",
    "op:p90": "percentil 90",
    "op:p95": "percentil 95",
    "op:p99": "percentil 99",
    "op:p10": "percentil 10",
    "before_period:week": "respecto a la semana anterior|con respecto a la semana anterior|de una semana a otra"
    "|frente a la semana anterior|de semana en semana",
    "before_period:": "respecto al período anterior|respecto al periodo anterior|frente al período anterior"
    "|frente al periodo anterior",
    "implied:quantity desc": "más vendido|más vendida|más vendidos|más vendidas|se vendió más|se vende más"
    "|se vendieron más|más se vendió|más se vende|más se ha vendido|vendió más|compró más|pidió más|ha vendido más"
    "|ha comprado más|más comprado|más comprados|más pedido|vendió más unidades de",
    "implied:quantity asc": "menos vendido|menos vendida|menos vendidos|menos vendidas|se vendió menos|vendió menos"
    "|compró menos",
    "implied:spent desc": "pagó más|ha pagado más|gastó más|ha gastado más|facturó más|se facturó más|más facturó"
    "|más gastó|más ha gastado|aportó más|ingresó más|se ingresó más|más ingresó",
    "implied:pay desc": "gana más|ganan más|mejor pagado|mejor pagada|mejor pagados|más gana|cobra más|mejores pagados",
    "implied:pay asc": "gana menos|peor pagado|peor pagada|cobra menos",
    "implied:population desc": "más poblado|más poblada|más poblados|más pobladas",
    "implied:population asc": "menos poblado|menos poblados|menos poblada",
    "implied:weight desc": "más pesado|más pesada|más pesados",
    "implied:weight asc": "más ligero|más ligera|más ligeros|más liviano",
    "implied:age desc": "de mayor edad|más viejo|más vieja|más mayor",
    "implied:age asc": "más joven|más jóvenes|de menor edad",
    "implied:area desc": "más extenso|más extensa|más extensos",
    "implied:area asc": "menos extenso",
    "cmp_of:age >": "mayores de|mayor de",
    "cmp_of:age <": "menores de|menor de",
    "aged": "años|años de edad",
    "times_scale:1000000000": "mil millones",
    "times_sign": "multiplicado por|multiplicada por|multiplicados por",
    "light": "en todo el periodo|en todo el período|durante todo el periodo|durante todo el período|en el periodo"
    "|en el período|en la lista|de la lista|en la lista de|de la lista de|en el archivo|en la tabla|en general"
    "|en su conjunto|entre todos|de todos|de todas",
    "all": "todos los|todas las|de todos los|de todas las",
    "included": "inclusive|incluido|incluida",
    "in_percent": "en porcentaje|en porcentajes|en qué porcentaje|en tanto por ciento|en por ciento",
    "copula": "es|son|era|eran|fue|fueron|tiene|tienen|está|están|proviene|provienen|viene|vienen|corresponde",
    "among": "de entre|dentro de",
    "direction:desc": "en orden descendente|de mayor a menor|descendente|orden descendente",
    "direction:asc": "en orden ascendente|de menor a mayor|ascendente|orden ascendente",
    "quantile": "cuantil|percentil|cuantil de|percentil de",
    "commonest": "moda|moda de|valor más frecuente de|más frecuente|más común|más habitual|más frecuentes",
    "having": "usaron un|usaron una|utilizaron un|utilizaron una|con|con un|con una|tienen un|tienen una|tenían un"
    "|tenían una",
    "prep": "vía|por|sobre|contra",
    "compare": "compara|comparar|comparación|comparación de|comparación entre|compárame",
}
_LIGHT: Final = """
el la los las lo un una unos unas de del en al a con para por que es son fue fueron era eran ser hay hubo ha han tiene
tienen tuvo tuvieron se su sus este esta estos estas ese esa mi mis nuestro nos me yo favor todos todas todo toda cada
vendió vendieron vendido vendidos vendidas vendidas compró compraron comprado obtuvo proviene provienen viene vienen
generó valor valores columna tabla archivo datos calcula calcular cuyo cuya realizado qué cuál cuáles dónde cuándo
dime quiero quisiera saber puedes podrías puede podría hicieron hizo hacen hacemos hice realizaron realizó realizados
realizadas efectuaron registraron registrados registrado registradas registró están está estaban estaba estuvo
trabajan trabaja trabajó trabajaban viven vive aporta aportan aportó obtuvieron obtenido obtenidos consiguió
consiguieron logró produjo produjeron hemos sido había habían tenemos tengo tenían tenía existen existe corresponde
corresponden pertenece pertenecen representan representa vende venden vendemos compra compran cómo ver mostrar conocer
necesito gustaría hola gracias muéstrame procede proceden llegan llegaron ellos ellas él ella ello les le trajo
reciben recibió recibieron recibido generado generan genera generada generados hecho hechos hechas hechos encuentra
encuentran ubicado llama llaman sea sean será llevan lleva suponen supone nuestras nuestros nuestra aquellos aquellas
dio dieron da dan asciende ascendió ascienden vendimos distribución desglose participaron participó respondieron
respondió actualmente aproximadamente exactamente dispone disponen disponemos cuenta cuentan contamos figura figuran
constan consta recibimos recibido vendimos compramos utilizado utilizados utilizaron utilizó usaron usó usan usa
ofrecemos ofrece nosotros quedan queda
encuentre hayan haya habido estén asignado asignados asignadas incluidos listados
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
    articles="el la los las",
    contracted="de=del|a=al",
    numbers="cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce",
    ties="pagado pagados pagada pagadas pagaron pagó pagan paga abonado abonados abonaron=forma de pago,método de pago"
    "|suministra suministran suministró suministrados provee proveen abastece=proveedor"
    "|terminaron terminó terminado terminada acabaron acabó finalizaron=resultado,estado"
    "|contratados contratado contratadas contrataron incorporaron incorporó entraron ingresaron entró"
    "=fecha de contratación,fecha de ingreso,fecha de inicio,entrada"
    "|duró duraron duran=duración|llegó llegado llegados=canal,origen,llegada,procedencia"
    "|inscrito inscritos inscribieron inscribió apuntaron matriculados=fecha de inscripción,inscripción"
    "|practica practican practicó=actividad,deporte|eligió eligieron escogieron elegido contrataron=plan,tipo,tarifa"
    "|escrito escribió escritos=autor|habla hablan=idioma|guardado guardados almacenado almacenados almacenan=almacén"
    "|reservado reservados reservó reserva reservan=reserva,canal|atendidos atendió atendidas=servicio,departamento"
    "|gestiona gestionan gestionó lleva=responsable,gerente,vendedor|dirigido dirigió=director",
)
"""Spanish."""

# What goes on from the question before.

FOLLOWING: Final = FollowingWords(
    leads="y|y qué hay de|qué hay de|y qué tal|qué tal|y si|pero|ahora|entonces|también|ok|y ahora|lo mismo para"
    "|lo mismo con|lo mismo en|lo mismo|igual para"
    "|haz lo mismo para|haz lo mismo con|muéstralo|muestra eso|muéstrame eso",
    of_them="de ellos|de ellas|de estos|de estas|de esos|de esas|entre ellos|entre ellas",
    theirs="su|sus|ellos|ellas|estos|estas|esos|esas",
    instead="en su lugar|en cambio|en vez de eso",
    compares="compara|comparar|comparado|frente a|contra|diferencia",
    refers="en como un una el la los las lo eso esto esos resultado resultados tabla cifras muestra"
    " muestrame haz dibuja me nos"
    " por favor puedes de",
    best="mejor|mejores",
    worst="peor|peores",
)
