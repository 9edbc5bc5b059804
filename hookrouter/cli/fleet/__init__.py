"""The commands of hookrouter for sessions of other machines, which share an engine with this one."""
