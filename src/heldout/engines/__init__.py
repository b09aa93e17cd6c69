"""Engines: from predictions to evidence."""
