"""What answers are made of: rows, pages, cursors, clocks, filters, walks, lists, timeline."""
