"""What programs are told of a home: metrics and probes. A process of its own beside the resident router."""
