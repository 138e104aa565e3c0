"""Copies: the same memory on several machines, each with a database of its own.

A *set* of copies has a random id. Two copies exchange the facts of one owner as pages of records of the dump
format, both ways: one of them calls the other over REST.
"""
