"""Draw static ads (pictures with texts) with Pillow."""
