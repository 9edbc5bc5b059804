"""The pages, one module for each. They read from :mod:`hookrouter_page.reading`, and draw templates."""
