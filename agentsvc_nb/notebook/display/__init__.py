"""Display in the notebook: safe, static mime bundles of HTML and text, and the screens that draw them."""
