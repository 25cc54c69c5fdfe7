"""Blocks of lines -> shuffle blocks: a row of numbers for each entry."""
