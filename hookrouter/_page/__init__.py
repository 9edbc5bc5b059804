"""The page for people: what waits, answered from a browser or a phone. The router starts its process."""
