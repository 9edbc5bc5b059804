"""The page for people: open questions, answered from a browser or a phone. The router starts its process."""
