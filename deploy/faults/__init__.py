"""Every way in which the lab can be broken, and what the gate says about it."""
