"""Enters decisions into the client's dialogs that are no questions: permissions, and the approval of plans."""
