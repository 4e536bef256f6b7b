"""The words of questions about a table itself, in four languages: which columns it has, and which of its rows stand
there more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.documents.normalization import tokens

Phrases = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class StructureWords:
    """Phrases of folded words. `columns` and `duplicates` say what is asked for, `count` that a number is; `asking`
    says nothing more, `tables` is what a table is called, `by` stands before the columns that are compared."""

    columns: Phrases
    duplicates: Phrases
    count: Phrases
    asking: Phrases
    tables: Phrases
    by: Phrases


def _phrases(written: str) -> Phrases:
    return frozenset(tuple(tokens(phrase)) for phrase in written.split("|"))


def _words(columns: str, duplicates: str, count: str, asking: str, tables: str, by: str) -> StructureWords:
    return StructureWords(*map(_phrases, (columns, duplicates, count, asking.replace(" ", "|"), tables, by)))


STRUCTURE: Final = {
    "en": _words(
        columns="columns|cols|column names|column headers|column titles|column headings|names of the columns|headers"
        "|fields|field names",
        duplicates="duplicate|duplicates|duplicated|dupe|dupes|dups|repeated|duplicate values|more than once"
        "|several times|multiple times",
        count="how many|number of|count of|count",
        asking="show me list all give tell what which are is does do have has had there in of the any a an please can"
        " could you we i us our my this that it here contain contains display print find name names see exist exists"
        " whats s appear appears occur occurs listed stand some for with and these want to check",
        tables="table|file|dataset|data set|data|csv|sheet|spreadsheet|dataframe|data frame|df",
        by="by|based on|on|with the same|the same|same|column|value|values|field|row|rows|record|records"
        "|entry|entries|line|lines",
    ),
    "de": _words(
        columns="spalten|spaltennamen|spaltenüberschriften|spaltentitel|felder|feldnamen|namen der spalten",
        duplicates="dubletten|dublette|doubletten|duplikate|duplikat|duplikaten|doppelte|doppelten|doppelter|doppelt"
        "|mehrfach|mehrfache|mehrfachen|mehr als einmal|doppelte werte",
        count="wie viele|wieviele|anzahl|anzahl der|zahl der",
        asking="zeig zeige zeigen mir uns welche welcher was für sind ist gibt es hat haben die der den dem das des in"
        " im von vom alle bitte kannst du wir ich nenne nenn liste auf enthält enthalten finde da dort hier denn"
        " irgendwelche vor kommen kommt vorkommen vorhanden heißen wie existieren sie diese dieser unsere unserer",
        tables="tabelle|datei|datensatz|daten|csv|blatt|dataframe|df",
        by="nach|anhand|bei|mit gleicher|mit gleichem|mit gleichen|mit derselben|mit demselben|mit der gleichen"
        "|mit der selben|spalte|wert|werte|feld|zeile|zeilen|eintrag|einträge|datensätze|und",
    ),
    "fr": _words(
        columns="colonnes|noms des colonnes|noms de colonnes|champs|en-têtes|entêtes",
        duplicates="doublon|doublons|en double|dupliqué|dupliquée|dupliqués|dupliquées|plus d'une fois",
        count="combien de|combien d|nombre de|le nombre de",
        asking="montre moi affiche liste donne quelles quels quelle quel sont est y a t il elle ce que qui les le la l"
        " des de du d dans s il te plait vous plaît toutes tous contient possède on nous notre cette ces as tu",
        tables="table|tableau|fichier|données|jeu de données|csv|feuille",
        by="par|selon|sur|avec le même|avec la même|colonne|valeur|valeurs|ligne|lignes|entrée|entrées|et",
    ),
    "es": _words(
        columns="columnas|nombres de las columnas|nombres de columnas|campos|encabezados",
        duplicates="duplicado|duplicados|duplicada|duplicadas|repetido|repetidos|repetida|repetidas|más de una vez",
        count="cuántos|cuántas|número de|cantidad de",
        asking="muestra muéstrame lista dame qué cuáles cuál hay son es tiene tienen los las el la de del en por favor"
        " todos todas contiene existen algún alguna nuestra nuestro esta este estos se",
        tables="tabla|archivo|fichero|datos|conjunto de datos|csv|hoja",
        by="por|según|con el mismo|con la misma|columna|valor|valores|fila|filas|registro|registros|y",
    ),
}  # fmt: skip
"""By the codes of languages."""


def is_structural(word: str) -> bool:
    """Whether a folded word is of a table's columns or of rows that stand there twice, and so no name of its rows."""
    return any((word,) in words.columns | words.duplicates for words in STRUCTURE.values())
