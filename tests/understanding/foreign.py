"""Questions in German, French and Spanish about tables in English and in their own language, and how they are read."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, texts


def _dates(name: str, first: str, last: str) -> ColumnProfile:
    return ColumnProfile(name, "date", distinct=90, smallest=first, largest=last)


def _many(name: str, distinct: int, *values: str, empty: int = 0) -> ColumnProfile:
    return ColumnProfile(name, "text", empty=empty, distinct=distinct, values=values, all_values=True)


def _yes_or_no(name: str) -> ColumnProfile:
    return ColumnProfile(name, "boolean", distinct=2, values=("False", "True"), all_values=True)


SALES: Final = TableProfile("sales", "sales.csv", 200, (
    numbers("Order ID", "1001", "1200", 200),
    _dates("Order Date", "2025-01-02", "2025-12-30"),
    texts("City", "Berlin", "Munich", "Paris", "Lyon", "Madrid", "Vienna"),
    texts("Country", "Germany", "France", "Spain", "Austria"),
    texts("Product", "Laptop", "Phone", "Desk", "Chair", "Lamp"),
    texts("Category", "Electronics", "Furniture"),
    numbers("Quantity", "1", "40", 30),
    numbers("Unit Price", "12", "900", 5, "€"),
    numbers("Revenue", "12", "9000", 180, "€"),
    numbers("Discount", "0.05", "0.3", 6, "%", empty=30),
    texts("Payment Method", "Card", "Cash", "Invoice"),
    _yes_or_no("Returned"),
))  # fmt: skip
STAFF: Final = TableProfile("employees", "employees.csv", 60, (
    _many("Name", 60, "Anna Weber", "Luis Gomez", "Claire Petit", "Tom Brown"),
    texts("Department", "Sales", "Marketing", "IT", "Finance"),
    texts("Gender", "female", "male"),
    numbers("Salary", "28000", "98000", 50, "€"),
    numbers("Age", "21", "64", 35),
    _dates("Hire Date", "2015-02-01", "2024-11-15"),
    texts("Location", "Berlin", "Vienna", "Paris"),
    numbers("Vacation Days", "20", "30", 9),
))  # fmt: skip
COUNTRIES: Final = TableProfile("countries", "countries.csv", 40, (
    _many("Country", 40, "Germany", "France", "Spain", "Italy", "Poland", "Brazil", "Japan"),
    texts("Continent", "Europe", "Asia", "South America"),
    _many("Capital", 40, "Berlin", "Paris", "Madrid", "Rome", "Warsaw", "Brasilia", "Tokyo"),
    numbers("Population", "500000", "120000000", 40),
    numbers("Area", "300", "8000000", 40, "km²"),
))  # fmt: skip
BESTELLUNGEN: Final = TableProfile("bestellungen", "bestellungen.csv", 150, (
    numbers("Bestellnummer", "5001", "5150", 150),
    _dates("Bestelldatum", "2025-01-03", "2025-12-29"),
    texts("Kundenname", "Bäckerei Huber", "Café Linde", "Hotel Krone", "Schule Nord"),
    texts("Land", "Deutschland", "Österreich", "Schweiz"),
    texts("Produkt", "Kaffee", "Tee", "Kakao"),
    texts("Warengruppe", "Getränke", "Zubehör"),
    numbers("Menge", "1", "80", 40),
    numbers("Einzelpreis", "2", "40", 3, "€"),
    numbers("Umsatz", "5", "2500", 140, "€"),
    _many("Bemerkung", 3, "eilig", "Geschenk", "Abholung", empty=100),
    _yes_or_no("Bezahlt"),
))  # fmt: skip
VENTES: Final = TableProfile("ventes", "ventes.csv", 150, (
    numbers("Numéro de commande", "5001", "5150", 150),
    _dates("Date de vente", "2025-01-03", "2025-12-29"),
    texts("Magasin", "Paris", "Lyon", "Lille"),
    texts("Vendeur", "Julie", "Marc", "Sophie"),
    texts("Produit", "Café", "Thé", "Cacao"),
    texts("Catégorie", "Boissons", "Accessoires"),
    numbers("Quantité", "1", "80", 40),
    numbers("Prix unitaire", "2", "40", 3, "€"),
    numbers("Montant", "5", "2500", 140, "€"),
    numbers("Remise", "0.05", "0.3", 6, "%", empty=60),
))  # fmt: skip
PEDIDOS: Final = TableProfile("pedidos", "pedidos.csv", 150, (
    numbers("Número de pedido", "5001", "5150", 150),
    _dates("Fecha", "2025-01-03", "2025-12-29"),
    texts("Cliente", "Panadería Sol", "Hotel Mar", "Bar Luna"),
    texts("Ciudad", "Madrid", "Sevilla", "Bilbao"),
    texts("Producto", "Café", "Té", "Cacao"),
    numbers("Cantidad", "1", "80", 40),
    numbers("Precio", "2", "40", 3, "€"),
    numbers("Importe", "5", "2500", 140, "€"),
    texts("Estado", "pagado", "pendiente", "cancelado"),
    _many("Nota", 3, "urgente", "regalo", "recoger", empty=100),
))  # fmt: skip

READ: Final[tuple[tuple[TableProfile, str, tuple[str, ...]], ...]] = (
    (
        SALES,
        "sum(Revenue)",
        (
            "Wie hoch war der Gesamtumsatz?",
            "Quel est le chiffre d'affaires total ?",
            "¿Cuáles son los ingresos totales?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) where Order Date from 2025-03-01 to 2025-03-31",
        (
            "Wie hoch war der Umsatz im März?",
            "Quel était le chiffre d'affaires en mars ?",
            "¿Cuántos ingresos hubo en marzo?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by Country",
        (
            "Bitte zeige mir den Umsatz pro Land",
            "Montre-moi le chiffre d'affaires par pays",
            "Dime los ingresos por país",
        ),
    ),
    (
        SALES,
        'sum(Revenue) where Country = "Germany"',
        (
            "Wie viel Umsatz haben wir in Deutschland gemacht?",
            "Combien avons-nous vendu en Allemagne, en chiffre d'affaires ?",
            "¿Cuánto ingresamos en Alemania?",
        ),
    ),
    (
        SALES,
        'sum(Revenue) where Country in ("Germany", "France")',
        (
            "Umsatz in Deutschland und Frankreich",
            "CA en Allemagne et en France",
            "Ingresos en Alemania y Francia",
        ),
    ),
    (
        SALES,
        'sum(Revenue) where not (Country = "Spain")',
        (
            "Umsatz aller Länder außer Spanien",
            "Chiffre d'affaires de tous les pays sauf l'Espagne",
            "Ingresos de todos los países excepto España",
        ),
    ),
    (
        SALES,
        "count(rows) where Order Date from 2025-01-01 to 2025-03-31",
        (
            "Wie viele Bestellungen gab es im ersten Quartal?",
            "Combien de commandes ont été passées au premier trimestre ?",
            "¿Cuántos pedidos hubo en el primer trimestre?",
        ),
    ),
    (
        SALES,
        "count(rows) where Order Date > 2025-06-30",
        (
            "Wie viele Bestellungen wurden nach dem 30. Juni aufgegeben?",
            "Combien de commandes ont été passées après le 30 juin ?",
            "¿Cuántos pedidos se hicieron después del 30 de junio?",
        ),
    ),
    (
        SALES,
        "count(rows) where Returned = true",
        (
            "Wie viele Bestellungen wurden zurückgeschickt?",
            "Combien de commandes ont été retournées ?",
            "¿Cuántos pedidos fueron devueltos?",
        ),
    ),
    (
        SALES,
        "count(rows) where Discount is empty",
        (
            "Wie viele Bestellungen haben keinen Rabatt?",
            "Bei wie vielen Bestellungen fehlt der Rabatt?",
            "Combien de commandes n'ont pas de remise ?",
            "Nombre de commandes sans remise",
            "¿Cuántos pedidos no tienen descuento?",
            "Número de pedidos sin descuento",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by Product top 1 by sum(Revenue)",
        (
            "Welches Produkt hat den höchsten Umsatz?",
            "Quel produit a le chiffre d'affaires le plus élevé ?",
            "¿Qué producto tiene los mayores ingresos?",
        ),
    ),
    (
        SALES,
        "sum(Quantity) by Product top 1 by sum(Quantity)",
        (
            "Welches Produkt wurde am meisten verkauft?",
            "Quel produit s'est le plus vendu ?",
            "¿Cuál es el producto más vendido?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by Product top 3 by sum(Revenue)",
        (
            "Die drei Produkte mit dem höchsten Umsatz",
            "Les trois produits avec le plus de chiffre d'affaires",
            "Los tres productos con más ingresos",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by City bottom 1 by sum(Revenue)",
        (
            "Welche Stadt hat den niedrigsten Umsatz?",
            "Quelle ville a le chiffre d'affaires le plus bas ?",
            "¿Qué ciudad tiene los ingresos más bajos?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by City top 5 by sum(Revenue)",
        (
            "Top 5 Städte nach Umsatz",
            "Top 5 des villes par chiffre d'affaires",
            "Las 5 ciudades con mayores ingresos",
        ),
    ),
    (
        SALES,
        'sum(Revenue where Country = "Germany") / sum(Revenue) in %',
        (
            "Welchen Anteil am Umsatz hat Deutschland?",
            "Quelle est la part de l'Allemagne dans le chiffre d'affaires ?",
            "¿Qué porcentaje de los ingresos viene de Alemania?",
        ),
    ),
    (
        SALES,
        "share in % of sum(Revenue) by Category",
        (
            "Umsatzanteil je Kategorie",
            "Part du chiffre d'affaires par catégorie",
            "Porcentaje de ingresos por categoría",
        ),
    ),
    (
        SALES,
        'count(rows where Country = "France") / count(rows) in %',
        (
            "Wie viel Prozent der Bestellungen kamen aus Frankreich?",
            "Quel pourcentage des commandes vient de France ?",
            "¿Qué proporción de los pedidos es de Francia?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by month(Order Date)",
        (
            "Monatlicher Umsatz",
            "Chiffre d'affaires mensuel",
            "Ingresos mensuales",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by quarter(Order Date) and Country",
        (
            "Umsatz nach Quartal und Land",
            "Chiffre d'affaires par trimestre et par pays",
            "Ingresos por trimestre y país",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by Country and Category",
        (
            "Umsatz nach Land und Kategorie",
            "Chiffre d'affaires par pays et catégorie",
            "Ingresos por país y por categoría",
        ),
    ),
    (
        SALES,
        "difference of sum(Revenue) to the period before by month(Order Date) in order of month(Order Date)",
        (
            "Wie hat sich der Umsatz gegenüber dem Vormonat verändert?",
            "Évolution du chiffre d'affaires par rapport au mois précédent",
            "¿Cómo cambiaron los ingresos respecto al mes anterior?",
        ),
    ),
    (
        SALES,
        "change in % of sum(Revenue) to the period before by month(Order Date) in order of month(Order Date)",
        (
            "Umsatzwachstum von Monat zu Monat",
            "Croissance du chiffre d'affaires d'un mois à l'autre",
            "Crecimiento de los ingresos mes a mes",
        ),
    ),
    (
        SALES,
        "running total of sum(Revenue) by month(Order Date) in order of month(Order Date)",
        (
            "Kumulierter Umsatz pro Monat",
            "Chiffre d'affaires cumulé par mois",
            "Ingresos acumulados por mes",
        ),
    ),
    (
        SALES,
        "mean(Unit Price) by Category",
        (
            "Durchschnittspreis pro Kategorie",
            "Prix unitaire moyen par catégorie",
            "Precio unitario medio por categoría",
        ),
    ),
    (
        SALES,
        "median(Quantity)",
        (
            "Median der Menge",
            "Quelle est la médiane des quantités ?",
            "¿Cuál es la mediana de la cantidad?",
        ),
    ),
    (
        SALES,
        "correlation(Quantity, Revenue)",
        (
            "Korrelation zwischen Menge und Umsatz",
            "Quelle est la corrélation entre la quantité et le chiffre d'affaires ?",
            "Y a-t-il une corrélation entre quantité et chiffre d'affaires ?",
            "¿Qué correlación hay entre la cantidad y los ingresos?",
            "Correlación de cantidad e ingresos",
        ),
    ),
    (
        SALES,
        "sum(Revenue) / sum(Quantity) by Product",
        (
            "Verhältnis von Umsatz zu Menge pro Produkt",
            "Rapport entre le chiffre d'affaires et la quantité par produit",
            "Relación entre ingresos y cantidad por producto",
        ),
    ),
    (
        SALES,
        "count(distinct Product)",
        (
            "Wie viele verschiedene Produkte gibt es?",
            "Combien de produits différents y a-t-il ?",
            "¿Cuántos productos distintos hay?",
        ),
    ),
    (
        SALES,
        "count(rows) where Quantity >= 10",
        (
            "Wie viele Bestellungen hatten eine Menge von mindestens 10?",
            "Combien de commandes ont une quantité d'au moins 10 ?",
            "¿Cuántos pedidos tienen una cantidad de al menos 10?",
        ),
    ),
    (
        SALES,
        "count(rows) where Revenue > 1000",
        (
            "Bestellungen mit einem Umsatz von mehr als 1.000 €: wie viele sind es?",
            "Combien de commandes dépassent 1 000 € de chiffre d'affaires ?",
            "¿Cuántos pedidos superan los 1.000 € de ingresos?",
        ),
    ),
    (
        SALES,
        "count(rows) where Revenue from 100 to 500",
        (
            "Wie viele Bestellungen liegen zwischen 100 und 500 Euro Umsatz?",
            "Combien de commandes ont un chiffre d'affaires entre 100 et 500 euros ?",
            "¿Cuántos pedidos tienen ingresos entre 100 y 500 euros?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) where weekday(Order Date) = Monday",
        (
            "Umsatz an Montagen",
            "Chiffre d'affaires le lundi",
            "Ingresos de los lunes",
        ),
    ),
    (
        SALES,
        "sum(Revenue) where weekday(Order Date) >= Saturday",
        (
            "Wie viel Umsatz machen wir am Wochenende?",
            "¿Cuánto se vende el fin de semana en ingresos?",
        ),
    ),
    (
        SALES,
        "count(rows) by weekday(Order Date) top 1 by count(rows)",
        (
            "An welchem Wochentag haben wir die meisten Bestellungen?",
            "Quel jour de la semaine y a-t-il le plus de commandes ?",
            "¿Qué día de la semana tiene más pedidos?",
        ),
    ),
    (
        SALES,
        "sum(Revenue) by month(Order Date) top 1 by sum(Revenue)",
        (
            "In welchem Monat war der Umsatz am höchsten?",
            "Quel mois a été le meilleur en chiffre d'affaires ?",
            "¿En qué mes fueron más altos los ingresos?",
        ),
    ),
    (
        SALES,
        "count(rows) by Payment Method",
        (
            "Anzahl Bestellungen pro Zahlungsart",
            "Nombre de commandes par mode de paiement",
            "Número de pedidos por forma de pago",
        ),
    ),
    (
        SALES,
        'sum(Revenue where Country = "Germany") - sum(Revenue where Country = "France")',
        (
            "Differenz im Umsatz zwischen Deutschland und Frankreich",
            "Différence de chiffre d'affaires entre l'Allemagne et la France",
            "Diferencia de ingresos entre Alemania y Francia",
        ),
    ),
    (
        SALES,
        'sum(Revenue) by City where City in ("Berlin", "Munich") top 1 by sum(Revenue)',
        ("Wer hat mehr Umsatz, Berlin oder München?",),
    ),
    (
        SALES,
        "sum(Revenue) where Order Date from 2025-03-01 to 2025-04-15",
        (
            "Umsatz vom 1. März bis 15. April",
            "Chiffre d'affaires du 1er mars au 15 avril",
        ),
    ),
    (
        SALES,
        'sum(Revenue) where Order Date < 2025-07-01 and not (Category = "Furniture")',
        (
            "Umsatz vor Juli ohne Möbel",
            "Chiffre d'affaires avant juillet hors meubles",
            "Ingresos antes de julio sin muebles",
        ),
    ),
    (
        SALES,
        "max(Unit Price)",
        (
            "Was ist der höchste Stückpreis?",
            "Quel est le prix unitaire le plus élevé ?",
            "¿Cuál es el precio unitario más alto?",
        ),
    ),
    (
        STAFF,
        'mean(Salary) where Department = "Marketing"',
        (
            "Wie hoch ist das Durchschnittsgehalt in der Abteilung Marketing?",
            "Quel est le salaire moyen dans le département Marketing ?",
            "¿Cuál es el salario medio en el departamento Marketing?",
        ),
    ),
    (
        STAFF,
        "Name, Salary top 1 by Salary",
        (
            "Wer verdient am meisten?",
            "Wer hat das höchste Gehalt?",
            "Qui gagne le plus ?",
            "Qui a le salaire le plus élevé ?",
            "¿Quién gana más?",
            "¿Quién tiene el salario más alto?",
        ),
    ),
    (
        STAFF,
        'Salary where Name = "Anna Weber"',
        (
            "Wie hoch ist das Gehalt von Anna Weber?",
            "Quel est le salaire d'Anna Weber ?",
        ),
    ),
    (
        STAFF,
        "count(rows) where Age > 50",
        (
            "Wie viele Mitarbeiter sind älter als 50?",
            "Combien d'employés ont plus de 50 ans ?",
            "¿Cuántos empleados tienen más de 50 años?",
        ),
    ),
    (
        STAFF,
        'count(rows) where Gender = "female" and Department = "IT"',
        (
            "Wie viele Frauen arbeiten in der IT?",
            "Combien de femmes travaillent au service IT ?",
            "¿Cuántas mujeres trabajan en IT?",
        ),
    ),
    (
        STAFF,
        "count(rows) by Department",
        (
            "Anzahl der Mitarbeiter pro Abteilung",
            "Nombre d'employés par service",
            "Número de empleados por departamento",
        ),
    ),
    (
        STAFF,
        "Name where Hire Date > 2020-12-31",
        (
            "Welche Mitarbeiter wurden nach 2020 eingestellt?",
            "Quels employés ont été embauchés après 2020 ?",
            "¿Qué empleados fueron contratados después de 2020?",
        ),
    ),
    (
        COUNTRIES,
        'Capital where Country = "Poland"',
        (
            "Was ist die Hauptstadt von Polen?",
            "Quelle est la capitale de la Pologne ?",
            "¿Cuál es la capital de Polonia?",
        ),
    ),
    (
        COUNTRIES,
        "Country, Area top 1 by Area",
        (
            "Welches Land hat die größte Fläche?",
            "Quel pays a la plus grande superficie ?",
            "¿Qué país tiene la mayor superficie?",
        ),
    ),
    (
        COUNTRIES,
        'Population where Country = "Japan"',
        (
            "Wie viele Einwohner hat Japan?",
            "Combien d'habitants compte le Japon ?",
            "¿Cuántos habitantes tiene Japón?",
        ),
    ),
    (BESTELLUNGEN, "sum(Umsatz) by Kundenname", ("Umsatz nach Kunde",)),
    (BESTELLUNGEN, "count(rows) where not (Bezahlt = true)", ("Wie viele Bestellungen sind noch nicht bezahlt?",)),
    (BESTELLUNGEN, "count(rows) where Bemerkung is empty", ("Wie viele Bestellungen haben keine Bemerkung?",)),
    (SALES, "count(rows) where weekday(Order Date) >= Saturday", ("Combien de commandes le week-end ?",)),
    (
        SALES,
        'sum(Revenue) by City where City in ("Paris", "Lyon") top 1 by sum(Revenue)',
        ("Qui a le plus de chiffre d'affaires, Paris ou Lyon ?",),
    ),
    (VENTES, "sum(Montant) by Vendeur", ("Montant total par vendeur",)),
    (
        VENTES,
        'count(rows) where Magasin = "Lyon" and Date de vente from 2025-05-01 to 2025-05-31',
        ("Combien de ventes à Lyon en mai ?",),
    ),
    (VENTES, "count(rows) where Remise is empty", ("Combien de ventes n'ont aucune remise ?",)),
    (
        VENTES,
        'sum(Quantité) by Vendeur where Produit = "Thé" top 1 by sum(Quantité)',
        ("Quel vendeur a vendu le plus de thé ?",),
    ),
    (
        SALES,
        'sum(Revenue) by City where City in ("Madrid", "Paris") top 1 by sum(Revenue)',
        ("¿Quién tiene más ingresos, Madrid o París?",),
    ),
    (SALES, 'count(rows) where Payment Method = "Cash"', ("Solo los pedidos pagados en efectivo: ¿cuántos son?",)),
    (
        SALES,
        "sum(Revenue) where Order Date >= 2025-03-01 and Order Date <= 2025-04-15",
        ("Ingresos desde el 1 de marzo hasta el 15 de abril",),
    ),
    (STAFF, 'Salary where Name = "Luis Gomez"', ("¿Cuál es el sueldo de Luis Gomez?",)),
    (PEDIDOS, "sum(Importe) by Cliente", ("Importe total por cliente",)),
    (
        PEDIDOS,
        'count(rows) where Estado = "pendiente" and Ciudad = "Sevilla"',
        ("¿Cuántos pedidos están pendientes en Sevilla?",),
    ),
    (PEDIDOS, "count(rows) where Nota is empty", ("¿Cuántos pedidos no tienen nota?",)),
    (
        PEDIDOS,
        'sum(Cantidad) by Cliente where Producto = "Té" top 1 by sum(Cantidad)',
        ("¿Qué cliente compró más té?",),
    ),
)
"""Tables, what is computed of them, and questions for it."""
UNREAD: Final = (
    "Umsatz nicht in Deutschland, sondern in Frankreich",
    "Umsatz der bezahlten Bestellungen",
    "Umsatz im letzten Monat",
    "Wie viele Bestellungen hatten mehr als 1,000 Stück?",
    "Nettoumsatz nach Land",
    "Ist der Umsatz höher als 5000?",
    "Summe der Stückpreise",
    "Durchschnittlicher Rabatt pro Land",
    "Umsatz vor dem 31. März einschließlich",
    "chiffre d'affaires du mois dernier",
    "chiffre d'affaires des commandes payées",
    "bénéfice par pays",
    "somme des prix unitaires",
    "quelle est la deuxième ville par chiffre d'affaires ?",
    "ingresos de los últimos 3 meses",
    "ingresos de los pedidos pagados",
    "ingresos netos por país",
    "¿superan los ingresos 5000?",
    "suma de los precios unitarios",
    "Umsatz vor Rabatt",
    "zweithöchster Umsatz nach Stadt",
)
"""Questions about `SALES` that have no plan: a word has no part in one."""
