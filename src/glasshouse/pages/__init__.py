"""Pages and figures: HTML, SVG, LaTeX and image files, made from plain data alone."""
