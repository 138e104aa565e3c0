"""Kinds in questions, such as "unpaid invoices": types, states and times in words, and which entities fit."""
