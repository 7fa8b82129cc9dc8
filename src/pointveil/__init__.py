"""Synthetic location data with a pure differential-privacy guarantee."""

__version__ = "0.1.0"
