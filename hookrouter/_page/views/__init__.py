"""The pages, one module for each. They read from :mod:`hookrouter._page.reading`, and draw templates."""
