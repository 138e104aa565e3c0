"""Metrics, traces and logs of one process."""
