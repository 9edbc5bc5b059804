"""What the pages show, as plain values. Nothing here knows HTTP."""
