"""Static ads drawn with Pillow: brief -> copy (words) -> palette and layout -> picture. No model, no network.

wording.py   what the ad says        colors.py   palettes and contrast      fonts.py    faces and their glyphs
fitting.py   text into a box         scenes.py   backgrounds and shapes     drawing.py  one picture from all of it
"""
