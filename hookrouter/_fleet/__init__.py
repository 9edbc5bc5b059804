"""Machines that share an engine of documents: each keeps its own in files, and brings them where the others look.

Hooks know nothing of it: what they ask and write is in files, so a database that is away, slow or full costs them
nothing. One process of each machine (:mod:`hookrouter.cli.fleet_process`) brings what changes in the files to the
engine, in transactions, and carries out what other machines ask of this one (:mod:`hookrouter._fleet.errands`).
"""
