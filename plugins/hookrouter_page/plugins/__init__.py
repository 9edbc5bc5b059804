"""What plugins add to the page."""
