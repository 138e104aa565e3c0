"""Receipts: what was told to whom, collected while an answer is made and recorded soon after."""
