"""Questions in German, French and Spanish are understood as those in English."""

from __future__ import annotations

import pytest

from tests.understanding.orders import read

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
