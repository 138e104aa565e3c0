"""The public sandbox: its terms, what visitors report, and the wipe every week."""
