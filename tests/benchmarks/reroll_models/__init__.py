"""What rerolled models cost that nobody here wrote, and whether they compute what they did."""
