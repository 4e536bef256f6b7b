"""What headers are called in four languages: English, German, French, Spanish,
    divided by `|`; each word of
one place means the same as all in the other places of its line. What is indented continues a line."""

from __future__ import annotations

from typing import Final

NOUNS: Final = """
revenue, sales, turnover | umsatz, umsätze, erlös, erlöse, umsatzerlöse, umgesetzt, eingenommen
    | chiffre d'affaires, chiffres d'affaires, ca, revenu, revenus, recettes, ventes, encaissé, facturé
    | ingresos, ingreso, ventas, facturación, ingresamos, ingresó, facturamos, facturó
price | preis, preise, kostet, kosten, gekostet | prix, coûte, coûtent | precio, precios, cuesta, cuestan
publication year, year of publication, published, publication | erscheinungsjahr, erschienen, erschien
    | année de parution, année de publication, parution, paru, parue, parut, publié, publiée | año de publicación
station | station, messstation, wetterstation | station, station météo | estación
rain, precipitation | geregnet, regnete, regen | plu, pluie | llovió, llovido, lluvia
mobile app | mobile app, app | application mobile, appli mobile | aplicación móvil
spend | ausgegeben, ausgaben | dépensé, dépenses | gastado, gasto
order total, total, amount, total amount, invoice amount
    | rechnungsbetrag, gesamtbetrag, betrag, umsatz, umsätze, erlös, erlöse, umsatzes, ausgegeben
    | chiffre d'affaires, ventes, recettes, montant, montants, facture, factures, facturé, dépensé, coûté
    | ingresos, ventas, importe, facturación, facturado, facturó, ingresado, ingresamos, gastado, gastó
cost, costs, spend, expenses | ausgegeben, gaben aus, gekostet, kostete, kosteten
    | dépensé, dépensés, dépensées, coûté, coûtent, a coûté | gastado, gastó, gastamos, gastaron, costó, costaron
stock, units in stock | stück, einheiten, bestand | unités, pièces, stock | unidades, piezas, existencias
length of stay, duration | aufenthaltsdauer, verweildauer | durée de séjour, duré, ont duré, dura
    | duración de la estancia, duró, duraron, estancia
attendance | zuschauer, zuschauerzahl, besucherzahl | affluence, spectateurs | asistencia, espectadores, público
coupon code, promo code | gutscheincode, rabattcode, gutschein | code promo, bon de réduction
    | código promocional, código de descuento, cupón
order total, order value, order amount | bestellwert, bestellsumme, auftragswert
    | valeur des commandes, panier, panier moyen | valor del pedido, valor de los pedidos
account manager | kundenbetreuer, betreuer | responsable de compte, gestionnaire
    | gestor de cuenta, gestor, gestor de cuentas
postage, shipping | versandkosten, porto | frais de port, frais de livraison | gastos de envío, coste de envío
match, matches, game, games | spiel, spiele, spielen, partie, partien | match, matchs, rencontres
    | partido, partidos
goals, goal | tore, tor, treffer | buts, but | goles, gol
yellow cards | gelbe karten | cartons jaunes | tarjetas amarillas
red cards | rote karten | cartons rouges | tarjetas rojas
referee | schiedsrichter | arbitre | árbitro
matchday, round | spieltag | journée | jornada
loyalty points | treuepunkte | points de fidélité | puntos de fidelidad
respondent, respondents | befragte, befragten, teilnehmer, teilnehmern, teilnehmende
    | répondant, répondants, participant, participants, sondés | encuestado, encuestados, participante, participantes
colleague, colleagues | kollege, kollegen, kollegin, kolleginnen | collègue, collègues | colega, colegas, compañeros
staff, employees | belegschaft, personal, beschäftigten, angestellter | personnel, effectif | plantilla, personal
hospital | krankenhaus, klinik | hôpital, clinique | hospital, clínica
hotel | hotel | hôtel | hotel
club | verein, klub | club, association | club, asociación
library | bibliothek, bücherei | bibliothèque | biblioteca
stay, stays, visit, visits | aufenthalt, aufenthalte, besuch, besuche
    | séjour, séjours, passage, passages, visite, visites
    | estancia, estancias, visita, visitas
night, nights | nacht, nächte, nächten, übernachtung, übernachtungen | nuit, nuits, nuitées | noche, noches
wind | wind | vent | viento
humidity | feuchtigkeit, luftfeuchtigkeit | humidité | humedad
page, pages | seite, seiten | page, pages | página, páginas
copies, copy | exemplare, exemplar | exemplaires, exemplaire | ejemplares, ejemplar
loans, loan | ausleihen, ausleihe, leihen | prêts, prêt, emprunts | préstamos, préstamo
genre | genre | genre | género
plan | tarif, plan | formule, forfait, abonnement | plan, tarifa
deal, deals | abschluss, abschlüsse, geschäfte | affaire, affaires, contrats | negocio, negocios, operación, operaciones
owner | inhaber, zuständiger | propriétaire, responsable | propietario, responsable
stage | phase, stufe | étape, phase | etapa, fase
hire date, hired, entry date | eintritt, eintritte, einstellungen, eintrittsdatum | embauches | contrataciones
registration date, signup date, registration | anmeldung, anmeldungen, anmeldedatum, beitritte
    | inscription, inscriptions, adhésions | inscripción, inscripciones, altas
overtime | überstunden | heures supplémentaires | horas extra
insurance | versicherung | mutuelle, assurance | seguro
sale, sales | verkauf, verkäufe | vente, ventes | venta, ventas
amount | betrag, beträge | montant, montants | importe, importes, monto, montos
cost, costs, expenses, spend, spending, expenditure | kosten, ausgaben, aufwand, aufwendungen
    | coût, coûts, dépense, dépenses, frais | coste, costes, costo, costos, gasto, gastos
spend, ad spend | werbeausgaben, werbekosten | dépenses publicitaires
    | gasto publicitario, inversión, inversión publicitaria
profit, profits, earnings | gewinn, gewinne | bénéfice, bénéfices, profit | beneficio, beneficios, ganancia, ganancias
margin, margins | marge, margen | marge, marges | margen, márgenes
price, prices | preis, preise | prix, tarif, tarifs | precio, precios
price, prices, cost | kostet, kosten, gekostet, wie teuer | coûte, coûtent, coûté, vaut
    | cuesta, cuestan, costó, costaron, vale
unit price, price per unit | stückpreis, stückpreise, einzelpreis, einzelpreise | prix unitaire, prix unitaires
    | precio unitario, precios unitarios, precio por unidad
quantity, quantities, qty, units, units sold, pieces
    | menge, mengen, stück, stückzahl, stückzahlen, einheiten, verkaufte einheiten
    | quantité, quantités, unités, unité, pièces, qté | cantidad, cantidades, unidades, unidad, piezas
discount, discounts, rebate | rabatt, rabatte, nachlass | remise, remises, rabais, réduction
    | descuento, descuentos, rebaja
tax, taxes, vat | steuer, steuern, mehrwertsteuer, mwst | taxe, taxes, impôt, impôts, tva | impuesto, impuestos, iva
fee, fees | gebühr, gebühren | frais, commission | tarifa, tarifas, comisión
budget, budgets | budget, budgets, etat | budget, budgets | presupuesto, presupuestos
salary, salaries, wage, wages, pay | gehalt, gehälter, lohn, löhne | salaire, salaires, rémunération
    | salario, salarios, sueldo, sueldos
salary, wage, pay | verdient, verdienen, gehalt, lohn | gagne, gagnent, touche, touchent, salaire
    | gana, ganan, cobra, cobran, salario, sueldo
bonus | bonus, prämie | prime, primes | bono, bonificación, prima
order, orders | bestellung, bestellungen, auftrag, aufträge | commande, commandes | pedido, pedidos, orden, órdenes
purchase, purchases | kauf, käufe, einkauf, einkäufe | achat, achats | compra, compras
invoice, invoices, bill | rechnung, rechnungen | facture, factures | factura, facturas
payment, payments | zahlung, zahlungen | paiement, paiements, versement | pago, pagos
payment method, payment type, payment | zahlungsart, zahlungsarten, zahlungsmethode, zahlungsweise, bezahlart
    | mode de paiement, moyen de paiement, méthode de paiement, modes de paiement, moyens de paiement
    | forma de pago, formas de pago, método de pago, medio de pago
booking, bookings, reservation, reservations | buchung, buchungen, reservierung, reservierungen
    | réservation, réservations | reserva, reservas
delivery, deliveries, shipment, shipments, shipping | lieferung, lieferungen, versand
    | livraison, livraisons, expédition | entrega, entregas, envío, envíos
order date | bestelldatum, auftragsdatum | date de commande, date de la commande | fecha de pedido, fecha del pedido
delivery date, ship date | lieferdatum, versanddatum | date de livraison | fecha de entrega, fecha de envío
customer, customers, client, clients, buyer | kunde, kunden, kundin, kundinnen, käufer
    | client, clients, cliente, clientes, acheteur, acheteurs | cliente, clientes, comprador, compradores
supplier, suppliers, vendor | lieferant, lieferanten | fournisseur, fournisseurs | proveedor, proveedores
company, companies, firm | firma, firmen, unternehmen | entreprise, entreprises, société, sociétés
    | empresa, empresas, compañía
seller, sellers, sales rep, salesperson, sales person, rep, agent | verkäufer, verkäuferin, vertriebler, vertreter
    | vendeur, vendeurs, vendeuse, commercial, commerciaux | vendedor, vendedores, vendedora, comercial
employee, employees, staff, worker
    | mitarbeiter, mitarbeiterin, mitarbeiterinnen, mitarbeitern, angestellte, angestellten, beschäftigte
    | employé, employés, employée, employées, salarié, salariés, salariées, collaborateur, collaborateurs
    | empleado, empleados, empleada, empleadas, trabajador, trabajadores
manager, managers, supervisor | leiter, leiterin, vorgesetzter, manager, führungskraft
    | responsable, responsables, directeur, manager | gerente, gerentes, jefe, encargado, responsable
department, departments, dept | abteilung, abteilungen | département, départements, service, services
    | departamento, departamentos
position, job title, role, job | stelle, funktion, beruf | poste, fonction, emploi | puesto, cargo, función
hire date, hired, start date | einstellungsdatum, eintrittsdatum, eingestellt
    | date d'embauche, embauché, embauchée, embauchés, embauchées
    | fecha de contratación, fecha de ingreso, contratado, contratados, contratada, contratadas
vacation days, holidays | urlaubstage | jours de congé, jours de vacances, congés | días de vacaciones, vacaciones
hours, hour | stunden, stunde | heures, heure | horas, hora
minutes, minute | minuten, minute | minutes, minute | minutos, minuto
person, people | person, personen, leute | personne, personnes | persona, personas
student, students, pupil, pupils | student, studenten, schüler, schülerin, schülerinnen, studierende, studierenden
    | étudiant, étudiants, élève, élèves | estudiante, estudiantes, alumno, alumnos
teacher, teachers | lehrer, lehrerin, lehrkraft | professeur, professeurs, enseignant, enseignants
    | profesor, profesores, maestro
patient, patients | patient, patienten, patientin | patient, patients, patiente | paciente, pacientes
doctor, doctors | arzt, ärzte, ärztin | médecin, médecins, docteur | médico, médicos, doctor
guest, guests, visitor, visitors | gast, gäste, besucher | client, invité, visiteur, visiteurs
    | huésped, huéspedes, visitante, visitantes, invitado
member, members | mitglied, mitglieder, mitgliedern | membre, membres, adhérent, adhérents
    | miembro, miembros, socio, socios
user, users | nutzer, benutzer, anwender | utilisateur, utilisateurs | usuario, usuarios
driver, drivers | fahrer, fahrerin | conducteur, conducteurs, chauffeur | conductor, conductores
author, authors, writer | autor, autoren, autorin | auteur, auteurs | autor, autores, autora
player, players | spieler, spielerin, spielern | joueur, joueurs, joueuse | jugador, jugadores
team, teams, club | team, teams, mannschaft, mannschaften, verein | équipe, équipes, club | equipo, equipos, club
school, schools | schule, schulen | école, écoles | escuela, escuelas, colegio
course, courses, class, subject | kurs, kurse, fach, klasse | cours, classe, matière
    | curso, cursos, clase, asignatura
name, names, full name | name, namen, bezeichnung | nom, noms | nombre, nombres
first name | vorname, vornamen | prénom, prénoms | nombre de pila
last name, surname | nachname, nachnamen, familienname | nom de famille | apellido, apellidos
title, titles | titel | titre, titres | título, títulos
gender, sex | geschlecht | sexe, genre | sexo, género
age, ages | alter, wie alt | âge, âges | edad, edades
country, countries, nation | land, länder, ländern, staat, staaten | pays | país, países
city, cities, town | stadt, städte, städten | ville, villes | ciudad, ciudades
region, regions | region, regionen | région, régions | región, regiones, zona
state, province | bundesland, bundesländer | province, état | estado, provincia, provincias
district, districts, borough | bezirk, bezirke, stadtteil, stadtteile, landkreis
    | quartier, arrondissement, district | distrito, barrio, barrios
continent, continents | kontinent, kontinente, erdteil | continent, continents | continente, continentes
capital, capital city | hauptstadt, hauptstädte | capitale, capitales | capital, capitales
street, address | straße, adresse, anschrift | rue, adresse | calle, dirección
location, place, site, venue | standort, standorte, ort, orte | lieu, lieux, site, emplacement
    | lugar, lugares, ubicación, sede
store, stores, shop, shops, branch, branches, outlet
    | filiale, filialen, laden, läden, geschäft, geschäfte, shop, shops, niederlassung
    | magasin, magasins, boutique, boutiques, succursale, filiale, agence
    | tienda, tiendas, sucursal, sucursales, local
warehouse, warehouses | lager, lagerhaus | entrepôt, entrepôts, dépôt | almacén, almacenes
stock, inventory, on hand | bestand, lagerbestand, vorrat, vorräte | stock, stocks, inventaire
    | existencias, inventario, stock
product, products, item, items, article | produkt, produkte, produkten, artikel, artikeln, ware, waren
    | produit, produits, article, articles | producto, productos, artículo, artículos
product group, category, categories | warengruppe, warengruppen, produktgruppe, kategorie, kategorien
    | catégorie, catégories, gamme, famille | categoría, categorías, familia
type, types, kind | typ, typen, art, arten | type, types, genre, sorte | tipo, tipos, clase
brand, brands, make | marke, marken | marque, marques | marca, marcas
model, models | modell, modelle | modèle, modèles | modelo, modelos
colour, color, colors, colours | farbe, farben | couleur, couleurs | color, colores
group, groups | gruppe, gruppen | groupe, groupes | grupo, grupos
segment, segments | segment, segmente | segment, segments | segmento, segmentos
channel, channels | kanal, kanäle, vertriebskanal | canal, canaux | canal, canales
status | status, zustand | statut, état | estado
priority | priorität | priorité | prioridad
reason, reasons | grund, gründe | raison, raisons, motif | motivo, motivos, razón
comment, comments, note, notes, remark | bemerkung, bemerkungen, kommentar, kommentare, anmerkung, notiz, notizen
    | commentaire, commentaires, remarque, remarques | comentario, comentarios, nota, notas, observaciones
description | beschreibung | description | descripción
date, day | datum, tag | date, jour | fecha, día
time | zeit, uhrzeit | heure, temps | hora, tiempo
month, months | monat, monate | mois | mes, meses
year, years | jahr, jahre | année, années, an | año, años
week, weeks | woche, wochen | semaine, semaines | semana, semanas
weekday, day of week | wochentag, wochentage | jour de la semaine | día de la semana
quarter | quartal, quartale | trimestre, trimestres | trimestre, trimestres
season | saison, jahreszeit | saison, saisons | temporada, estación
duration, length | dauer, länge, wie lang, wie lange, dauert, dauern | durée, longueur, dure, durent
    | duración, longitud, dura, duran
distance | entfernung, distanz, strecke, entfernungen | distance, distances | distancia, distancias
speed | geschwindigkeit | vitesse | velocidad
weight | gewicht, wiegt, wiegen, wie schwer | poids, pèse, pèsent | peso, pesa, pesan
height, size | größe, höhe, wie groß | taille, hauteur | altura, tamaño, estatura
width | breite | largeur | ancho, anchura
depth | tiefe | profondeur | profundidad
area, surface | fläche | superficie, surface | superficie, área
population, inhabitants | bevölkerung, einwohner, einwohnerzahl, einwohnern | population, habitants
    | población, habitantes
temperature, temp | temperatur, temperaturen | température, températures | temperatura, temperaturas
rain, rainfall, precipitation | regen, niederschlag | pluie, précipitations | lluvia, precipitaciones, precipitación
rating, ratings | bewertung, bewertungen | note, notes, évaluation, évaluations
    | valoración, valoraciones, calificación, puntuación
score, scores, points | punkte, punktzahl, punkten | score, points, résultat | puntos, puntuación, puntaje, resultado
grade, grades, mark | note, noten, schulnote | note, notes | nota, notas, calificación
rank, ranking | rang, platz, platzierung | rang, classement, place | rango, posición, puesto
rate, rates | rate, quote, satz | taux | tasa, tipo
share | anteil | part | cuota
view, views | aufrufe, ansichten, views | vues | vistas, visualizaciones
visit, visits | besuch, besuche, besuchen | visite, visites | visita, visitas
click, clicks | klick, klicks | clic, clics | clic, clics
impressions, impr | impressionen, einblendungen | impressions | impresiones
conversion, conversions | konversion, konversionen, conversions | conversion, conversions | conversión, conversiones
campaign, campaigns | kampagne, kampagnen | campagne, campagnes | campaña, campañas
ad, ads, advertisement | anzeige, anzeigen, werbung | annonce, annonces, publicité, publicités | anuncio, anuncios
lead, leads | lead, leads, interessenten | prospect, prospects | cliente potencial, clientes potenciales
source | quelle, herkunft | source, origine, provenance | fuente, origen
device, devices | gerät, geräte | appareil, appareils | dispositivo, dispositivos
platform, platforms | plattform, plattformen | plateforme, plateformes | plataforma, plataformas
language, languages | sprache, sprachen | langue, langues | idioma, idiomas, lengua
project, projects | projekt, projekte | projet, projets | proyecto, proyectos
task, tasks | aufgabe, aufgaben | tâche, tâches | tarea, tareas
ticket, tickets | ticket, tickets | ticket, tickets | ticket, tickets, incidencia, incidencias
complaint, complaints | beschwerde, beschwerden, reklamation, reklamationen
    | réclamation, réclamations, plainte, plaintes | queja, quejas, reclamación, reclamaciones
return, returns | retoure, retouren, rückgabe, rückgaben, rücksendung, rücksendungen | retour, retours
    | devolución, devoluciones
contract, contracts | vertrag, verträge | contrat, contrats | contrato, contratos
book, books | buch, bücher, büchern | livre, livres | libro, libros
film, films, movie, movies | film, filme, filmen | film, films | película, películas
room, rooms | zimmer, raum, räume | chambre, chambres, salle, pièce | habitación, habitaciones, sala
car, cars, vehicle | auto, autos, fahrzeug, fahrzeuge | voiture, voitures, véhicule
    | coche, coches, vehículo, vehículos
trip, trips, journey | fahrt, fahrten, reise, reisen | trajet, trajets, voyage, voyages | viaje, viajes, trayecto
flight, flights | flug, flüge | vol, vols | vuelo, vuelos
meal, dish | gericht, speise | plat, repas | plato, comida
animal, animals | tier, tiere | animal, animaux | animal, animales
species | arten, spezies | espèce, espèces | especie, especies
event, events | veranstaltung, veranstaltungen, ereignis | événement, événements | evento, eventos
election, votes | stimmen | voix, votes, suffrages | votos
party | partei, parteien | parti, partis | partido, partidos
annual, yearly | jährlich, jährliche, jährlicher, jährliches | annuel, annuelle, annuels, annuelles | anual, anuales
monthly | monatlich, monatliche, monatlicher | mensuel, mensuelle, mensuels, mensuelles | mensual, mensuales
weekly | wöchentlich, wöchentliche | hebdomadaire, hebdomadaires | semanal, semanales
coupon, coupon code, promo code | gutschein, gutscheine, gutscheincode | code promo, code de réduction, bon, coupon
    | cupón, código de descuento, cupones
churn | kündigung, kündigungen, abwanderung | résiliation, résiliations | baja, bajas, cancelación
signup, signup date, signed up | anmeldung, anmeldedatum, angemeldet
    | inscription, inscrit, inscrits, date d'inscription
    | registro, fecha de registro, registrados, registraron
birth, birth year, born | geburt, geboren | naissance, né, nés, née, nées
    | nacimiento, nacido, nacidos, nacieron, nació
start, start date, started | begonnen, begannen, gestartet | commencé, commencés, débuté
    | empezaron, comenzaron, iniciadas, empezó
list price | listenpreis, listenpreise | prix catalogue, prix public | precio de lista, precio de catálogo
net | netto | net, nette, nets, nettes | neto, netos, neta, netas
gross | brutto | brut, brute, bruts, brutes | bruto, brutos, bruta, brutas
unit | einheit | unitaire, unitaires | unitario, unitarios, unitaria
subscription, subscriptions | abo, abos, abonnement, abonnements | abonnement, abonnements
    | suscripción, suscripciones
account, accounts | konto, konten | compte, comptes | cuenta, cuentas
plan, plans, target | plan, pläne, ziel, tarif, tarife | plan, plans, objectif, formule | plan, planes, objetivo
newsletter | newsletter | newsletter, lettre d'information | boletín
birth year, year of birth | geburtsjahr | année de naissance | año de nacimiento
birth date, date of birth | geburtsdatum | date de naissance | fecha de nacimiento
start date | startdatum, beginn | date de début, début | fecha de inicio, inicio
end date | enddatum, ende | date de fin | fecha de fin
review, reviews | rezension, rezensionen | avis, critique, critiques | reseña, reseñas, opinión
satisfaction | zufriedenheit | satisfaction | satisfacción
survey, responses, answers | umfrage, antworten | enquête, sondage, réponses | encuesta, respuestas
seats, seat | sitze, plätze | places, sièges | asientos, plazas
available | verfügbar | disponible | disponible
education | bildung, ausbildung | formation, éducation | educación, formación
experience | erfahrung, berufserfahrung | expérience | experiencia
value, values | wert, werte | valeur, valeurs | valor, valores
number | nummer, nr | numéro | número
email, e-mail, email address
    | e-mail, e-mails, email, emails, e-mail-adresse, e-mail-adressen, mailadresse, mailadressen
    | e-mail, e-mails, courriel, courriels, adresse e-mail, adresses e-mail
    | correo, correos, correo electrónico, correos electrónicos
total | gesamt, gesamtbetrag, summe | total | total
"""
STATES: Final = """
returned | retourniert, zurückgeschickt, zurückgesendet, zurückgegeben, retoure, retouren, rücksendung, rücksendungen
    | retourné, retournée, retournés, retournées, renvoyé, renvoyée, renvoyées
    | devuelto, devueltos, devuelta, devueltas
won | gewonnen, gewonnene, gewonnenen | gagné, gagnée, gagnés, gagnées, remporté, remportées
    | ganado, ganados, ganada, ganadas, ganamos
lost | verloren, verlorene, verlorenen | perdu, perdue, perdus, perdues | perdido, perdidos, perdida, perdidas, perdimos
paid | bezahlt, bezahlte, bezahlten, gezahlt | payé, payée, payés, payées, réglé, réglée, réglées
    | pagado, pagados, pagada, pagadas
unpaid | unbezahlt, unbezahlte, unbezahlten | impayé, impayée, impayés, impayées
    | impagado, impagados, impagada, impagadas
cancelled, canceled | storniert, gekündigt, gekündigte, gekündigten, stornierte, stornierten, abgesagt
    | résilié, résiliés, résiliées, annulé, annulée, annulés, annulées
    | cancelado, cancelados, cancelada, canceladas, anulado, anulados
delivered | geliefert, gelieferte, gelieferten, zugestellt | livré, livrée, livrés, livrées
    | entregado, entregados, entregada, entregadas, entregaron
shipped, sent | versandt, versendet, verschickt | expédié, expédiée, expédiés, expédiées, envoyé, envoyées
    | enviado, enviados, enviada, enviadas
open | offen, offene, offenen, offener | ouvert, ouverte, ouverts, ouvertes | abierto, abiertos, abierta, abiertas
closed | geschlossen, geschlossene, geschlossenen | fermé, fermée, fermés, fermées, clos, clôturé, clôturés
    | cerrado, cerrados, cerrada, cerradas
pending | ausstehend, ausstehende, ausstehenden | en attente | pendiente, pendientes
completed, complete, done, finished | abgeschlossen, abgeschlossene, abgeschlossenen, erledigt, fertig
    | terminé, terminée, terminés, terminées, achevé
    | completado, completados, completada, completadas, terminado, terminados
active | aktiv, aktive, aktiven | actif, active, actifs, actives | activo, activos, activa, activas
discontinued | eingestellt, ausgelaufen, auslaufend | arrêté, arrêtés, arrêtée, arrêtées, discontinué, discontinués
    | descatalogado, descatalogados, descatalogada, descatalogadas
inactive | inaktiv, inaktive, inaktiven | inactif, inactive, inactifs, inactives
    | inactivo, inactivos, inactiva, inactivas
overdue, late, delayed | überfällig, verspätet, verspätete, verspäteten | en retard
    | vencido, vencidos, retrasado, retrasados
approved | genehmigt, genehmigte, genehmigten | approuvé, approuvée, approuvés, approuvées
    | aprobado, aprobados, aprobada, aprobadas
rejected | abgelehnt, abgelehnte, abgelehnten | rejeté, rejetée, rejetés, rejetées, refusé, refusées
    | rechazado, rechazados, rechazada, rechazadas
remote | remote, homeoffice | à distance, télétravail | remoto, remota, remotos
new | neu, neue, neuen, neuer | nouveau, nouvelle, nouveaux, nouvelles | nuevo, nueva, nuevos, nuevas
used | gebraucht, gebrauchte, gebrauchten | d'occasion | usado, usados, usada, usadas
online | online | en ligne | en línea, online
"""
"""Of cells, too."""
