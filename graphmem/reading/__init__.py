"""What answers are made of: rows, pages, clocks, filters, walks, search, context, timeline."""
