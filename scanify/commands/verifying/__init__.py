"""What the commands that run cases share: which cases, on which versions, and what else is asked of them."""
