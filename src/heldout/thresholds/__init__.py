"""Decisions: choosing a threshold or a class under costs, by a measure or under requirements."""
