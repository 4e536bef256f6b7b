"""How the notebook shows things: safe, static bundles of HTML and text, and the screens that they are drawn on."""
