"""Measurements of Roost, each beside the physical limit it is held against."""
