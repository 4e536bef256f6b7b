"""What values of cells are called in four languages, written as in `headers`."""

from __future__ import annotations

from typing import Final

VALUES: Final = """
german | deutsch | allemand | alemán
french | französisch | français | francés
english | englisch | anglais | inglés
spanish | spanisch | espagnol | español
italian | italienisch | italien | italiano
portuguese | portugiesisch | portugais | portugués
dutch | niederländisch | néerlandais | neerlandés
yes | ja | oui | sí
female, women, woman | weiblich, frau, frauen | femme, femmes, féminin | mujer, mujeres, femenino
male, men, man | männlich, mann, männer, männern | homme, hommes, masculin | hombre, hombres, masculino
high | hoch, hohe, hohen, hoher | haute, élevée, élevé | alta, alto
medium | mittel, mittlere, mittlerer | moyenne, moyen | media, medio
low | niedrig, niedrige, niedriger, niedrigen | basse, faible, bas | baja, bajo
small | klein, kleine, kleinen | petit, petite, petits | pequeño, pequeña
large, big | groß, große, großen | grand, grande, grands | grande, grandes
card, credit card | karte, kreditkarte, mit karte bezahlt, mit karte bezahlte, per karte bezahlt
    | carte, carte bancaire, carte de crédit, payé par carte, payée par carte, payés par carte, payées par carte
    | tarjeta, tarjeta de crédito, pagado con tarjeta, pagados con tarjeta, pagadas con tarjeta
cash | bar, bargeld, barzahlung, barzahlungen, bar bezahlt, bar bezahlte, bar bezahlten, in bar bezahlt
    | espèces, liquide, comptant, payé en espèces, payée en espèces, payés en espèces, payées en espèces
    | efectivo, pagado en efectivo, pagados en efectivo, pagada en efectivo, pagadas en efectivo
gift card | geschenkkarte, geschenkgutschein | carte cadeau | tarjeta regalo, tarjeta de regalo
invoice | rechnung | facture, sur facture | factura
bank transfer, transfer | überweisung, banküberweisung | virement, virement bancaire
    | transferencia, transferencia bancaria
direct debit | lastschrift | prélèvement | domiciliación
email, e-mail | e-mail, mail | e-mail, courriel, mail | correo, correo electrónico
search | suche | recherche | búsqueda
phone, telephone | telefon, handy, handys, telefone | téléphone, téléphones | teléfono, teléfonos
store, shop | laden, filiale | magasin, boutique | tienda
morning | morgen, vormittag | matin | mañana
evening | abend | soir | noche
red | rot, rote, roten | rouge, rouges | rojo, roja, rojos
blue | blau, blaue, blauen | bleu, bleue, bleus | azul, azules
green | grün, grüne, grünen | vert, verte, verts | verde, verdes
yellow | gelb, gelbe, gelben | jaune, jaunes | amarillo, amarilla
black | schwarz, schwarze, schwarzen | noir, noire, noirs | negro, negra, negros
white | weiß, weiße, weißen | blanc, blanche, blancs | blanco, blanca, blancos
grey, gray | grau, graue, grauen | gris, grise | gris, grises
brown | braun, braune, braunen | marron, brun | marrón
pink | rosa, pink | rose | rosa
orange | orange | orange | naranja
electronics | elektronik | électronique | electrónica
furniture | möbel, möbeln | meuble, meubles, mobilier | mueble, muebles
clothing, clothes, apparel | kleidung, bekleidung | vêtement, vêtements | ropa
shoes, shoe | schuhe, schuhen, schuh | chaussures, chaussure | zapatos, calzado
toys, toy | spielzeug, spielwaren | jouets, jouet | juguetes, juguete
books, book | bücher, büchern, buch | livres, livre | libros, libro
food | lebensmittel, essen | alimentation, nourriture, aliments | alimentos, comida, alimentación
drinks, beverages | getränke, getränken | boissons, boisson | bebidas, bebida
sports, sport | sport | sport, sports | deporte, deportes
garden | garten | jardin | jardín
kitchen | küche | cuisine | cocina
household, home | haushalt | maison, ménage | hogar
accessories | zubehör, accessoires | accessoires | accesorios
chair, chairs | stuhl, stühle, stühlen | chaise, chaises | silla, sillas
table, tables | tisch, tische, tischen | table, tables | mesa, mesas
desk, desks | schreibtisch, schreibtische | bureau, bureaux | escritorio, escritorios
lamp, lamps | lampe, lampen | lampe, lampes | lámpara, lámparas
coffee | kaffee | café | café
tea | tee | thé | té
water | wasser | eau | agua
milk | milch | lait | leche
bread | brot | pain | pan
fruit | obst, früchte | fruits, fruit | fruta, frutas
vegetables | gemüse | légumes | verduras
bike, bicycle, bikes | fahrrad, fahrräder, rad | vélo, vélos | bicicleta, bicicletas
car, cars | auto, autos, pkw | voiture, voitures | coche, coches
train | zug, bahn | train | tren
full-time, full time | vollzeit | temps plein, à temps plein | tiempo completo, a tiempo completo, jornada completa
part-time, part time | teilzeit | temps partiel, à temps partiel | tiempo parcial, a tiempo parcial, media jornada
annual, yearly | jährlich, jährliche, jährlichen | annuel, annuelle, annuels, annuelles | anual, anuales
monthly | monatlich, monatliche, monatlichen | mensuel, mensuelle, mensuels, mensuelles | mensual, mensuales
trial | probe, testphase, probezeit | essai, essais | prueba, pruebas
private | privat | privé, particulier, particuliers | privado, particular
dog, dogs | hund, hunde | chien, chiens | perro, perros
cat, cats | katze, katzen | chat, chats | gato, gatos
sales | vertrieb, verkauf | ventes, commercial | ventas
finance | finanzen, finanzabteilung | finance, finances | finanzas
human resources, hr | personal, personalabteilung | ressources humaines, rh | recursos humanos, rrhh
it | it, edv | it, informatique | it, informática
production | produktion, fertigung | production | producción
purchasing | einkauf | achats | compras
support, customer service | support, kundendienst, kundenservice | support, service client
    | soporte, atención al cliente
logistics | logistik | logistique | logística
management | geschäftsführung, management | direction | dirección
monday | montag | lundi | lunes
tuesday | dienstag | mardi | martes
wednesday | mittwoch | mercredi | miércoles
thursday | donnerstag | jeudi | jueves
friday | freitag | vendredi | viernes
saturday | samstag, sonnabend | samedi | sábado
sunday | sonntag | dimanche | domingo
january, jan | januar, jan | janvier | enero
february, feb | februar, feb | février | febrero
march, mar | märz | mars | marzo
april, apr | april, apr | avril | abril
may | mai | mai | mayo
june, jun | juni, jun | juin | junio
july, jul | juli, jul | juillet | julio
august, aug | august, aug | août | agosto
september, sep | september, sep | septembre | septiembre
october, oct | oktober, okt | octobre | octubre
november, nov | november, nov | novembre | noviembre
december, dec | dezember, dez | décembre | diciembre
spring | frühling, frühjahr | printemps | primavera
summer | sommer | été | verano
autumn, fall | herbst | automne | otoño
winter | winter | hiver | invierno
north | nord, norden | nord | norte
south | süd, süden | sud | sur
east | ost, osten | est | este
west | west, westen | ouest | oeste
europe | europa | europe | europa
asia | asien | asie | asia
africa | afrika | afrique | áfrica
america | amerika | amérique | américa
north america | nordamerika | amérique du nord | norteamérica, américa del norte
south america | südamerika | amérique du sud | sudamérica, américa del sur
oceania | ozeanien | océanie | oceanía
germany | deutschland, deutsche, deutschen, deutscher | allemagne, allemand, allemande, allemands, allemandes
    | alemania, alemán, alemana, alemanes, alemanas
austria | österreich, österreichische, österreichischen, österreichischer
    | autriche, autrichien, autrichienne, autrichiens, autrichiennes | austria, austriaco, austriaca, austriacos
switzerland | schweiz, schweizer, schweizerische, schweizerischen | suisse, suisses
    | suiza, suizo, suiza, suizos, suizas
france | frankreich, französische, französischen, französischer | france, français, française, françaises
    | francia, francés, francesa, franceses, francesas
spain | spanien, spanische, spanischen, spanischer | espagne, espagnol, espagnole, espagnols, espagnoles
    | españa, español, española, españoles, españolas
italy | italien, italienische, italienischen, italienischer | italie, italien, italienne, italiens, italiennes
    | italia, italiano, italiana, italianos, italianas
portugal | portugal, portugiesische, portugiesischen | portugal, portugais, portugaise, portugaises
    | portugal, portugués, portuguesa, portugueses, portuguesas
netherlands, the netherlands | niederlande, niederlanden, holland, niederländische, niederländischen, holländische
    | pays-bas, hollande, néerlandais, néerlandaise, néerlandaises
    | países bajos, holanda, neerlandés, holandés, holandeses
belgium | belgien, belgische, belgischen | belgique, belge, belges | bélgica, belga, belgas
luxembourg | luxemburg | luxembourg | luxemburgo
united kingdom, uk, great britain | vereinigtes königreich, großbritannien | royaume-uni, grande-bretagne
    | reino unido, gran bretaña
england | england | angleterre | inglaterra
ireland | irland, irische, irischen | irlande, irlandais, irlandaise | irlanda, irlandés, irlandeses
denmark | dänemark, dänische, dänischen | danemark, danois, danoise | dinamarca, danés, daneses
sweden | schweden, schwedische, schwedischen | suède, suédois, suédoise | suecia, sueco, suecos
norway | norwegen, norwegische, norwegischen | norvège, norvégien, norvégiens | noruega, noruego, noruegos
finland | finnland | finlande | finlandia
poland | polen, polnische, polnischen | pologne, polonais, polonaise, polonaises | polonia, polaco, polaca, polacos
czech republic, czechia | tschechien | république tchèque, tchéquie | república checa, chequia
slovakia | slowakei | slovaquie | eslovaquia
hungary | ungarn | hongrie | hungría
romania | rumänien | roumanie | rumanía
bulgaria | bulgarien | bulgarie | bulgaria
greece | griechenland | grèce | grecia
croatia | kroatien | croatie | croacia
slovenia | slowenien | slovénie | eslovenia
turkey | türkei | turquie | turquía
russia | russland | russie | rusia
ukraine | ukraine | ukraine | ucrania
united states, usa, united states of america | vereinigte staaten, usa | états-unis, usa | estados unidos, usa, eeuu
canada | kanada | canada | canadá
mexico | mexiko | mexique | méxico
brazil | brasilien, brasilianische | brésil, brésilien, brésiliens | brasil, brasileño, brasileños
argentina | argentinien | argentine | argentina
chile | chile | chili | chile
colombia | kolumbien | colombie | colombia
peru | peru | pérou | perú
japan | japan, japanische, japanischen | japon, japonais, japonaise | japón, japonés, japoneses
china | china, chinesische, chinesischen | chine, chinois, chinoise | china, chino, chinos
india | indien | inde | india
south korea | südkorea | corée du sud | corea del sur
australia | australien | australie | australia
new zealand | neuseeland | nouvelle-zélande | nueva zelanda
egypt | ägypten | égypte | egipto
morocco | marokko | maroc | marruecos
south africa | südafrika | afrique du sud | sudáfrica
nigeria | nigeria | nigéria | nigeria
kenya | kenia | kenya | kenia
israel | israel | israël | israel
munich | münchen | munich | múnich
cologne | köln | cologne | colonia
nuremberg | nürnberg | nuremberg | núremberg
hanover | hannover | hanovre | hannover
hamburg | hamburg | hambourg | hamburgo
berlin | berlin | berlin | berlín
frankfurt | frankfurt | francfort | fráncfort
vienna | wien | vienne | viena
zurich | zürich | zurich | zúrich
geneva | genf | genève | ginebra
basel | basel | bâle | basilea
paris | paris | paris | parís
marseille | marseille | marseille | marsella
strasbourg | straßburg | strasbourg | estrasburgo
lyon | lyon | lyon | lyon
madrid | madrid | madrid | madrid
barcelona | barcelona | barcelone | barcelona
seville | sevilla | séville | sevilla
london | london | londres | londres
rome | rom | rome | roma
milan | mailand | milan | milán
naples | neapel | naples | nápoles
florence | florenz | florence | florencia
venice | venedig | venise | venecia
lisbon | lissabon | lisbonne | lisboa
brussels | brüssel | bruxelles | bruselas
antwerp | antwerpen | anvers | amberes
copenhagen | kopenhagen | copenhague | copenhague
stockholm | stockholm | stockholm | estocolmo
warsaw | warschau | varsovie | varsovia
prague | prag | prague | praga
athens | athen | athènes | atenas
moscow | moskau | moscou | moscú
tokyo | tokio | tokyo | tokio
beijing | peking | pékin | pekín
new york | new york | new york | nueva york
"""
