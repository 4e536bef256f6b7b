"""Questions in German, French and Spanish are understood as those in English."""

from __future__ import annotations

import pytest

from agentsvc_nb.agents.offline.tables.understanding import Understood, understand
from agentsvc_nb.documents.plans.profiles import TableProfile
from tests.understanding.foreign import BESTELLUNGEN, READ, SALES, STAFF, UNREAD
from tests.understanding.orders import numbers, read, texts

MARCH = "where Order Date from 2025-03-01 to 2025-03-31"
JUNE = "where Order Date > 2025-06-30"
ASKED = [
    ("Wie hoch ist der Umsatz insgesamt?", "sum(revenue)"),
    ("Umsatz nach Kanal", "sum(revenue) by Channel"),
    ("Umsatz im März", f"sum(revenue) {MARCH}"),
    ("Umsatz nach dem 30. Juni", f"sum(revenue) {JUNE}"),
    ("Umsatz ohne Tents", 'sum(revenue) where not (Product Category = "Tents")'),
    ("Welches Produkt hatte den höchsten Umsatz?", "sum(revenue) by Product Name top 1 by sum(revenue)"),
    ("Wie viele Bestellungen gab es aus Germany?", 'count(rows) where Country = "Germany"'),
    ("durchschnittlicher Umsatz pro Kanal", "mean(revenue) by Channel"),
    ("Anteil am Umsatz nach Kanal", "share in % of sum(revenue) by Channel"),
    ("top 3 Kunden nach Umsatz", "sum(revenue) by Customer top 3 by sum(revenue)"),
    ("Wie viele Bestellungen haben mindestens 3 Einheiten?", "count(rows) where Units >= 3"),
    ("total des ventes par canal", "sum(revenue) by Channel"),
    ("combien de commandes par pays", "count(rows) by Country"),
    ("ventes en mars", f"sum(revenue) {MARCH}"),
    ("ventes sans Tents", 'sum(revenue) where not (Product Category = "Tents")'),
    ("ventes après le 30 juin", f"sum(revenue) {JUNE}"),
    ("prix moyen par catégorie", "mean(price) by Product Category"),
    ("ingresos por canal", "sum(revenue) by Channel"),
    ("total de ingresos en marzo", f"sum(revenue) {MARCH}"),
    ("cuántos pedidos hay por país", "count(rows) by Country"),
    ("ingresos sin Tents", 'sum(revenue) where not (Product Category = "Tents")'),
    ("ingresos después del 30 de junio", f"sum(revenue) {JUNE}"),
    ("ingresos entre enero y marzo", "sum(revenue) where Order Date from 2025-01-01 to 2025-03-31"),
    ("Umsatz ohne Blorp", ""),
    ("ventes de blorp", ""),
    ("ingresos de blorp", ""),
]


@pytest.mark.parametrize(("question", "expected"), ASKED)
def test_the_plan_is_that_of_the_english_question(question: str, expected: str) -> None:
    assert read(question) == expected


def _read(question: str, table: TableProfile) -> str:
    told = read(question, table)
    for written in ("[", "]", f" over the rows of {table.path}"):
        told = told.replace(written, "")
    return told


@pytest.mark.parametrize(("table", "expected", "questions"), READ, ids=[f"{one.name}-{plan}" for one, plan, _ in READ])
def test_questions_of_three_languages_are_read(table: TableProfile, expected: str, questions: tuple[str, ...]) -> None:
    assert {question: _read(question, table) for question in questions} == dict.fromkeys(questions, expected)


@pytest.mark.parametrize("question", UNREAD)
def test_nothing_is_lost_in_another_language(question: str) -> None:
    assert _read(question, SALES) == ""


