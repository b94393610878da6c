"""From facts to decisions: each loop over modules becomes a plan or a refusal.

project ── decisions ─> fact ── LoopFact ─> plan ── Plan | Refusal ─> together (loops that depend on one another)
"""
