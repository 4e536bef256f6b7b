"""Questions in German, French and Spanish as people ask them: persons as rows, verbs that tie rows to values, units and
parts of headers; and those near by that ask for what no table has."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agentsvc_nb.agents.offline.tables.answers import values_of
from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Group, Plan
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.results import Result, ResultColumn
from tests.understanding.orders import numbers, read, texts


def _dates(name: str, first: str, last: str, empty: int = 0) -> ColumnProfile:
    return ColumnProfile(name, "date", empty=empty, distinct=90, smallest=first, largest=last)


def _many(name: str, distinct: int, *values: str, empty: int = 0) -> ColumnProfile:
    return ColumnProfile(name, "text", empty=empty, distinct=distinct, values=values, all_values=True)


def _yes_or_no(name: str) -> ColumnProfile:
    return ColumnProfile(name, "boolean", distinct=2, values=("False", "True"), all_values=True)


PERSONAL = TableProfile("stammdaten", "stammdaten.csv", 90, (
    numbers("Personalnr.", "100", "189", 90),
    _many("Nachname", 80, "Krause", "Yilmaz", "Brinkmann"),
    texts("Geschlecht", "m", "w"),
    texts("Abteilung", "Vertrieb", "Lager", "Buchhaltung"),
    texts("Standort", "Kiel", "Erfurt"),
    _dates("Eintrittsdatum", "2001-02-01", "2024-10-01"),
    numbers("Wochenstunden", "15", "40", 6),
    numbers("Monatsgehalt", "1800", "7400", 80, "€"),
    numbers("Resturlaub", "0", "21", 20),
    _yes_or_no("Teamleitung"),
    _yes_or_no("Führungskraft"),
))  # fmt: skip
SEJOURS = TableProfile("sejours_clinique", "sejours_clinique.csv", 200, (
    numbers("N° de séjour", "1", "900", 200),
    _dates("Date d'arrivée", "2024-01-02", "2024-12-28"),
    texts("Service", "Chirurgie", "Gériatrie", "Radiologie"),
    numbers("Âge", "1", "99", 80),
    texts("Sexe", "F", "H"),
    texts("Ville", "Metz", "Nancy"),
    texts("Mode de paiement", "Carte", "Chèque"),
    numbers("Durée (h)", "1", "300", 120, empty=4),
    numbers("Montant facturé", "20", "4000", 190),
    texts("Issue", "Domicile", "Transfert"),
))  # fmt: skip
REPARACIONES = TableProfile("reparaciones_taller", "reparaciones_taller.csv", 150, (
    numbers("Nº de orden", "1", "900", 150),
    texts("Cliente", "Ana Pardo", "Luis Soler", "Eva Rico"),
    texts("Ciudad", "Vigo", "Lugo"),
    texts("Tipo de vehículo", "Moto", "Furgoneta"),
    texts("Forma de pago", "Tarjeta", "Efectivo"),
    _dates("Fecha de recepción", "2024-01-02", "2024-12-20"),
    numbers("Horas", "1", "60", 30),
    numbers("Importe total", "20", "2500", 140, "€"),
    texts("Estado", "Terminada", "Anulada", "Abierta"),
    _many("Mecánico", 3, "Sara", "Iván", empty=9),
))  # fmt: skip
RECHNUNGEN = TableProfile("rechnungen_2024", "rechnungen_2024.csv", 140, (
    _many("Rechnungsnr.", 140, "RE-1", "RE-2"),
    _dates("Rechnungsdatum", "2024-01-02", "2024-12-28"),
    texts("Kunde", "Bäckerei Ott", "Kanzlei Voss"),
    texts("Bundesland", "Hessen", "Bayern"),
    texts("Zahlungsart", "Lastschrift", "Kreditkarte"),
    numbers("Menge", "1", "40", 30),
    numbers("Rechnungsbetrag", "12", "9000", 130, "€"),
    _dates("Geliefert am", "2024-01-09", "2025-01-20", empty=11),
    _yes_or_no("Storniert"),
))  # fmt: skip
CLIMA = TableProfile("estacion", "estacion.csv", 366, (
    _dates("Date", "2024-01-01", "2024-12-31"),
    numbers("Min temp (°C)", "-9", "22"),
    numbers("Max temp (°C)", "0", "39"),
    numbers("Rain (mm)", "0", "61"),
))  # fmt: skip

BUDGETS = TableProfile("budgets", "budgets.csv", 40, (
    texts("Abteilung", "Lager", "Einkauf"),
    texts("Kategorie", "Reisen", "Software"),
    numbers("Q2 budget", "100", "90000"),
))  # fmt: skip

READ = [
    # Persons, whom no header names, are the rows of a table about them.
    (PERSONAL, "Wie viele Beschäftigte haben wir in Kiel?", 'count(rows) where Standort = "Kiel"'),
    (PERSONAL, "Mitarbeiter je Abteilung", "count(rows) by Abteilung"),
    (PERSONAL, "Welche Abteilung hat die meisten Mitarbeiter?", "count(rows) by Abteilung top 1 by count(rows)"),
    (PERSONAL, "Wie viele Frauen arbeiten im Lager?", 'count(rows) where Geschlecht = "w" and Abteilung = "Lager"'),
    (SEJOURS, "Quel est l'âge moyen des patients en gériatrie ?", 'mean(Âge) where Service = "Gériatrie"'),
    (SEJOURS, "Combien d'hommes sont venus de Metz ?", 'count(rows) where Sexe = "H" and Ville = "Metz"'),
    (SEJOURS, "Combien de séjours concernent des femmes de plus de 75 ans ?",
     'count(rows) where Sexe = "F" and Âge > 75'),
    # A verb says again of which column a value or a bound is.
    (RECHNUNGEN, "Wie viele Rechnungen wurden per Lastschrift bezahlt?",
     'count(rows) where Zahlungsart = "Lastschrift"'),
    (SEJOURS, "Combien de séjours ont été réglés par chèque ?", 'count(rows) where [Mode de paiement] = "Chèque"'),
    (SEJOURS, "Quel pourcentage des séjours s'est terminé par un transfert ?",
     'count(rows where Issue = "Transfert") / count(rows) in %'),
    (SEJOURS, "Combien de séjours ont duré plus de 48 heures ?", "count(rows) where [Durée (h)] > 48"),
    (REPARACIONES, "¿Cuántas reparaciones se pagaron con tarjeta?", 'count(rows) where [Forma de pago] = "Tarjeta"'),
    (REPARACIONES, "¿Cuántas reparaciones se anularon?", 'count(rows) where Estado = "Anulada"'),
    (PERSONAL, "Wie viele sind vor dem 1. März 2010 eingetreten?", "count(rows) where Eintrittsdatum < 2010-03-01"),
    (PERSONAL, "Wann ist die Person mit der Personalnr. 141 eingetreten?",
     "Eintrittsdatum where Personalnr. = 141"),
    (RECHNUNGEN, "Wie viele Rechnungen sind noch nicht geliefert?", "count(rows) where Geliefert am is empty"),
    # What is counted is what was asked for, also where a header has its name, and whoever stands between.
    (RECHNUNGEN, "Anzahl Rechnungen pro Quartal", "count(rows) by quarter(Rechnungsdatum)"),
    (RECHNUNGEN, "Wie viele Rechnungen gingen an Kunden in Bayern?", 'count(rows) where Bundesland = "Bayern"'),
    (RECHNUNGEN, "Wie viele Rechnungen liegen über 2.000 €?", "count(rows) where Rechnungsbetrag > 2000"),
    (RECHNUNGEN, "Umsatz nach Bundesland", "sum(Rechnungsbetrag) by Bundesland"),
    (RECHNUNGEN, "Welcher Kunde hat am meisten bezahlt?",
     "sum(Rechnungsbetrag) by Kunde top 1 by sum(Rechnungsbetrag)"),
    (PERSONAL, "Wie viele Einstellungen gab es pro Jahr?", "count(rows) by year(Eintrittsdatum)"),
    # A header's words around an operation, its unit, its period.
    (SEJOURS, "Quel est le montant moyen facturé par service ?", "mean(Montant facturé) by Service"),
    (SEJOURS, "Quelle est la durée médiane en chirurgie, en heures ?",
     'median([Durée (h)]) where Service = "Chirurgie"'),
    (SEJOURS, "Quelle ville a facturé le plus au total ?",
     "sum(Montant facturé) by Ville top 1 by sum(Montant facturé)"),
    (REPARACIONES, "número medio de horas por tipo de vehículo", "mean(Horas) by Tipo de vehículo"),
    (PERSONAL, "Wie viele arbeiten weniger als 30 Stunden pro Woche?", "count(rows) where Wochenstunden < 30"),
    (PERSONAL, "Summe der Monatsgehälter nach Standort", "sum(Monatsgehalt) by Standort"),
    (PERSONAL, "Wie viele Tage Resturlaub hat das Lager insgesamt?", 'sum(Resturlaub) where Abteilung = "Lager"'),
    (PERSONAL, "Durchschnittliches Monatsgehalt ohne Teamleitung", "mean(Monatsgehalt) where not (Teamleitung = true)"),
    (PERSONAL, "Wie hoch ist das höchste Monatsgehalt?", "max(Monatsgehalt)"),
    (REPARACIONES, "¿Cuántas reparaciones no tienen mecánico asignado?", "count(rows) where Mecánico is empty"),
    (CLIMA, "temperatura mínima de enero", "min([Min temp (°C)]) where Date from 2024-01-01 to 2024-01-31"),
    (BUDGETS, "Wie hoch ist das Q2-Budget vom Einkauf?", 'sum(Q2 budget) where Abteilung = "Einkauf"'),
    (CLIMA, "¿Cuánto llovió en abril?", "sum([Rain (mm)]) where Date from 2024-04-01 to 2024-04-30"),
]  # fmt: skip
UNREAD = [
    (SEJOURS, "Combien vaut l'âge en gériatrie ?"),
    (CLIMA, "How much wind was there in mm?"),
    (CLIMA, "average max temp in mm"),
    (CLIMA, "durchschnittliche Temperatur im Mai"),
    (PERSONAL, "Wie viele Kunden haben wir in Kiel?"),
    (PERSONAL, "Wie viele Bewerber hatten wir in Erfurt?"),
    (PERSONAL, "Wie viele Mitarbeiter haben gekündigt?"),
    (PERSONAL, "Wie viele Mitarbeiter wurden befördert?"),
    (PERSONAL, "Durchschnittliches Jahresgehalt im Lager"),
    (SEJOURS, "Combien de médecins travaillent à Metz ?"),
    (SEJOURS, "Combien de patients sont décédés à Nancy ?"),
    (SEJOURS, "Combien de séjours ont été réglés ?"),
    (SEJOURS, "Combien de séjours ont été réglés à Metz ?"),
    (SEJOURS, "Combien de jours de pluie en chirurgie ?"),
    (REPARACIONES, "¿Cuántas reparaciones se pagaron en Vigo?"),
    (REPARACIONES, "¿Cuántas reparaciones se reclamaron?"),
    (REPARACIONES, "¿Cuántos vehículos tiene el taller?"),
    (REPARACIONES, "¿Cuántos empleados trabajan en Lugo?"),
    (RECHNUNGEN, "Wie viele Rechnungen wurden bezahlt?"),
    (RECHNUNGEN, "Wie viele Rechnungen wurden in Hessen bezahlt?"),
    (RECHNUNGEN, "Wie viele Rechnungen wurden angemahnt?"),
    (CLIMA, "mittlere Temperatur im Mai"),
]


def _read(question: str, table: TableProfile) -> str:
    return read(question, table).replace(f" over the rows of {table.path}", "")


def _plain(told: str) -> str:
    return told.replace("[", "").replace("]", "")


@pytest.mark.parametrize(("table", "question", "expected"), READ, ids=[question for _, question, _ in READ])
def test_what_people_say_every_day_is_read(table: TableProfile, question: str, expected: str) -> None:
    assert _plain(_read(question, table)) == _plain(expected)


@pytest.mark.parametrize(("table", "question"), UNREAD, ids=[question for _, question in UNREAD])
def test_what_no_table_has_is_no_plan(table: TableProfile, question: str) -> None:
    assert _read(question, table) == ""


def test_persons_are_rows_of_the_one_table_about_them() -> None:
    told = read("Wie viele Beschäftigte haben wir in Kiel?", RECHNUNGEN, PERSONAL, CLIMA)
    assert told == 'count(rows) where Standort = "Kiel" over the rows of stammdaten.csv'


def test_what_is_of_no_group_is_no_value() -> None:
    plan = Plan("orders", (Aggregate("count"),), (Group(Column("orders", "City")),))
    columns = (ResultColumn("City", "text"), ResultColumn("Rows", "number"))
    rows = (("Kiel", Decimal(4)), (None, Decimal(9)), ("Erfurt", Decimal(2)))
    assert values_of(QuestionReading(plan), Result(columns, rows, 15, 15)) == ["Kiel", "4", "Erfurt", "2"]
