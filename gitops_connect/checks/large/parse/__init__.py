"""Converts blocks of lines to shuffle blocks: a row of numbers for each entry."""
