"""What minimises an objective: each solver returns a certificate with its solution."""
