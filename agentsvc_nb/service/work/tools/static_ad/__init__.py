"""Static ads drawn with Pillow: brief -> copy (words) -> palette and layout -> picture. No model, no network.

wording.py   what the ad says        colors.py   palettes and contrast      fonts.py    families and their glyphs
fitting.py   text into a box         scenes.py   backgrounds and shapes     layout.py   which text stands where
drawing.py   one picture of all this brush.py    smooth shapes              png.py      the file, and the design in it
"""
