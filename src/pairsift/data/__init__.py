"""Rows come in: from memory, text, tables and the row store."""
