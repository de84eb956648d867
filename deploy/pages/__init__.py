"""The shipped alerts meet real faults: who is told, when, how often, and that it ends."""