NEGATED = [
    (SALES, "¿Cuántas ciudades tienen más de 5 pedidos?", "count(rows) by City with count(rows) > 5"),
    (SALES, "Wie viele Bestellungen über 1.000 Euro Umsatz außer in Spanien?",
     'count(rows) where Revenue > 1000 and not (Country = "Spain")'),
    (SALES, "Umsatz bis einschließlich 31. März", "sum(Revenue) where Order Date <= 2025-03-31"),
    (SALES, "Umsatz am 3.4.2025", "sum(Revenue) where Order Date = 2025-04-03"),
    (SALES, "Wie viele Bestellungen ohne Möbel und ohne Rabatt?",
     'count(rows) where not (Category = "Furniture") and Discount is empty'),
    (STAFF, "Wie viele Männer verdienen mehr als 50.000 Euro?",
     'count(rows) where Gender = "male" and Salary > 50000'),
    (SALES, "chiffre d'affaires sans l'Allemagne ni la France",
     'sum(Revenue) where not (Country in ("Germany", "France"))'),
    (SALES, "combien de commandes ne dépassent pas 500 euros de chiffre d'affaires ?",
     "count(rows) where Revenue <= 500"),
    (SALES, "chiffre d'affaires du 03/04/2025", "sum(Revenue) where Order Date = 2025-04-03"),
    (SALES, "combien de commandes ont au plus 5 unités ?", "count(rows) where Quantity <= 5"),
    (STAFF, "employés de moins de 30 ans : combien ?", "count(rows) where Age < 30"),
    (SALES, "ingresos de todos los productos menos Desk y Chair",
     'sum(Revenue) where not (Product in ("Desk", "Chair"))'),
    (SALES, "¿cuántos pedidos hay con 3 unidades como máximo?", "count(rows) where Quantity <= 3"),
    (SALES, "Wie viele Bestellungen gab es zwischen dem 1. und dem 15. März?",
     "count(rows) where Order Date from 2025-03-01 to 2025-03-15"),
    (SALES, "Wie viel Prozent des Umsatzes entfallen auf Möbel?",
     'sum(Revenue where Category = "Furniture") / sum(Revenue) in %'),
    (SALES, "Die drei umsatzstärksten Produkte", "sum(Revenue) by Product top 3 by sum(Revenue)"),
    (SALES, "Was war unser umsatzstärkster Monat?", "sum(Revenue) by month(Order Date) top 1 by sum(Revenue)"),
    (SALES, "Compare le chiffre d'affaires de Paris et de Lyon",
     'sum(Revenue) by City where City in ("Paris", "Lyon")'),
    (STAFF, "pourcentage de femmes par département",
     'count(rows where Gender = "female") / count(rows) in % by Department'),
    (SALES, "part de chaque catégorie dans le chiffre d'affaires", "share in % of sum(Revenue) by Category"),
    (SALES, "Chiffre d'affaires minimum et maximum", "min(Revenue), max(Revenue)"),
    (STAFF, "Los 3 empleados mejor pagados", "Name, Salary top 3 by Salary"),
    (SALES, "¿cuántos pedidos no fueron devueltos?", "count(rows) where not (Returned = true)"),
    (STAFF, "empleados menores de 30 años: ¿cuántos?", "count(rows) where Age < 30"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "question", "expected"), NEGATED)
def test_bounds_and_negations_are_kept(table: TableProfile, question: str, expected: str) -> None:
    assert _read(question, table) == expected


def test_what_is_said_in_another_language_than_the_header_is_told() -> None:
    found = understand("Umsatz in Deutschland", [SALES])
    assert isinstance(found, Understood)
    assert found.told == ("umsatz was read as the column Revenue.", "deutschland was read as Germany.")


def test_an_exact_header_wins_over_a_translated_one() -> None:
    table = TableProfile("t", "t.csv", 9, (numbers("Umsatz", "1", "9"), numbers("Revenue", "1", "9")))
    assert _read("Umsatz insgesamt", table) == "sum(Umsatz)"
    assert _read("total revenue", table) == "sum(Revenue)"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("total revenue by customer", "sum(Umsatz) by Kundenname"),
        ("How many orders came from Austria?", 'count(rows) where Land = "Österreich"'),
        ("chiffre d'affaires par produit", "sum(Umsatz) by Produkt"),
        ("¿Cuántos pedidos hay de Suiza?", 'count(rows) where Land = "Schweiz"'),
    ],
)
def test_headers_are_found_from_another_language(question: str, expected: str) -> None:
    assert _read(question, BESTELLUNGEN) == expected


def test_a_short_word_is_no_code() -> None:
    codes = TableProfile(
        "t", "t.csv", 9, (texts("Account", "A", "B"), texts("Country", "DE", "FR"), numbers("MRR", "1", "9"))
    )
    assert _read("MRR moyen de B", codes) == 'mean(MRR) where Account = "B"'
    assert _read("MRR moyen de A", codes) != "mean(MRR)"
    assert _read("MRR moyen DE", codes) == 'mean(MRR) where Country = "DE"'
