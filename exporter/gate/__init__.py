"""From runs, plan and decisions to one verdict, and the snapshot of it."""
