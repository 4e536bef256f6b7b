"""Static ads drawn with Pillow: brief -> copy (words) -> palette and layout -> picture. No network,
but to an image model that is set. Imported by the first picture: Pillow takes memory.

wording.py   what the ad says        colors.py   palettes and contrast      fonts.py    families and their glyphs
fitting.py   text into a box         scenes.py   backgrounds and shapes     layout.py   which text stands where
creating.py  a brief to designs      editing.py   a picture again            series.py   all pictures of a call
drawing.py   one picture of all this brush.py    smooth shapes              png.py      the file, and the design in it
"""
